//! Where the parts of a JSON text begin and end. The text is known to be JSON; in another one what
//! is found means nothing, and nothing worse happens.

/// Where the value ends that begins at `at`.
pub(super) fn end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => end_of_string(text, at),
        Some(b'{' | b'[') => end_of_brackets(text, at),
        _ => {
            let rest = text.get(at..).unwrap_or_default();
            let is_over = |it: &u8| matches!(it, b',' | b']' | b'}') || it.is_ascii_whitespace();
            // Never where it began: whoever goes from part to part comes to an end.
            at + rest.iter().position(is_over).unwrap_or(rest.len()).max(1)
        }
    }
}

/// Where the string ends whose first quote is at `at`.
pub(super) fn end_of_string(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(rest) = text.get(at..) {
        match rest.iter().position(|it| matches!(it, b'"' | b'\\')) {
            Some(next) if rest[next] == b'"' => return at + next + 1,
            // What is escaped ends no string.
            Some(next) => at += next + 2,
            None => break,
        }
    }
    text.len()
}

fn end_of_brackets(text: &[u8], at: usize) -> usize {
    let mut at = at;
    let mut depth = 0_usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// The first place from `at` on that is no white space.
pub(super) fn after_space(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|it| !it.is_ascii_whitespace()).unwrap_or(rest.len())
}

/// Where the next part of a list or an object begins, once one has ended at `at`: behind the comma,
/// or at the bracket that closes.
pub(super) fn after_comma(text: &[u8], at: usize) -> usize {
    let at = after_space(text, at);
    if text.get(at) == Some(&b',') { after_space(text, at + 1) } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str) {
        for after in ["", ",1", " ,1", "]", "}"] {
            let text = format!("{value}{after}");
            assert_eq!(end(text.as_bytes(), 0), value.len(), "{text}");
        }
    }

    #[test]
    fn a_value_ends_where_it_ends() {
        check("null");
        check("-1.5e+7");
        check(r#""""#);
        check(r#""a]}\"\\""#);
        check(r#""\ud800""#);
        check("[]");
        check(r#"{"a":[{"]":"}\""},[]],"b":1}"#);
    }

    #[test]
    fn a_text_that_is_no_json_ends_at_its_end() {
        for text in ["", "\"", "\"\\", "[", "[[}", "{\"", "[\"]"] {
            assert_eq!(end(text.as_bytes(), 0), text.len().max(1), "{text}");
        }
    }
}
