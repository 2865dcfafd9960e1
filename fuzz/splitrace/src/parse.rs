//! The values of options: seed ranges, durations, defect names. Each refusal is one sentence that says what
//! is expected.

use splitrace_runtime::defects::{Defect, Profile, REGISTRY};
use splitrace_sim::scenario::Maker;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// Seeds `start..end`, never empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeedRange {
    /// The first seed.
    pub start: u64,
    /// The seed behind the last one.
    pub end: u64,
}

impl SeedRange {
    /// How many seeds it holds.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.end - self.start
    }
}

impl fmt::Display for SeedRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}..{}", self.start, self.end)
    }
}

impl FromStr for SeedRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || format!("a seed range looks like 0..2000 (the end is not included), not '{text}'");
        let (start, end) = text.split_once("..").ok_or_else(shape)?;
        let start: u64 = start.trim().parse().map_err(|_| shape())?;
        let end: u64 = end.trim().parse().map_err(|_| shape())?;
        if start > end {
            return Err(format!(
                "the seed range {start}..{end} runs backwards; did you mean {end}..{start}?"
            ));
        }
        if start == end {
            return Err(format!("the seed range {start}..{end} holds no seed, as its end is not included"));
        }
        Ok(Self { start, end })
    }
}

/// Parses a seed.
///
/// # Errors
/// A sentence, when it is no whole number of 64 bits.
pub fn seed(text: &str) -> Result<u64, String> {
    whole("a seed", text, 0..=u64::MAX)
}

/// Parses the number of a record.
///
/// # Errors
/// A sentence, when it is no whole number of 64 bits.
pub fn record(text: &str) -> Result<u64, String> {
    whole("the number of a record", text, 0..=u64::MAX)
}

/// Parses how many threads to use.
///
/// # Errors
/// A sentence, when it is no whole number from 1 to 1024.
pub fn jobs(text: &str) -> Result<u32, String> {
    whole("the number of threads", text, 1..=1024)
}

/// Parses how many files to keep.
///
/// # Errors
/// A sentence, when it is no whole number, or 0: a folder in which nothing may be kept is of no use.
pub fn keep(text: &str) -> Result<u64, String> {
    whole("the number of files to keep", text, 1..=1_000_000)
}

fn whole<N>(what: &str, text: &str, range: RangeInclusive<N>) -> Result<N, String>
where
    N: FromStr + PartialOrd + fmt::Display,
{
    let number = text.parse().ok().filter(|number| range.contains(number));
    let (least, most) = (range.start(), range.end());
    number.ok_or_else(|| format!("{what} is a whole number from {least} to {most}, not '{text}'"))
}

/// Parses `90s`, `15m`, `2h`, `500ms`.
///
/// # Errors
/// A sentence, when it is none of these or is zero.
pub fn duration(text: &str) -> Result<Duration, String> {
    let shape = || format!("a time looks like 500ms, 60s, 15m or 2h, not '{text}'");
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(shape)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| shape())?;
    let millis_per_unit: Option<u64> = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let millis = millis_per_unit.ok_or_else(shape)?.checked_mul(number);
    match millis {
        Some(0) => Err("the time must be longer than zero".to_owned()),
        Some(millis) => Ok(Duration::from_millis(millis)),
        None => Err(format!("the time '{text}' is too long")),
    }
}

/// Parses the name of a maker of scenarios.
///
/// # Errors
/// A sentence with the names that there are.
pub fn maker(text: &str) -> Result<Maker, String> {
    let names = Maker::ALL.map(Maker::id).join(", ");
    Maker::from_id(text).ok_or_else(|| format!("there is no maker '{text}'; there are {names}"))
}

/// Parses the name of a profile.
///
/// # Errors
/// A sentence that names them all.
pub fn profile(text: &str) -> Result<Profile, String> {
    let names = Profile::ALL.map(Profile::id).join(" and ");
    Profile::from_id(text).ok_or_else(|| format!("there is no profile '{text}'; there are {names}"))
}

/// Parses the id of a defect.
///
/// # Errors
/// A sentence that names the ids which come near.
pub fn defect(text: &str) -> Result<Defect, String> {
    Defect::from_id(text).ok_or_else(|| {
        let near = near_ids(text);
        let hint =
            if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
        format!("there is no defect of this name; {hint}'splitrace defects' lists them all")
    })
}

/// At most three registered ids near `text`, the nearest first.
fn near_ids(text: &str) -> Vec<String> {
    let mut near: Vec<(usize, &str)> = REGISTRY
        .iter()
        .map(|entry| (edit_distance(text, entry.id), entry.id))
        .filter(|(distance, id)| {
            *distance <= 2 + id.len() / 4 || (text.len() >= 4 && (id.contains(text) || text.contains(id)))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, id)| format!("'{id}'")).collect()
}

/// How many letters must be put in, taken out or changed to get from one to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (row_index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = row_index + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_range_is_half_open_and_forward() {
        assert_eq!("3..7".parse(), Ok(SeedRange { start: 3, end: 7 }));
        assert_eq!("3..7".parse::<SeedRange>().map(SeedRange::count), Ok(4));
        assert!("7..3".parse::<SeedRange>().is_err_and(|why| why.contains("did you mean 3..7")));
        assert!("7..7".parse::<SeedRange>().is_err_and(|why| why.contains("no seed")));
        for wrong in ["", "7", "a..b", "1..", "..5", "1..=5", "-1..5", "1..99999999999999999999"] {
            assert!(wrong.parse::<SeedRange>().is_err_and(|why| why.contains("looks like")), "{wrong}");
        }
    }

    #[test]
    fn a_number_out_of_range_is_told_its_range() {
        assert_eq!((seed("18446744073709551615"), jobs("1024"), keep("1")), (Ok(u64::MAX), Ok(1024), Ok(1)));
        for wrong in ["-1", "many", "", "1.5", "18446744073709551616", "--format"] {
            let why = seed(wrong).expect_err("it is refused");
            assert_eq!(
                why,
                format!("a seed is a whole number from 0 to 18446744073709551615, not '{wrong}'")
            );
        }
        assert!(jobs("0").is_err_and(|why| why.contains("from 1 to 1024, not '0'")));
        assert!(keep("0").is_err_and(|why| why.contains("from 1 to 1000000, not '0'")));
    }

    #[test]
    fn a_duration_has_a_unit() {
        assert_eq!(duration("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7_200)));
        for wrong in ["", "60", "s", "1.5s", "-3s", "0s", "3 s", "99999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_mistyped_defect_is_told_its_neighbours() {
        assert_eq!(defect("final-batch-dropped"), Ok(Defect::FinalBatchDropped));
        assert!(defect("final-batch-droped").is_err_and(|why| why.contains("'final-batch-dropped'")));
        assert!(defect("gateway").is_err_and(|why| why.contains("'gateway-never-closes'")));
        assert!(
            defect("zzz")
                .is_err_and(|why| !why.contains("did you mean") && why.contains("splitrace defects"))
        );
    }

    #[test]
    fn edit_distance_counts_changes() {
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }
}
