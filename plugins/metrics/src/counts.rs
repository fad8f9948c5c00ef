//! What is counted: calls, failures and times, tool by tool.

use std::collections::BTreeMap;
use std::time::Duration;

/// The tools that are told apart. Models make names up, and each would be a series for ever.
const MOST_TOOLS: usize = 200;

/// The codes that are told apart for one tool.
const MOST_CODES: usize = 50;

/// The tools that are none, and what is counted together past the bounds above. A tool that is
/// really called so is counted with them.
const UNKNOWN: &str = "(unknown)";
const OTHER: &str = "(other)";

/// The code of a call of a tool that nobody offers.
const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";

/// Everything, by the names of tools.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// In alphabetical order, so that two texts of the same counts are the same.
    pub(crate) tools: BTreeMap<String, Tool>,
}

/// What is counted of one tool.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tool {
    /// Calls that came to an outcome.
    pub(crate) calls: u64,
    /// Those that failed or were refused, by code; the empty one where there was none.
    pub(crate) failures: BTreeMap<String, u64>,
    /// What came through the listeners around the body.
    pub(crate) times: Times,
}

/// Times in buckets.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Times {
    /// How many fell into each bucket and none before; those past the last bound are in none.
    pub(crate) buckets: Vec<u64>,
    /// How many there were.
    pub(crate) count: u64,
    /// All together.
    pub(crate) sum: Duration,
}

impl Counts {
    /// Counts an outcome; `failure` is the code of one that is no success.
    pub(crate) fn count(&mut self, tool: &str, failure: Option<&str>) {
        let counted = self.tool(tool, failure);
        counted.calls += 1;
        if let Some(code) = failure {
            *entry(&mut counted.failures, code, MOST_CODES) += 1;
        }
    }

    /// Counts the `time` that a call took, into the buckets with these upper bounds.
    pub(crate) fn time(
        &mut self,
        tool: &str,
        failure: Option<&str>,
        time: Duration,
        bounds: &[f64],
    ) {
        let times = &mut self.tool(tool, failure).times;
        times.buckets.resize(bounds.len(), 0);
        if let Some(at) = bounds.iter().position(|it| time.as_secs_f64() <= *it) {
            times.buckets[at] += 1;
        }
        times.count += 1;
        times.sum = times.sum.saturating_add(time);
    }

    fn tool(&mut self, name: &str, failure: Option<&str>) -> &mut Tool {
        let name = if failure == Some(UNKNOWN_TOOL) { UNKNOWN } else { name };
        entry(&mut self.tools, name, MOST_TOOLS)
    }
}

/// The entry of `key`, or that of all others where there are `most`.
fn entry<'a, T: Default>(map: &'a mut BTreeMap<String, T>, key: &str, most: usize) -> &'a mut T {
    let is_known = map.contains_key(key);
    let key = if is_known || map.len() < most { key } else { OTHER };
    map.entry(key.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Counts, MOST_CODES, MOST_TOOLS, Times};

    #[test]
    fn outcomes_are_counted_by_tool_and_failures_by_code() {
        let mut counts = Counts::default();
        let outcomes = [("a", None), ("a", Some("X")), ("b", Some("")), ("a", Some("X"))];
        outcomes.into_iter().for_each(|(tool, failure)| counts.count(tool, failure));
        let told: Vec<_> = counts
            .tools
            .iter()
            .map(|(name, it)| (&**name, it.calls, it.failures.iter().collect::<Vec<_>>()))
            .collect();
        let (x, none) = ("X".to_owned(), String::new());
        assert_eq!(told, [("a", 3, vec![(&x, &2)]), ("b", 1, vec![(&none, &1)])]);
    }

    #[test]
    fn a_time_falls_into_the_first_bucket_that_holds_it() {
        check(&[], [0, 0], 0);
        check(&[100], [1, 0], 100);
        check(&[101, 250, 1_000, 1_001], [0, 3], 2_352);

        #[track_caller]
        fn check(millis: &[u64], buckets: [u64; 2], sum: u64) {
            let mut counts = Counts::default();
            counts.count("a", None);
            for it in millis {
                counts.time("a", None, Duration::from_millis(*it), &[0.1, 1.0]);
            }
            let times = &counts.tools["a"].times;
            let buckets = if millis.is_empty() { vec![] } else { buckets.to_vec() };
            let count = millis.len() as u64;
            assert_eq!(*times, Times { buckets, count, sum: Duration::from_millis(sum) });
        }
    }

    #[test]
    fn tools_that_nobody_offers_are_one() {
        let mut counts = Counts::default();
        counts.count("made-up", Some("UNKNOWN_TOOL"));
        counts.time("made-up-too", Some("UNKNOWN_TOOL"), Duration::ZERO, &[1.0]);
        assert_eq!(counts.tools.keys().collect::<Vec<_>>(), ["(unknown)"]);
    }

    #[test]
    fn names_past_the_bound_are_counted_together() {
        let mut counts = Counts::default();
        for number in 0..MOST_TOOLS + 2 {
            counts.count(&format!("tool-{number}"), None);
        }
        counts.count("tool-0", None);
        let calls = |tool: &str| counts.tools.get(tool).map(|it| it.calls);
        let last = format!("tool-{MOST_TOOLS}");
        assert_eq!([calls("(other)"), calls("tool-0"), calls(&last)], [Some(2), Some(2), None]);
        for number in 0..MOST_CODES + 3 {
            counts.count("tool-1", Some(&number.to_string()));
        }
        let failures = &counts.tools["tool-1"].failures;
        assert_eq!((failures.len(), failures["(other)"]), (MOST_CODES + 1, 3));
    }
}
