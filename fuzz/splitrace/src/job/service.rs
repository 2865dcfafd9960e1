//! The high-availability service of a real job: the simulated world's, whose state is durable before anything is answered.

use super::state_folder::{Saved, StateFolder};
use super::watch::{Notice, Watch};
use splitrace_node::host::OutsideSystem;
use splitrace_runtime::actor::Outbox;
use splitrace_runtime::ids::{ActorId, ProcessAddress};
use splitrace_runtime::message::Message;
use splitrace_sim::outside::{HighAvailability, OutsideDecision};

/// See the module.
#[derive(Debug)]
pub(super) struct DurableService {
    service: HighAvailability,
    saved: Saved,
    folder: StateFolder,
    watch: Watch,
    /// What it holds in memory is not durable: it says nothing any more.
    is_broken: bool,
}

impl DurableService {
    /// A service that holds what was saved.
    pub(super) const fn new(
        service: HighAvailability,
        saved: Saved,
        folder: StateFolder,
        watch: Watch,
    ) -> Self {
        Self { service, saved, folder, watch, is_broken: false }
    }

    /// Makes durable what has changed.
    fn save(&mut self) -> std::io::Result<()> {
        let now = self.service.durable_state();
        if now != self.saved.service {
            self.saved.service = now;
            self.folder.write(&self.saved)?;
        }
        Ok(())
    }
}

impl OutsideSystem for DurableService {
    fn actor(&self) -> ActorId {
        ActorId::HighAvailability
    }

    fn handle(&mut self, from: ProcessAddress, message: Message, _now_ns: u64, outbox: &mut Outbox) {
        if self.is_broken {
            return;
        }
        debug_assert!(outbox.is_empty(), "a call begins with nothing said");
        self.service.handle(from, message, OutsideDecision::default(), outbox);
        if let Err(error) = self.save() {
            // Nobody must hear of what a loss of power would take back.
            outbox.cut(0);
            self.is_broken = true;
            self.watch.notify(Notice::Broken(format!("its state folder cannot be written to ({error})")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::{FilesSink, Job, JobSink};
    use super::super::plan;
    use super::*;
    use splitrace_runtime::config::FileMedium;
    use splitrace_runtime::connectors::file_sink::RollingPolicy;
    use splitrace_runtime::connectors::file_source::RecordFormat;
    use splitrace_runtime::ids::{CallId, Incarnation, LeaderEpoch, ProcessId};
    use splitrace_runtime::message::HighAvailabilityRequest;
    use splitrace_sim::outside::DurableState;
    use std::path::PathBuf;
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    #[test]
    fn what_is_not_durable_is_not_answered() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("state");
        let job = Job {
            parallelism: 1,
            state_folder: path.clone(),
            source_folder: PathBuf::from("in"),
            format: RecordFormat::TextLines,
            block_bytes: 1,
            discover_every: None,
            sink: JobSink::Files(FilesSink {
                folder: PathBuf::from("out"),
                medium: FileMedium::FileSystem,
                policy: RollingPolicy::OnCheckpoint,
                buckets: 1,
                bucket_check: Duration::from_secs(1),
            }),
            checkpoint_interval: Duration::from_secs(1),
        };
        let state = StateFolder::open(&path).expect("it can be made");
        let saved = Saved { key: plan::key(&job), service: DurableState::default() };
        let (sender, notices) = mpsc::channel();
        let inner = HighAvailability::started_again(Arc::new(plan::config(&job)), saved.service.clone());
        let mut service = DurableService::new(inner, saved, state, Watch::new(sender));
        let mut ask = |incarnation| {
            let from =
                ProcessAddress { process: ProcessId::JobManager, incarnation: Incarnation(incarnation) };
            let request = HighAvailabilityRequest::AcquireLease;
            let message = Message::HighAvailability { epoch: LeaderEpoch(0), call: CallId(0), request };
            let mut outbox = Outbox::new();
            service.handle(from, message, 0, &mut outbox);
            outbox.outputs().len()
        };
        assert_eq!(ask(0), 1, "the lease is durable and granted");
        std::fs::remove_dir_all(&path).expect("it is there");
        assert_eq!(ask(1), 0, "the lease of the next cannot be kept");
        assert_eq!(ask(2), 0, "from then on it is silent");
        let told: Vec<Notice> = notices.try_iter().collect();
        assert!(matches!(&told[..], [Notice::Broken(_)]), "{told:?}");
    }
}
