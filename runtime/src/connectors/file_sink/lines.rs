//! What a record's line says, and which records the lines of a file say.

use crate::config::LineContent;
use crate::ids::{OperatorUid, SplitId};
use crate::records::Record;

/// The line of a record, with its end.
pub(super) fn line_of(mut record: Record, content: LineContent) -> Vec<u8> {
    match content {
        LineContent::Provenance => {
            let SplitId { operator, index } = record.split;
            format!("{}.{index}.{}\n", operator.0, record.offset).into_bytes()
        }
        LineContent::Payload => {
            record.payload.push(b'\n');
            record.payload
        }
    }
}

/// The records that whole lines of provenance say, with where each line ends. What is no such line, as a footer is, says
/// nothing.
pub fn provenance(content: &[u8]) -> impl Iterator<Item = (SplitId, u64, usize)> + '_ {
    let mut end = 0;
    content.split_inclusive(|byte| *byte == b'\n').filter_map(move |line| {
        end += line.len();
        let text = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
        let mut numbers = text.split('.').map(|number| number.parse::<u64>().ok());
        let (operator, index, offset) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let operator = OperatorUid(u16::try_from(operator).ok()?);
        let split = SplitId { operator, index: u32::try_from(index).ok()? };
        numbers.next().is_none().then_some((split, offset, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_what_is_read() {
        let split = SplitId { operator: OperatorUid(2), index: 5 };
        let record = |offset| Record { split, offset, event_time_ms: 0, key: 0, payload: b"words".to_vec() };
        let mut content = line_of(record(7), LineContent::Provenance);
        content.extend(line_of(record(8), LineContent::Provenance));
        content.extend(b"2.5.9");
        assert_eq!(provenance(&content).collect::<Vec<_>>(), [(split, 7, 6), (split, 8, 12)]);
        assert_eq!(line_of(record(7), LineContent::Payload), b"words\n");
        assert_eq!(provenance(b"words\n1.2\n1.2.3.4\n").count(), 0);
    }
}
