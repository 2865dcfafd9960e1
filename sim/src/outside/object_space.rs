//! An object store in memory: an object comes into being as a whole, and is never changed.
//!
//! It takes the operations of a file system as far as it can. What is written to a new path is an upload, which nobody
//! sees and which is gone with whoever holds it; a sync completes it. There is no rename: to publish is to copy, then to
//! delete, and a crash may come between the two. So publishing again must find that the copy is there. What a file system
//! can and this cannot is answered with [`FileAnswer::Immutable`].
//!
//! The `object_store` crate's stores behind the same operations give the same answers
//! (`fuzz/splitrace/tests/objects_parity.rs`). Refused: Flink's way with S3, which leaves the upload open and completes it
//! at the commit. An upload that another process can go on with exists in some of the stores behind that crate's trait and
//! not in others; a copy exists in all of them.

use super::file_system::listing;
use super::store::Caller;
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use splitrace_runtime::ids::{ExecutionAttemptId, LeaderEpoch};
use std::collections::BTreeMap;

/// What is being sent to a path.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Upload {
    by: (ExecutionAttemptId, LeaderEpoch),
    content: Vec<u8>,
    /// Where the part begins that was sent last: it may be sent again, those before it not.
    last_part: usize,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ObjectSpace {
    objects: BTreeMap<String, Vec<u8>>,
    uploads: BTreeMap<String, Upload>,
    /// What the last publishing deleted, until something else is done: a crash may leave it there.
    last_deleted: Option<(String, Vec<u8>)>,
}

impl ObjectSpace {
    /// Carries an operation out for an execution.
    pub fn perform(
        &mut self,
        attempt: ExecutionAttemptId,
        epoch: LeaderEpoch,
        operation: &FileOperation,
    ) -> FileAnswer {
        self.execute(Caller { attempt, epoch }, operation)
    }

    pub(super) fn execute(&mut self, caller: Caller, operation: &FileOperation) -> FileAnswer {
        self.last_deleted = None;
        match operation {
            FileOperation::Write { path, at, bytes } => self.write(caller, path, *at as usize, bytes),
            FileOperation::Sync { path, length } => self.complete(path, *length),
            FileOperation::Resume { path, .. } => {
                let is_there = self.objects.contains_key(path) || self.uploads.contains_key(path);
                if is_there { FileAnswer::Immutable } else { FileAnswer::NotFound }
            }
            FileOperation::Publish { hidden, target, length } => self.publish(hidden, target, *length),
            FileOperation::Delete { path } => {
                let was_there = [self.uploads.remove(path).is_some(), self.objects.remove(path).is_some()];
                if was_there == [false; 2] { FileAnswer::AlreadyDone } else { FileAnswer::Done }
            }
            FileOperation::Read { path, at, length } => {
                let Some(content) = self.objects.get(path) else { return FileAnswer::NotFound };
                let from = content.get(*at as usize..).unwrap_or_default();
                FileAnswer::Bytes(from[..from.len().min(*length as usize)].to_vec())
            }
            FileOperation::List { folder } => FileAnswer::Listed(self.list(folder)),
        }
    }

    /// An object's content.
    #[must_use]
    pub fn read(&self, path: &str) -> Option<&[u8]> {
        self.objects.get(path).map(|content| &content[..])
    }

    /// An execution is gone, and its uploads with it; answers their paths.
    pub fn lose_client(&mut self, attempt: ExecutionAttemptId, epoch: LeaderEpoch) -> Vec<String> {
        let gone: Vec<String> = self
            .uploads
            .iter()
            .filter(|(_, upload)| upload.by == (attempt, epoch))
            .map(|(path, _)| path.clone())
            .collect();
        self.uploads.retain(|_, upload| upload.by != (attempt, epoch));
        gone
    }

    /// The store goes down and comes back: uploads are gone, and what was just published may lie in both places.
    pub fn crash(&mut self, choices: &mut dyn Choices) {
        self.uploads.clear();
        if let Some((path, content)) = self.last_deleted.take() {
            let label = Label::new(ChoiceKind::CutAt, Subject::World);
            if choices.choose(label, Draw::Below(2)) == 1 {
                self.objects.insert(path, content);
            }
        }
        debug_assert!(self.last_deleted.is_none());
    }

    fn write(&mut self, caller: Caller, path: &str, at: usize, bytes: &[u8]) -> FileAnswer {
        if at == 0 {
            let by = (caller.attempt, caller.epoch);
            let upload = Upload { by, content: bytes.to_vec(), last_part: 0 };
            self.uploads.insert(path.to_owned(), upload);
            return FileAnswer::Done;
        }
        let Some(upload) = self.uploads.get_mut(path) else { return FileAnswer::TooShort(0) };
        let length = upload.content.len();
        if length < at {
            return FileAnswer::TooShort(length as u64);
        }
        if at != length && at != upload.last_part {
            return FileAnswer::Immutable;
        }
        upload.content.truncate(at);
        upload.content.extend_from_slice(bytes);
        upload.last_part = at;
        FileAnswer::Done
    }

    fn complete(&mut self, path: &str, length: u64) -> FileAnswer {
        let uploaded = self.uploads.get(path).map(|upload| upload.content.len() as u64);
        match uploaded {
            Some(short) if short < length => return FileAnswer::TooShort(short),
            Some(_) => {
                let upload = self.uploads.remove(path).expect("it was there just now");
                self.objects.insert(path.to_owned(), upload.content);
            }
            None => {}
        }
        match self.objects.get(path).map(|content| content.len() as u64) {
            Some(short) if short < length => FileAnswer::TooShort(short),
            Some(_) => FileAnswer::Done,
            None => FileAnswer::NotFound,
        }
    }

    fn publish(&mut self, hidden: &str, target: &str, length: u64) -> FileAnswer {
        let is_there = self.objects.contains_key(target);
        let Some(content) = self.objects.get(hidden) else {
            return if is_there { FileAnswer::AlreadyDone } else { FileAnswer::NotFound };
        };
        let found = content.len() as u64;
        if found < length {
            return FileAnswer::TooShort(found);
        }
        if found > length || hidden == target {
            return FileAnswer::Immutable;
        }
        let content = self.objects.remove(hidden).expect("it was there just now");
        if is_there {
            return FileAnswer::AlreadyDone;
        }
        self.last_deleted = Some((hidden.to_owned(), content.clone()));
        self.objects.insert(target.to_owned(), content);
        FileAnswer::Done
    }

    pub(super) fn list(&self, folder: &str) -> Vec<(String, u64)> {
        listing(folder, self.objects.iter().map(|(path, content)| (path, content.len())))
    }
}

#[cfg(test)]
mod tests;
