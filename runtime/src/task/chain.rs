//! The two ends of a task's chain. Without an exchange a task has a reader and a sink. An exchange of records gives the
//! reader's task channels in place of the sink, and the sink's task channels in place of the reader; one of committables
//! parts the sink in the same way.

use super::sink_writer_operator::SinkWriterOperator;
use super::source_operator::SourceOperator;
use super::status::TaskStatus;
use super::task_committer::TaskCommitter;
use crate::actor::Outbox;
use crate::exchange::{InputGate, RecordWriter};
use crate::message::ChannelElement;

/// Where a task's records come from.
#[derive(Clone, Hash, Debug)]
pub(super) enum Head {
    /// A reader.
    Source(SourceOperator),
    /// Channels.
    Gate(InputGate),
}

/// Where they go: the sink's operators that the task has, in their order, and the channels behind the last of them. A
/// reader's task before an exchange of records has channels only.
#[derive(Clone, Hash, Debug)]
pub(super) struct Tail {
    pub(super) writer: Option<Box<SinkWriterOperator>>,
    pub(super) committer: Option<Box<TaskCommitter>>,
    pub(super) channels: Option<RecordWriter>,
}

impl Head {
    /// The reader's operator, in a task that has one.
    pub(super) fn source(&self) -> &SourceOperator {
        match self {
            Self::Source(source) => source,
            Self::Gate(_) => unreachable!("a task behind an exchange has no reader"),
        }
    }

    /// The same, to be changed.
    pub(super) fn source_mut(&mut self) -> &mut SourceOperator {
        match self {
            Self::Source(source) => source,
            Self::Gate(_) => unreachable!("a task behind an exchange has no reader"),
        }
    }

    /// The reader's operator, if the task has one.
    pub(super) const fn as_source_mut(&mut self) -> Option<&mut SourceOperator> {
        match self {
            Self::Source(source) => Some(source),
            Self::Gate(_) => None,
        }
    }

    /// Whether every channel into the task has ended; a reader is none.
    pub(super) const fn has_ended(&self) -> bool {
        match self {
            Self::Source(_) => true,
            Self::Gate(gate) => gate.has_ended(),
        }
    }
}

impl Tail {
    /// The writer, in a task that has one.
    pub(super) fn writer_mut(&mut self) -> &mut SinkWriterOperator {
        self.writer
            .as_mut()
            .expect("only a task with a writer takes records for one or waits for its requests")
    }

    /// The committer, in a task that has one.
    pub(super) fn committer_mut(&mut self) -> &mut TaskCommitter {
        self.committer.as_mut().expect("only a task with a committer commits")
    }

    /// Whether it takes records now.
    pub(super) fn is_available(&self) -> bool {
        self.writer.as_ref().is_none_or(|writer| writer.is_available())
            && self.channels.as_ref().is_none_or(RecordWriter::is_available)
    }

    /// Whether everything that was put into channels is with somebody else; what a sink holds is a matter of checkpoints.
    pub(super) fn is_taken(&self) -> bool {
        self.channels.as_ref().is_none_or(RecordWriter::is_taken)
    }

    /// Sends a barrier or an end into the channels, if there are any.
    pub(super) fn broadcast(&mut self, element: &ChannelElement, outbox: &mut Outbox) {
        if let Some(channels) = &mut self.channels {
            channels.broadcast(element, outbox);
        }
    }

    /// What is owed to it, as the end of a sentence; `None` when nothing is.
    pub(super) fn waiting_for(&self, status: TaskStatus) -> Option<String> {
        let call = match status {
            TaskStatus::Committing(_) | TaskStatus::Recommitting => {
                self.committer.as_ref().and_then(|committer| committer.waiting_for())
            }
            _ => self.writer.as_ref().and_then(|writer| writer.waiting_for()),
        };
        let of_store = call.map(|what| format!("the store's reply to {what}"));
        of_store.or_else(|| self.channels.as_ref().and_then(RecordWriter::waiting_for))
    }
}
