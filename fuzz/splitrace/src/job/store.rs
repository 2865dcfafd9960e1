//! The store of a real job's sink: file operations below the output folder, on files or on objects.
//!
//! What an answer means is the sink's to judge, as in the simulated world. But a full disk is the user's to mend: the sink
//! would ask again and again, so here the program ends and says so. What was not answered does not count.

use super::watch::{Notice, Watch};
use crate::real_files::RealFiles;
use crate::real_objects::RealObjects;
use splitrace_node::host::OutsideSystem;
use splitrace_runtime::actor::Outbox;
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use splitrace_runtime::ids::{ActorId, ProcessAddress};
use splitrace_runtime::message::{Message, StoreReply, StoreRequest, Stream, TaskMessage};

/// What carries file operations out.
pub(super) trait Medium: std::fmt::Debug + Send {
    /// Carries one out.
    fn perform(&mut self, operation: &FileOperation) -> FileAnswer;
}

impl Medium for RealFiles {
    fn perform(&mut self, operation: &FileOperation) -> FileAnswer {
        Self::perform(self, operation)
    }
}

impl Medium for RealObjects {
    fn perform(&mut self, operation: &FileOperation) -> FileAnswer {
        Self::perform(self, operation)
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct FileStore {
    medium: Box<dyn Medium>,
    watch: Watch,
    is_full: bool,
}

impl FileStore {
    /// Everything goes below the root of this.
    pub(super) const fn new(medium: Box<dyn Medium>, watch: Watch) -> Self {
        Self { medium, watch, is_full: false }
    }
}

impl OutsideSystem for FileStore {
    fn actor(&self) -> ActorId {
        ActorId::Store
    }

    fn handle(&mut self, from: ProcessAddress, message: Message, _now_ns: u64, outbox: &mut Outbox) {
        let Message::Store { attempt, epoch, call, request: StoreRequest::File(operation) } = message else {
            unreachable!("a file sink asks for nothing but file operations: {message:?}")
        };
        if self.is_full {
            return;
        }
        let answer = self.medium.perform(&operation);
        if answer == FileAnswer::NoSpace {
            self.is_full = true;
            return self.watch.notify(Notice::Broken("there is no space left for its output".to_owned()));
        }
        let reply = StoreReply::File(answer);
        let message = Message::Task { epoch, attempt, message: TaskMessage::StoreReply { call, reply } };
        outbox.send(from, Stream::StoreReplies(attempt), message);
    }
}
