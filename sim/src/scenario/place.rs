//! Where in a TOML text a key stands, so that what is wrong with a value is told with its line.
//!
//! Values are checked after the whole text is read, because most rules join several of them; by then only keys are left.
//! Refused: to check while reading, which would tie each rule to the one value that comes last.

use toml::de::{DeTable, DeValue};

/// The line, from 1, of a key such as `job.vertices[1].source.split_count`, or of the innermost table around it that the
/// text has. `None` when it has none of them.
pub(super) fn line_of(text: &str, place: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut found = None;
    let mut here = DeValue::Table(table.into_inner());
    for step in steps(place) {
        let next = match (step, here) {
            (Step::Key(key), DeValue::Table(mut table)) => {
                table.remove_entry(key).map(|(key, value)| (key.span(), value))
            }
            (Step::Index(index), DeValue::Array(values)) => {
                values.into_iter().nth(index).map(|value| (value.span(), value))
            }
            _ => None,
        };
        let Some((span, value)) = next else { break };
        found = Some(span.start);
        here = value.into_inner();
    }
    found.map(|offset| text[..offset].matches('\n').count() + 1)
}

/// A step into a table or an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn steps(place: &str) -> impl Iterator<Item = Step<'_>> {
    place.split(['.', '[']).map(|part| {
        let index = part.strip_suffix(']').and_then(|index| index.parse().ok());
        index.map_or(Step::Key(part), Step::Index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "top = 1\n\n[job]\nname = 'x'\n\n[[job.vertices]]\na = 1\n\n[[job.vertices]]\na = 2\nsource = { b = 3 }\n";

    #[test]
    fn a_key_has_a_line() {
        for (place, line) in [
            ("top", Some(1)),
            ("job.name", Some(4)),
            ("job.vertices[0].a", Some(7)),
            ("job.vertices[1].a", Some(10)),
            ("job.vertices[1].source.b", Some(11)),
            ("absent", None),
        ] {
            assert_eq!(line_of(TEXT, place), line, "{place}");
        }
    }

    #[test]
    fn where_the_key_is_missing_the_table_around_it_is_named() {
        assert_eq!(line_of(TEXT, "job.vertices[1].source.absent"), Some(11));
        assert_eq!(line_of(TEXT, "job.absent.b"), Some(3));
        assert_eq!(line_of(TEXT, "job.vertices[7].a"), line_of(TEXT, "job.vertices"));
    }

    #[test]
    fn what_is_no_toml_has_no_places() {
        assert_eq!(line_of("= 1", "top"), None);
    }
}
