//! Names that no other life of any writer makes, and the transaction that such a name stands for.
//!
//! Flink draws a UUID for each file. A simulated run must not; and what is left behind in a folder should tell whose it
//! is, so that a later life can clean up. So the unique part of a hidden file's name says who began it, in which life,
//! under which number, and as the how-manieth: `o0s1e2a0c7n3` is subtask 1 of operator 0, leader epoch 2, attempt 0,
//! number 7, its third name.

use crate::ids::{
    AttemptNumber, CheckpointId, Fence, LeaderEpoch, OperatorUid, SubtaskId, SubtaskIndex, TransactionName,
    TransactionPart,
};

/// What stands before the unique part of a hidden file's name.
pub(super) const HIDDEN: &str = ".inprogress.";

/// Names of one life of one writer: a prefix, and a number that goes up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UniqueNames {
    prefix: String,
    next: u64,
}

impl UniqueNames {
    /// Names with this prefix, which no other life of any writer has.
    #[must_use]
    pub const fn new(prefix: String) -> Self {
        Self { prefix, next: 0 }
    }

    /// Names of this life that a writer makes under this number.
    pub(super) fn of_life(writer: SubtaskId, fence: Fence, number: CheckpointId) -> Self {
        Self::new(prefix(writer, fence, number))
    }

    /// From here on names are made under another number; each differs from all before.
    pub(super) fn go_on_under(&mut self, writer: SubtaskId, fence: Fence, number: CheckpointId) {
        self.prefix = prefix(writer, fence, number);
    }

    /// The next name.
    pub(super) fn next(&mut self) -> String {
        self.next += 1;
        format!("{}{}", self.prefix, self.next)
    }
}

fn prefix(writer: SubtaskId, fence: Fence, number: CheckpointId) -> String {
    let (operator, subtask) = (writer.vertex.0, writer.subtask.0);
    let (epoch, attempt) = (fence.leader_epoch.0, fence.attempt.0);
    format!("o{operator}s{subtask}e{epoch}a{attempt}c{}n", number.0)
}

/// The transaction that a hidden file stands for; `None` for a file that no writer of a job made.
#[must_use]
pub fn transaction_of(path: &str) -> Option<TransactionName> {
    let name = path.rsplit('/').next().filter(|name| name.starts_with('.'))?;
    let (_, unique) = name.split_once(HIDDEN)?;
    let mut rest = unique;
    let mut field = |marker: char| {
        rest = rest.strip_prefix(marker)?;
        let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let value: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        Some(value)
    };
    let (operator, subtask) = (field('o')?, field('s')?);
    let (epoch, attempt) = (field('e')?, field('a')?);
    let (number, counter) = (field('c')?, field('n')?);
    if !rest.is_empty() {
        return None;
    }
    let vertex = OperatorUid(u16::try_from(operator).ok()?);
    let subtask = SubtaskIndex(u32::try_from(subtask).ok()?);
    let fence = Fence {
        leader_epoch: LeaderEpoch(u32::try_from(epoch).ok()?),
        attempt: AttemptNumber(u32::try_from(attempt).ok()?),
    };
    let part = TransactionPart { fence, counter: u32::try_from(counter).ok()? };
    Some(TransactionName {
        writer: SubtaskId { vertex, subtask },
        number: CheckpointId(number),
        part: Some(part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_says_whose_it_is(
            vertex in 0u16..4000, subtask in 0u32..99, epoch in 0u32..99, attempt in 0u32..99, number in 1u64..1 << 40,
        ) {
            let writer = SubtaskId { vertex: OperatorUid(vertex), subtask: SubtaskIndex(subtask) };
            let fence = Fence { leader_epoch: LeaderEpoch(epoch), attempt: AttemptNumber(attempt) };
            let mut names = UniqueNames::of_life(writer, fence, CheckpointId(number));
            let (bucket, file) = (names.next(), names.next());
            let path = format!("bucket-3/.part-{bucket}-0{HIDDEN}{file}");
            let part = Some(TransactionPart { fence, counter: 2 });
            let name = TransactionName { writer, number: CheckpointId(number), part };
            prop_assert_eq!(transaction_of(&path), Some(name));
            names.go_on_under(writer, fence, CheckpointId(number + 1));
            prop_assert!(names.next().ends_with("n3"), "no name of a life comes twice");
        }

        #[test]
        fn what_others_made_is_nobodys(path in "[./a-z0-9]{0,40}") {
            let told = transaction_of(&path);
            prop_assert!(told.is_none() || path.contains(HIDDEN));
        }
    }

    #[test]
    fn a_visible_file_and_a_foreign_one_stand_for_nothing() {
        for path in
            ["part-o0s0e1a0c1n1-0", ".part-x-0.inprogress.f3a9", ".part-x-0.inprogress.o0s0e1a0c1n1x", ""]
        {
            assert_eq!(transaction_of(path), None, "{path}");
        }
    }
}
