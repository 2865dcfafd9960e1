//! The file system or the object store that a job's file sink writes to, with its ledger.
//!
//! What is visible is what the bytes of the renamed files say, read when they are renamed. A hidden file is a transaction
//! under the name that its own name stands for; the file system itself knows nothing of names, lives or fences, and refuses
//! nobody. It is one machine: when it loses its power, what was not synced may be gone, a half-written end included, while
//! whoever wrote it lives on and has been told that it was written.

use super::content::Content;
use super::store::{Caller, OpenTransaction};
use super::{FileSystem, ObjectSpace, VisibleLedger};
use crate::choices::Choices;
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use splitrace_runtime::config::FileMedium;
use splitrace_runtime::connectors::file_sink::{provenance, transaction_of};
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{ExecutionAttemptId, Fence, LeaderEpoch, SplitId, TransactionName};
use splitrace_runtime::message::{StoreReply, StoreRequest};
use splitrace_runtime::records::{Record, RecordRanges};
use std::collections::BTreeMap;

/// A file that is not visible yet.
#[derive(Clone, Debug, Hash)]
struct Hidden {
    /// Who wrote last.
    fence: Fence,
    /// The records of all its lines.
    records: RecordRanges,
    /// Whether it was ever synced.
    durable: bool,
}

/// What holds the bytes.
#[derive(Clone, Debug, Hash)]
enum Medium {
    Files(FileSystem),
    Objects(ObjectSpace),
}

impl Medium {
    fn execute(&mut self, caller: Caller, operation: &FileOperation) -> FileAnswer {
        match self {
            Self::Files(files) => files.perform(operation),
            Self::Objects(objects) => objects.execute(caller, operation),
        }
    }

    fn read(&self, path: &str) -> Option<&[u8]> {
        match self {
            Self::Files(files) => files.read(path),
            Self::Objects(objects) => objects.read(path),
        }
    }

    fn crash(&mut self, choices: &mut dyn Choices) {
        match self {
            Self::Files(files) => files.lose_power(choices),
            Self::Objects(objects) => objects.crash(choices),
        }
    }

    /// The transactions of what is there and not visible.
    fn hidden(&self) -> Vec<TransactionName> {
        let listed = match self {
            Self::Files(files) => files.list(""),
            Self::Objects(objects) => objects.list(""),
        };
        listed.iter().filter_map(|(path, _)| transaction_of(path)).collect()
    }
}

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct FileStore {
    medium: Medium,
    hidden: BTreeMap<TransactionName, Hidden>,
    visible: VisibleLedger,
}

impl FileStore {
    /// An empty one.
    #[must_use]
    pub fn new(medium: FileMedium) -> Self {
        let medium = match medium {
            FileMedium::FileSystem => Medium::Files(FileSystem::default()),
            FileMedium::ObjectStore => Medium::Objects(ObjectSpace::default()),
        };
        Self { medium, hidden: BTreeMap::new(), visible: VisibleLedger::default() }
    }

    /// Whether what is not complete goes with whoever was sending it.
    #[must_use]
    pub const fn has_uploads(&self) -> bool {
        matches!(self.medium, Medium::Objects(_))
    }

    /// What was made visible.
    #[must_use]
    pub const fn visible(&self) -> &VisibleLedger {
        &self.visible
    }

    /// The hidden files, by name.
    #[must_use]
    pub fn open_transactions(&self) -> Vec<OpenTransaction> {
        let open = |(name, hidden): (&TransactionName, &Hidden)| OpenTransaction {
            name: *name,
            fence: hidden.fence,
            prepared: hidden.durable,
            records: hidden.records.clone(),
        };
        self.hidden.iter().map(open).collect()
    }

    /// The machine loses its power, or the service goes down.
    pub fn crash(&mut self, choices: &mut dyn Choices, events: &mut Vec<EventKind>) {
        self.medium.crash(choices);
        let left = self.medium.hidden();
        self.forget(events, |name| !left.contains(&name));
    }

    /// An execution is gone, and its uploads with it.
    pub(super) fn lose_client(
        &mut self,
        attempt: ExecutionAttemptId,
        epoch: LeaderEpoch,
        events: &mut Vec<EventKind>,
    ) {
        let Medium::Objects(objects) = &mut self.medium else { return };
        let gone = objects.lose_client(attempt, epoch);
        let gone: Vec<TransactionName> = gone.iter().filter_map(|path| transaction_of(path)).collect();
        self.forget(events, |name| gone.contains(&name));
    }

    /// Tells of what is gone.
    fn forget(&mut self, events: &mut Vec<EventKind>, is_gone: impl Fn(TransactionName) -> bool) {
        self.hidden.retain(|&transaction, hidden| {
            let is_gone = is_gone(transaction);
            if is_gone {
                events.push(EventKind::TransactionRolledBack { transaction, prepared: hidden.durable });
            }
            !is_gone
        });
    }

    pub(super) fn execute(
        &mut self,
        caller: Caller,
        request: StoreRequest,
        events: &mut Vec<EventKind>,
    ) -> StoreReply {
        let StoreRequest::File(operation) = request else {
            panic!("a file sink asks for nothing but files: {request:?}");
        };
        let content = match &operation {
            FileOperation::Publish { hidden, length, .. } => self.content_of(hidden, *length),
            _ => Content::default(),
        };
        let answer = self.medium.execute(caller, &operation);
        if answer == FileAnswer::Done || matches!(answer, FileAnswer::Listed(_) | FileAnswer::AlreadyDone) {
            self.enter(caller, operation, &answer, content, events);
        }
        StoreReply::File(answer)
    }

    /// The records that a file's first bytes say.
    fn content_of(&self, path: &str, length: u64) -> Content {
        let bytes = self.medium.read(path).unwrap_or_default();
        content_in(&bytes[..bytes.len().min(length as usize)])
    }

    /// Tells what was done.
    fn enter(
        &mut self,
        caller: Caller,
        operation: FileOperation,
        answer: &FileAnswer,
        content: Content,
        events: &mut Vec<EventKind>,
    ) {
        if let FileOperation::List { .. } = operation {
            let writer = caller.attempt.subtask_id();
            events.push(EventKind::LeftoversListed { writer, fence: caller.fence() });
            return;
        }
        let Some(transaction) = transaction_of(operation.path()) else { return };
        let fence = caller.fence();
        match operation {
            FileOperation::Write { at, bytes, .. } => {
                if let std::collections::btree_map::Entry::Vacant(entry) = self.hidden.entry(transaction) {
                    entry.insert(Hidden { fence, records: RecordRanges::new(), durable: false });
                    events.push(EventKind::TransactionBegun { transaction, fence });
                }
                let written = content_in(&bytes).distinct();
                let hidden = self.hidden.get_mut(&transaction).expect("it is there now");
                if at == 0 {
                    hidden.records = RecordRanges::new();
                }
                hidden.fence = fence;
                hidden.records.extend(&written);
                events.push(EventKind::TransactionWritten { transaction, fence, records: written });
            }
            FileOperation::Resume { path, length } => self.cut_back(transaction, &path, length),
            FileOperation::Sync { .. } => {
                let Some(hidden) = self.hidden.get_mut(&transaction) else { return };
                hidden.durable = true;
                let records = hidden.records.clone();
                events.push(EventKind::TransactionDurable { transaction, fence, records });
            }
            FileOperation::Publish { .. } if *answer == FileAnswer::AlreadyDone => {
                events.push(EventKind::AlreadyVisible { transaction });
            }
            FileOperation::Publish { .. } => {
                self.hidden.remove(&transaction);
                for records in content.into_layers() {
                    self.visible.add(transaction, records.clone());
                    let (by, epoch) = (caller.attempt, caller.epoch);
                    events.push(EventKind::BecameVisible { transaction, by, epoch, records });
                }
            }
            FileOperation::Delete { .. } => {
                if let Some(hidden) = self.hidden.remove(&transaction) {
                    let prepared = hidden.durable;
                    events.push(EventKind::TransactionRolledBack { transaction, prepared });
                }
            }
            FileOperation::Read { .. } | FileOperation::List { .. } => {}
        }
    }

    /// A file was cut: what it says is read anew, which only a restore asks for.
    fn cut_back(&mut self, transaction: TransactionName, path: &str, length: u64) {
        let records = self.content_of(path, length).distinct();
        if let Some(hidden) = self.hidden.get_mut(&transaction) {
            hidden.records = records;
        }
    }
}

/// The records that lines say.
fn content_in(lines: &[u8]) -> Content {
    let record = |(split, offset, _): (SplitId, u64, usize)| Record {
        split,
        offset,
        event_time_ms: 0,
        key: 0,
        payload: Vec::new(),
    };
    Content::of(&provenance(lines).map(record).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
