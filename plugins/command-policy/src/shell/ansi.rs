//! What `$'…'` means.

use std::iter::Peekable;

use super::{Read, Stop};

/// Takes the escapes out of what stands between the quotes.
pub(super) fn decode(text: &[char]) -> Read<String> {
    let mut bytes = Vec::new();
    let mut rest = text.iter().copied().peekable();
    while let Some(c) = rest.next() {
        let escape = match c {
            '\\' => rest.next(),
            _ => None,
        };
        let Some(escape) = escape else {
            push(&mut bytes, c);
            continue;
        };
        // The lowest byte is the one that bash keeps.
        let byte = |number: u32| number.to_le_bytes()[0];
        match escape {
            'a' => bytes.push(0x07),
            'b' => bytes.push(0x08),
            'e' | 'E' => bytes.push(0x1B),
            'f' => bytes.push(0x0C),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(0x0B),
            '\\' | '\'' | '"' | '?' => push(&mut bytes, escape),
            '0'..='7' => bytes.push(byte(digits(&mut rest, escape.to_digit(8), 8, 2).unwrap_or(0))),
            'x' if rest.peek() == Some(&'{') => return Err(unknown("`\\x{`")),
            'x' => match digits(&mut rest, None, 16, 2) {
                Some(number) => bytes.push(byte(number)),
                None => bytes.extend(*b"\\x"),
            },
            'u' | 'U' => match digits(&mut rest, None, 16, if escape == 'u' { 4 } else { 8 }) {
                Some(number) => {
                    let c = char::from_u32(number).ok_or_else(|| unknown("a number"))?;
                    push(&mut bytes, c);
                }
                None => bytes.extend([b'\\', byte(escape.into())]),
            },
            'c' => return Err(unknown("a control character")),
            other => {
                bytes.push(b'\\');
                push(&mut bytes, other);
            }
        }
    }
    // A NUL ends the word in some shells and in others it does not.
    if bytes.contains(&0) {
        return Err(unknown("a NUL"));
    }
    String::from_utf8(bytes).map_err(|_| unknown("what is not UTF-8"))
}

/// The number in `radix` that begins with `number` and goes on with up to `most` digits.
fn digits(
    rest: &mut Peekable<impl Iterator<Item = char>>,
    mut number: Option<u32>,
    radix: u32,
    most: usize,
) -> Option<u32> {
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|it| it.to_digit(radix)) else { break };
        number = Some(number.unwrap_or(0) * radix + digit);
        rest.next();
    }
    number
}

fn push(bytes: &mut Vec<u8>, c: char) {
    bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
}

fn unknown(what: &str) -> Stop {
    Stop::new(format!("`$'…'` has {what} in it"))
}
