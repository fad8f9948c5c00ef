//! Numbers as they are written, of any length: whether they are whole, and whether two are equal.

/// A number without the zeros that say nothing: its digits are a whole number, times ten to the
/// exponent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Neither the first nor the last is a zero; none for zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// The number that the JSON text of one says.
    pub(super) fn read(text: &str) -> Self {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, whole(exponent)),
            None => (text, 0),
        };
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = integer.bytes().chain(fraction.bytes());
        let mut digits: Vec<u8> = digits.skip_while(|it| *it == b'0').collect();
        let all = digits.len();
        digits.truncate(digits.iter().rposition(|it| *it != b'0').map_or(0, |last| last + 1));
        if digits.is_empty() {
            // However it is written, also with a sign.
            return Self { is_negative: false, digits, exponent: 0 };
        }
        let shift = length(all - digits.len()).saturating_sub(length(fraction.len()));
        Self { is_negative, digits, exponent: exponent.saturating_add(shift) }
    }
}

/// Whether the number is whole, which `1.0` and `1e400` are too.
pub(super) fn is_integer(text: &str) -> bool {
    !text.contains(['.', 'e', 'E']) || Decimal::read(text).exponent >= 0
}

/// An exponent, or one as large as there is: nobody can write the digits that make a difference.
fn whole(exponent: &str) -> i64 {
    let (is_negative, digits) = match exponent.strip_prefix(['-', '+']) {
        Some(rest) => (exponent.starts_with('-'), rest),
        None => (false, exponent),
    };
    let size = digits.bytes().fold(0_i64, |size, digit| {
        size.saturating_mul(10).saturating_add(i64::from(digit.wrapping_sub(b'0')))
    });
    if is_negative { -size } else { size }
}

fn length(digits: usize) -> i64 {
    i64::try_from(digits).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, equal_to: &str, is_whole: bool) {
        assert_eq!(Decimal::read(text), Decimal::read(equal_to), "{text} is {equal_to}");
        assert_eq!(is_integer(text), is_whole, "whether {text} is whole");
    }

    #[test]
    fn numbers_are_equal_however_they_are_written() {
        check("0", "-0.00e7", true);
        check("-0", "0", true);
        check("1.0", "1", true);
        check("100", "1e2", true);
        check("-12.50", "-1.25E+1", false);
        check("10e-1", "1", true);
        check("0.001", "1e-3", false);
        check("1e400", "10e399", true);
        check("1e-400", "0.1e-399", false);
        check("1e99999999999999999999", "1e99999999999999999998", true);
        check("1e-99999999999999999999", "1e-99999999999999999998", false);
    }

    #[test]
    fn numbers_differ_in_their_last_digit() {
        let long = "1234567890".repeat(10);
        let other = format!("{}1", &long[..99]);
        for (one, other) in [
            ("1", "-1"),
            ("1", "10"),
            ("0.1", "0.10000000000000000555"),
            ("9007199254740993", "9007199254740992"),
            (&long, &other),
            ("1e400", "1e401"),
        ] {
            assert_ne!(Decimal::read(one), Decimal::read(other), "{one} is not {other}");
        }
    }
}
