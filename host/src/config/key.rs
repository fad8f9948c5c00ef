//! The key that somebody meant.

/// The one of `known` that is nearest to `key`, if it is near: a third of its letters may differ,
/// and at least one.
pub(super) fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let (distance, nearest) = known.iter().map(|it| (distance(key, it), *it)).min()?;
    (distance <= (nearest.chars().count() / 3).max(1)).then_some(nearest)
}

/// The least number of letters to insert, remove, replace, or swap with the next one, that makes
/// `to` of `from`.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for row in 1..=from.len() {
        let mut next = vec![row];
        for column in 1..=to.len() {
            let replaced = usize::from(from[row - 1] != to[column - 1]);
            let mut least = (rows[row - 1][column - 1] + replaced)
                .min(rows[row - 1][column] + 1)
                .min(next[column - 1] + 1);
            if row > 1
                && column > 1
                && from[row - 1] == to[column - 2]
                && from[row - 2] == to[column - 1]
            {
                least = least.min(rows[row - 2][column - 2] + 1);
            }
            next.push(least);
        }
        rows.push(next);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ_are_counted() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("strict", "strict", 0),
            ("strcit", "strict", 1),
            ("stict", "strict", 1),
            ("sstrict", "strict", 1),
            ("strikt", "strict", 1),
            ("kitten", "sitting", 3),
            ("größe", "grosse", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} → {to}");
        }
    }

    #[test]
    fn only_a_near_key_is_meant() {
        let known = ["cwd", "model", "plugin_dirs", "strict"];
        for (key, expected) in [
            ("strikt", Some("strict")),
            ("stretch", None),
            ("plugins_dir", Some("plugin_dirs")),
            ("cdw", Some("cwd")),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(nearest(key, &known), expected, "{key}");
        }
    }
}
