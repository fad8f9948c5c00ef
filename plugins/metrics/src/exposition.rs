//! Counts in the text format that Prometheus reads.

use std::fmt::Write as _;

use crate::counts::{Counts, Tool};

/// The whole file; `bounds` are the upper bounds of the buckets.
pub(crate) fn text(counts: &Counts, bounds: &[f64]) -> String {
    let mut text = String::new();
    let calls = "Tool calls that came to an outcome.";
    family(&mut text, "lockgate_tool_calls_total", "counter", calls);
    for (name, tool) in &counts.tools {
        let (name, calls) = (escaped(name), tool.calls);
        line(&mut text, format_args!("lockgate_tool_calls_total{{tool=\"{name}\"}} {calls}"));
    }
    let failures = "Tool calls that failed or were refused, by the code of the failure.";
    family(&mut text, "lockgate_tool_failures_total", "counter", failures);
    for (name, tool) in &counts.tools {
        let name = escaped(name);
        for (code, failures) in &tool.failures {
            let labels = format!("tool=\"{name}\",code=\"{}\"", escaped(code));
            line(&mut text, format_args!("lockgate_tool_failures_total{{{labels}}} {failures}"));
        }
    }
    let seconds = "The time that tool calls took, from the listeners around the body inwards.";
    family(&mut text, "lockgate_tool_duration_seconds", "histogram", seconds);
    for (name, tool) in &counts.tools {
        times(&mut text, &escaped(name), tool, bounds);
    }
    text
}

/// The histogram of one tool, if a call of it has come as far as its body.
fn times(text: &mut String, name: &str, tool: &Tool, bounds: &[f64]) {
    let times = &tool.times;
    if times.count == 0 {
        return;
    }
    let metric = "lockgate_tool_duration_seconds";
    let mut below = 0;
    for (bound, count) in bounds.iter().zip(&times.buckets) {
        below += count;
        let labels = format!("tool=\"{name}\",le=\"{bound}\"");
        line(text, format_args!("{metric}_bucket{{{labels}}} {below}"));
    }
    let (count, sum) = (times.count, times.sum.as_secs_f64());
    line(text, format_args!("{metric}_bucket{{tool=\"{name}\",le=\"+Inf\"}} {count}"));
    line(text, format_args!("{metric}_sum{{tool=\"{name}\"}} {sum}"));
    line(text, format_args!("{metric}_count{{tool=\"{name}\"}} {count}"));
}

fn family(text: &mut String, name: &str, kind: &str, meaning: &str) {
    line(text, format_args!("# HELP {name} {meaning}"));
    line(text, format_args!("# TYPE {name} {kind}"));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a String succeeds");
}

/// A label's value as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::text;
    use crate::counts::Counts;

    #[test]
    fn counts_are_written_as_prometheus_reads_them() {
        let mut counts = Counts::default();
        let bounds = [0.25, 1.0];
        counts.count("read", None);
        counts.time("read", None, Duration::from_millis(125), &bounds);
        counts.count("bash", Some("TOOL_TIMEOUT"));
        for millis in [500, 250, 1_500] {
            counts.time("bash", Some("TOOL_TIMEOUT"), Duration::from_millis(millis), &bounds);
        }
        counts.count("bash", Some(""));
        counts.count("never ran", Some("DENIED"));
        let expected = r##"# HELP lockgate_tool_calls_total Tool calls that came to an outcome.
# TYPE lockgate_tool_calls_total counter
lockgate_tool_calls_total{tool="bash"} 2
lockgate_tool_calls_total{tool="never ran"} 1
lockgate_tool_calls_total{tool="read"} 1
# HELP lockgate_tool_failures_total Tool calls that failed or were refused, by the code of the failure.
# TYPE lockgate_tool_failures_total counter
lockgate_tool_failures_total{tool="bash",code=""} 1
lockgate_tool_failures_total{tool="bash",code="TOOL_TIMEOUT"} 1
lockgate_tool_failures_total{tool="never ran",code="DENIED"} 1
# HELP lockgate_tool_duration_seconds The time that tool calls took, from the listeners around the body inwards.
# TYPE lockgate_tool_duration_seconds histogram
lockgate_tool_duration_seconds_bucket{tool="bash",le="0.25"} 1
lockgate_tool_duration_seconds_bucket{tool="bash",le="1"} 2
lockgate_tool_duration_seconds_bucket{tool="bash",le="+Inf"} 3
lockgate_tool_duration_seconds_sum{tool="bash"} 2.25
lockgate_tool_duration_seconds_count{tool="bash"} 3
lockgate_tool_duration_seconds_bucket{tool="read",le="0.25"} 1
lockgate_tool_duration_seconds_bucket{tool="read",le="1"} 1
lockgate_tool_duration_seconds_bucket{tool="read",le="+Inf"} 1
lockgate_tool_duration_seconds_sum{tool="read"} 0.125
lockgate_tool_duration_seconds_count{tool="read"} 1
"##;
        assert_eq!(text(&counts, &bounds), expected);
    }

    #[test]
    fn labels_are_escaped() {
        let mut counts = Counts::default();
        counts.count("a\"b\\c\nd", None);
        let text = text(&counts, &[]);
        let line = text.lines().nth(2);
        assert_eq!(line, Some(r#"lockgate_tool_calls_total{tool="a\"b\\c\nd"} 1"#));
    }
}
