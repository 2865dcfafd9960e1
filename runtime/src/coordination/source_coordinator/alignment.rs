//! Watermark alignment from the coordinator's side: what the readers of this source have reached in event time, what the
//! other sources of the group have, and how far everybody may go.
//!
//! Flink's coordinators share one aggregate per group (`CoordinatorStore`). Here each has a thread of its own, so each
//! keeps its own view and tells the others by mail when the least watermark of its readers moves: a mail that is still
//! under way is a moment at which the other thread has not yet looked. Refused: one shared value behind a lock, which no
//! schedule could take apart.
//!
//! Only subtasks that have ever reported count, and only they are told. What a subtask reported stays until it reports
//! anew, over its restart too: its successor begins behind it, so nobody runs ahead meanwhile. A source that has ended
//! reports the greatest watermark and holds nobody back.

use super::SourceCoordinator;
use crate::actor::Outbox;
use crate::config::{AlignmentConfig, JobConfig};
use crate::coordination::coordinator_error::CoordinatorError;
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use std::collections::BTreeMap;

/// Watermarks by whoever reported them, in milliseconds (Flink's `WatermarkAggregator`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct WatermarkAggregator<K>(BTreeMap<K, i64>);

impl<K: Ord> WatermarkAggregator<K> {
    const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Takes a watermark in, be it lower than the last one; answers the least of all when that has changed.
    fn aggregate(&mut self, key: K, watermark_ms: i64) -> Option<i64> {
        let before = self.least_ms();
        self.0.insert(key, watermark_ms);
        let least_ms = self.least_ms();
        if least_ms == before { None } else { least_ms }
    }

    fn least_ms(&self) -> Option<i64> {
        self.0.values().min().copied()
    }
}

/// What one coordinator knows of its group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct WatermarkAlignment {
    config: AlignmentConfig,
    /// The other sources of the group.
    peers: Vec<OperatorUid>,
    subtasks: WatermarkAggregator<SubtaskIndex>,
    sources: WatermarkAggregator<OperatorUid>,
}

impl WatermarkAlignment {
    /// Of a source of the job; `None` when it is aligned with nobody.
    pub(super) fn of(job: &JobConfig, operator: OperatorUid) -> Option<Self> {
        let config = super::super::vertex_of(job, operator).task.alignment?;
        let in_group = |group: AlignmentConfig| group.group == config.group;
        let others = job.vertices.iter().filter(|vertex| vertex.operator != operator);
        let peers = others.filter(|vertex| vertex.task.alignment.is_some_and(in_group));
        Some(Self {
            config,
            peers: peers.map(|vertex| vertex.operator).collect(),
            subtasks: WatermarkAggregator::new(),
            sources: WatermarkAggregator::new(),
        })
    }

    /// How far everybody may go: the least watermark of the group and the drift. `None` while nobody has reported.
    fn allowed_ms(&self) -> Option<i64> {
        let drift_ms = i64::try_from(self.config.max_drift_ms).unwrap_or(MAX_WATERMARK_MS);
        self.sources.least_ms().map(|least_ms| least_ms.saturating_add(drift_ms))
    }
}

impl SourceCoordinator {
    /// A new coordinator begins: its readers are new, and the others forget what the older one told them. Announcements
    /// come from here on.
    pub(super) fn begin_alignment(&mut self, out: &mut Outbox) {
        let Some(alignment) = &mut self.alignment else { return };
        alignment.subtasks = WatermarkAggregator::new();
        alignment.sources = WatermarkAggregator::new();
        self.tell_peers(None, out);
        self.set_announcement_timer(out);
    }

    fn set_announcement_timer(&self, out: &mut Outbox) {
        if let Some(alignment) = &self.alignment {
            out.set_timer(Timer::AlignmentAnnouncement, alignment.config.period_ns);
        }
    }

    /// A reader tells what it has reached. Without alignment the job fails.
    pub(super) fn on_reported_watermark(
        &mut self,
        attempt: ExecutionAttemptId,
        watermark_ms: i64,
        out: &mut Outbox,
    ) {
        let Some(alignment) = &mut self.alignment else {
            self.context.fail_job(CoordinatorError::AlignmentIsOff(attempt), out);
            return;
        };
        if let Some(least_ms) = alignment.subtasks.aggregate(attempt.subtask, watermark_ms) {
            alignment.sources.aggregate(self.operator, least_ms);
            self.tell_peers(Some(least_ms), out);
        }
    }

    fn tell_peers(&self, watermark_ms: Option<i64>, out: &mut Outbox) {
        for peer in self.alignment.iter().flat_map(|alignment| &alignment.peers) {
            debug_assert_ne!(*peer, self.operator, "nobody is its own peer");
            let mail = CoordinatorMail::GroupWatermark { source: self.operator, watermark_ms };
            out.mail(ActorId::SourceCoordinator(*peer), Mail::Coordinator(mail));
        }
    }

    /// Another source of the group has got on, or begins anew.
    pub(super) fn on_group_watermark(&mut self, source: OperatorUid, watermark_ms: Option<i64>) {
        debug_assert_ne!(source, self.operator, "it knows its own");
        let Some(alignment) = &mut self.alignment else {
            debug_assert!(false, "{source} counts on a source that is not aligned");
            return;
        };
        match watermark_ms {
            Some(watermark_ms) => {
                alignment.sources.aggregate(source, watermark_ms);
            }
            None => {
                alignment.sources.0.remove(&source);
            }
        }
    }

    /// Tells every subtask that ever reported, and is there, how far it may go; then sets the timer anew. A subtask that
    /// is being restarted is left out: it hears the next one.
    pub(super) fn announce_alignment(&mut self, out: &mut Outbox) {
        let Some(alignment) = &self.alignment else {
            debug_assert!(false, "the timer is set by an aligned source");
            return;
        };
        let reported: Vec<SubtaskIndex> = alignment.subtasks.0.keys().copied().collect();
        let mut told = Vec::new();
        if let Some(allowed_ms) = alignment.allowed_ms() {
            told = reported.iter().filter_map(|subtask| self.hears_announcements(*subtask)).collect();
            if !told.is_empty() {
                let subtasks = told.iter().map(|attempt| attempt.subtask).collect();
                out.emit(EventKind::AlignmentAnnounced { allowed_ms, subtasks });
            }
            for attempt in &told {
                let event = OperatorEvent::WatermarkAlignment { allowed_ms };
                self.context.mail_main(CoordinatorToMain::SendEvent { attempt: *attempt, event }, out);
            }
        }
        debug_assert!(told.len() <= reported.len(), "only who reported is told");
        if told.len() == reported.len() || !self.defects.has(Defect::AnnouncementsEndAtRestart) {
            self.set_announcement_timer(out);
        }
    }

    /// The execution of a subtask that announcements go to; one that was told 'no more splits' may have plenty to read.
    fn hears_announcements(&mut self, subtask: SubtaskIndex) -> Option<ExecutionAttemptId> {
        let attempt = self.context.ready_gateway(subtask)?;
        let is_left_out = self.defects.has(Defect::AnnouncementsEndAtNoMoreSplits)
            && self.context.is_told_no_more_splits(subtask);
        (!is_left_out).then_some(attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_watermark_counts_and_may_go_back() {
        let mut aggregator = WatermarkAggregator::new();
        assert_eq!(aggregator.least_ms(), None);
        assert_eq!(aggregator.aggregate(0, 7), Some(7));
        assert_eq!(aggregator.aggregate(1, 9), None);
        assert_eq!(aggregator.aggregate(0, 12), Some(9));
        assert_eq!(aggregator.aggregate(1, 4), Some(4), "a restarted subtask is behind its predecessor");
        assert_eq!(aggregator.aggregate(1, MAX_WATERMARK_MS), Some(12), "who has ended holds nobody back");
        assert_eq!(aggregator.aggregate(0, MAX_WATERMARK_MS), Some(MAX_WATERMARK_MS));
    }
}
