//! Moments for a person to read, in UTC.

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
const MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// The minute in which a moment in Unix milliseconds lies, with its date.
pub(super) fn minute(millis: u64) -> String {
    let (mut year, mut day) = (1970, millis / DAY);
    while day >= days(year) {
        day -= days(year);
        year += 1;
    }
    let mut month = 1;
    for length in MONTHS {
        let length = if month == 2 { length + days(year) - 365 } else { length };
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let minute = millis % DAY / MINUTE;
    format!("{year}-{month:02}-{:02} {:02}:{:02}", day + 1, minute / 60, minute % 60)
}

fn days(year: u64) -> u64 {
    let leaps = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    365 + u64::from(leaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_a_date_and_a_time() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_868_799, "2000-02-29 23:59"),
            (951_868_800, "2000-03-01 00:00"),
            (1_798_761_599, "2026-12-31 23:59"),
            (4_107_542_400, "2100-03-01 00:00"),
        ] {
            assert_eq!(minute(seconds * 1000), expected, "{seconds}");
        }
    }
}
