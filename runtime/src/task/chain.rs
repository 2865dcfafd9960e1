//! The two ends of a task's chain. Without an exchange a task has a reader and a sink; an exchange gives the reader's task
//! channels in place of the sink, and the sink's task channels in place of the reader.

use super::committer_operator::CommitterOperator;
use super::sink_writer_operator::SinkWriterOperator;
use super::source_operator::SourceOperator;
use crate::exchange::{InputGate, RecordWriter};

/// Where a task's records come from.
#[derive(Clone, Hash, Debug)]
pub(super) enum Head {
    /// A reader.
    Source(SourceOperator),
    /// Channels.
    Gate(InputGate),
}

/// Where they go.
#[derive(Clone, Hash, Debug)]
pub(super) enum Tail {
    /// Writer and committer; with all that they hold they are far larger than channels.
    Sink(Box<Sink>),
    /// Channels.
    Channels(RecordWriter),
}

/// The operators of a sink.
#[derive(Clone, Hash, Debug)]
pub(super) struct Sink {
    pub(super) writer: SinkWriterOperator,
    pub(super) committer: CommitterOperator,
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
    /// The sink, in a task that has one.
    pub(super) fn sink_mut(&mut self) -> &mut Sink {
        match self {
            Self::Sink(sink) => sink,
            Self::Channels(_) => unreachable!("a task before an exchange has no sink"),
        }
    }

    /// Whether it takes records now.
    pub(super) fn is_available(&self) -> bool {
        match self {
            Self::Sink(sink) => sink.writer.is_available(),
            Self::Channels(channels) => channels.is_available(),
        }
    }

    /// Whether everything that was put into it is with somebody else; a sink's is a matter of checkpoints.
    pub(super) fn is_taken(&self) -> bool {
        match self {
            Self::Sink(_) => true,
            Self::Channels(channels) => channels.is_taken(),
        }
    }
}
