//! Spans of virtual time as plans write them: `500ms`, `2s`, `50us`.

use super::point::PointError;

const UNITS: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Reads a span, in nanoseconds; it is longer than 0.
pub(super) fn parse(text: &str) -> Result<u64, PointError> {
    let digits = text.len() - text.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let span = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    span.filter(|span| *span > 0)
        .ok_or_else(|| PointError(format!("'{text}' is no span of time such as 500ms or 2s, longer than 0")))
}

/// Writes a span in the largest unit that needs no fraction.
pub(super) fn text(span_ns: u64) -> String {
    let (name, factor) = UNITS
        .into_iter()
        .find(|(_, factor)| span_ns.is_multiple_of(*factor))
        .expect("every span is a multiple of a nanosecond");
    format!("{}{name}", span_ns / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_they_are_written() {
        for (written, span_ns) in
            [("2s", 2_000_000_000), ("1500ms", 1_500_000_000), ("7us", 7_000), ("3ns", 3)]
        {
            assert_eq!(parse(written), Ok(span_ns));
            assert_eq!(text(span_ns), written);
        }
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for wrong in ["", "5", "ms", "0s", "1h", "-1s", "1.5s", "99999999999999999999s", "99999999999s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
