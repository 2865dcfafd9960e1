//! What the threads of a job let be seen of it: counts for the progress bar, and the few things that end it.

use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::ProcessId;
use splitrace_runtime::message::JobResult;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

/// Something that whoever started the job must know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Notice {
    /// The job has ended, and that is durable.
    Ended(JobResult),
    /// The state folder or the output folder cannot be written to: what could not be kept was not answered either.
    Broken(String),
    /// A task failed, with this cause; it is started again, or the job fails.
    TaskFailed(String),
    /// A thread is over. Before the job's end that is a bug, which it has told by itself.
    ThreadOver(ProcessId),
    /// The user wants the job to stop.
    Stop,
}

/// Counts of one life of the program.
#[derive(Debug, Default)]
struct Counts {
    bytes: AtomicU64,
    records: AtomicU64,
    checkpoints: AtomicU64,
    failures: AtomicU64,
}

/// The counts at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Tally {
    /// Bytes read from the input; what was read again counts again.
    pub bytes: u64,
    /// Records read; what was read again counts again.
    pub records: u64,
    /// Completed checkpoints.
    pub checkpoints: u64,
    /// Tasks that failed.
    pub failures: u64,
}

/// Shared by all threads of a job.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    counts: Arc<Counts>,
    notices: Sender<Notice>,
}

impl Watch {
    /// Nothing has happened yet.
    pub(super) fn new(notices: Sender<Notice>) -> Self {
        Self { counts: Arc::default(), notices }
    }

    /// Tells whoever started the job. When nobody listens any more, it is over.
    pub(super) fn notify(&self, notice: Notice) {
        let _ = self.notices.send(notice);
    }

    /// Bytes were read.
    pub(super) fn read(&self, bytes: u64) {
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// An event of the protocol.
    pub(super) fn hear(&self, event: EventKind) {
        let counts = &self.counts;
        let add = |count: &AtomicU64, by: u64| {
            count.fetch_add(by, Ordering::Relaxed);
        };
        match event {
            EventKind::RecordsEmitted { range } => add(&counts.records, range.len()),
            EventKind::CheckpointCompleted { .. } => add(&counts.checkpoints, 1),
            EventKind::TaskEnded { cause: Some(cause), .. } => {
                add(&counts.failures, 1);
                self.notify(Notice::TaskFailed(cause));
            }
            EventKind::JobEnded { result } => self.notify(Notice::Ended(result)),
            _ => {}
        }
    }

    /// The counts now.
    pub(super) fn tally(&self) -> Tally {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Tally {
            bytes: now(&self.counts.bytes),
            records: now(&self.counts.records),
            checkpoints: now(&self.counts.checkpoints),
            failures: now(&self.counts.failures),
        }
    }
}
