//! A place: a way through points.

use super::point::{Point, PointError};
use std::fmt;
use std::str::FromStr;

/// `after(A).after(B).before(C)`: once A has happened and then B, just before the next C. Without `before` just after the
/// last `after`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// What must have happened, one behind the other.
    pub after: Vec<Point>,
    /// What is about to happen.
    pub before: Option<Point>,
}

impl Place {
    /// The point at which it strikes.
    ///
    /// # Panics
    /// For a place without points, which cannot be read or written.
    #[must_use]
    pub fn last(&self) -> &Point {
        self.before.as_ref().or(self.after.last()).expect("a place has a point")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, point) in self.after.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(formatter, "{dot}after({point})")?;
        }
        match &self.before {
            Some(point) if self.after.is_empty() => write!(formatter, "before({point})"),
            Some(point) => write!(formatter, ".before({point})"),
            None => Ok(()),
        }
    }
}

impl FromStr for Place {
    type Err = PointError;

    fn from_str(text: &str) -> Result<Self, PointError> {
        let wrong =
            |what: &str| PointError(format!("{what} in '{text}'; a place is after(POINT).before(POINT)"));
        let mut place = Self { after: Vec::new(), before: None };
        let mut rest = text.trim();
        while !rest.is_empty() {
            if place.before.is_some() {
                return Err(wrong("something stands behind before(...)"));
            }
            let (word, behind) = rest.split_once('(').ok_or_else(|| wrong("a '(' is missing"))?;
            let (point, behind) = behind.split_once(')').ok_or_else(|| wrong("a ')' is missing"))?;
            match word {
                "after" => place.after.push(point.parse()?),
                "before" => place.before = Some(point.parse()?),
                _ => return Err(wrong(&format!("'{word}' is neither after nor before"))),
            }
            rest = match behind.strip_prefix('.') {
                Some("") => return Err(wrong("nothing stands behind the last '.'")),
                Some(behind) => behind,
                None if behind.is_empty() => behind,
                None => return Err(wrong("a '.' is missing")),
            };
        }
        if place.after.is_empty() && place.before.is_none() {
            return Err(wrong("there is no point"));
        }
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        for text in [
            "after(checkpoint-complete checkpoint=5).before(commit)",
            "before(send-add-splits subtask=1 nth=2)",
            "after(assignment).after(failover).after(given-back)",
        ] {
            assert_eq!(text.parse::<Place>().map(|place| place.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_wrong_place_is_told_with_what_would_be_right() {
        for (text, part) in [
            ("", "there is no point"),
            ("commit", "a '(' is missing"),
            ("after(commit", "a ')' is missing"),
            ("behind(commit)", "neither after nor before"),
            ("before(commit).after(visible)", "behind before"),
            ("after(commit)before(visible)", "a '.' is missing"),
            ("after(commit).", "behind the last '.'"),
            ("after()", "a point has a name"),
            ("after(comit)", "there is no point 'comit'"),
            ("after(commit chk=1)", "there is no fact 'chk'"),
            ("after(commit checkpoint=x)", "no whole number"),
            ("after(commit checkpoint)", "no FACT=NUMBER"),
            ("after(commit nth=0)", "counts from 1"),
            ("after(commit subtask=1 subtask=2)", "stands twice"),
        ] {
            let error = text.parse::<Place>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
