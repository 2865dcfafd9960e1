//! The name of a table, and the names under which the server keeps what is prepared for it.
//!
//! Two jobs may write to one database, and what is prepared there is listed for all of it: so the table's name is in each
//! transaction's.

use splitrace_runtime::ids::*;
use std::fmt::{self, Display};
use std::str::FromStr;

/// The longest name: its other table and its transactions have longer ones, and 63 bytes are all that a server keeps.
const LENGTH_MAX: usize = 40;

/// How the name of a table of proofs ends.
const PROOFS: &str = "_proofs";

/// The name of a table: it may stand between quotes anywhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TableName(String);

impl FromStr for TableName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let is_word = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
        if name.ends_with(PROOFS) {
            return Err(format!(
                "'{name}' ends as the tables do that jobs keep beside theirs: name it otherwise"
            ));
        }
        if is_word && begins && name.len() <= LENGTH_MAX {
            return Ok(Self(name.to_owned()));
        }
        Err(format!(
            "'{name}' is no table's name: up to {LENGTH_MAX} of a-z, 0-9 and _, beginning with a letter"
        ))
    }
}

impl Display for TableName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TableName {
    /// What a connection for this table says that it is, and what its lock is called.
    pub(super) fn application(&self) -> String {
        format!("splitrace-{self}")
    }

    /// The table with the rows, quoted: `order` is a name too.
    pub(super) fn rows(&self) -> String {
        format!("\"{self}\"")
    }

    /// The table with a row for each committed transaction, quoted.
    pub(super) fn proofs(&self) -> String {
        format!("\"{self}{PROOFS}\"")
    }

    /// The index over that, quoted.
    pub(super) fn proofs_index(&self) -> String {
        format!("\"{self}{PROOFS}_name\"")
    }

    /// The name under which the server keeps a prepared transaction: less than 200 bytes, and nothing that needs quoting.
    #[must_use]
    pub fn global_id(&self, name: TransactionName) -> String {
        let TransactionName { writer, number, part } = name;
        let part = part.map_or_else(String::new, |part| {
            format!("-{}-{}-{}", part.fence.leader_epoch.0, part.fence.attempt.0, part.counter)
        });
        format!("splitrace-{self}-{}-{}-{}{part}", writer.vertex.0, writer.subtask.0, number.0)
    }

    /// The name in a global id; `None` for one that was not made for this table.
    pub(super) fn transaction(&self, global_id: &str) -> Option<TransactionName> {
        let own = global_id.strip_prefix("splitrace-")?.strip_prefix(&self.0)?.strip_prefix('-')?;
        let numbers: Option<Vec<u64>> = own.split('-').map(|number| number.parse().ok()).collect();
        let (vertex, subtask, number, part) = match numbers?[..] {
            [vertex, subtask, number] => (vertex, subtask, number, None),
            [vertex, subtask, number, epoch, attempt, counter] => {
                let fence = Fence {
                    leader_epoch: LeaderEpoch(u32::try_from(epoch).ok()?),
                    attempt: AttemptNumber(u32::try_from(attempt).ok()?),
                };
                let counter = u32::try_from(counter).ok()?;
                (vertex, subtask, number, Some(TransactionPart { fence, counter }))
            }
            _ => return None,
        };
        let writer = SubtaskId {
            vertex: OperatorUid(u16::try_from(vertex).ok()?),
            subtask: SubtaskIndex(u32::try_from(subtask).ok()?),
        };
        Some(TransactionName { writer, number: CheckpointId(number), part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> TableName {
        name.parse().expect("a valid name")
    }

    #[test]
    fn a_name_comes_back_from_its_global_id() {
        let writer = SubtaskId { vertex: OperatorUid(2049), subtask: SubtaskIndex(7) };
        let fence = Fence { leader_epoch: LeaderEpoch(3), attempt: AttemptNumber(4) };
        let part = Some(TransactionPart { fence, counter: 5 });
        for part in [None, part] {
            let name = TransactionName { writer, number: CheckpointId(6), part };
            let global_id = table("lines").global_id(name);
            assert_eq!(table("lines").transaction(&global_id), Some(name));
            assert_eq!(table("line").transaction(&global_id), None, "another table's");
        }
        for foreign in
            ["", "splitrace-", "splitrace-t-1-2", "splitrace-t-1-2-x", "other-1-2-3", "splitrace-t-99999-0-0"]
        {
            assert_eq!(table("t").transaction(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_table_s_name_may_stand_between_quotes() {
        for name in ["", "1st", "_x", "Lines", "a b", "a;drop", "naïve", "a-1", "a_proofs", &"x".repeat(41)]
        {
            assert!(name.parse::<TableName>().is_err(), "{name}");
        }
        assert_eq!(table("lines_2").proofs(), "\"lines_2_proofs\"");
    }
}
