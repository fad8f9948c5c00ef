//! Moments in UTC, as RFC 3339 writes them.

use std::time::{Duration, SystemTime};

const DAY: u64 = 86_400;

/// `time` to the millisecond. A clock before 1970 is taken to stand at its beginning.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let since: Duration = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = date(since.as_secs() / DAY);
    let second = since.as_secs() % DAY;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let milli = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The date that is `days` after the first of January 1970: year by year and month by month,
/// which for our age is quick enough.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    while days >= 365 + leap_day(year) {
        days -= 365 + leap_day(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + leap_day(year),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn leap_day(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    u64::from(is_leap)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::rfc3339;

    #[test]
    fn a_moment_is_written_in_utc() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_709_251_199_001, "2024-02-29T23:59:59.001Z");
        check(1_767_225_599_000, "2025-12-31T23:59:59.000Z");
        check(1_767_225_600_000, "2026-01-01T00:00:00.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(rfc3339(before), "1970-01-01T00:00:00.000Z");

        #[track_caller]
        fn check(millis: u64, expected: &str) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(rfc3339(time), expected);
        }
    }
}
