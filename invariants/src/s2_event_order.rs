//! S2: for each completed checkpoint and each execution that acknowledged it, an operator event that was sent before the
//! holder closed the gateways is handled before the subtask's snapshot, and one that was sent after it is handled after.
//!
//! 'Sent' is the main thread's moment: when the holder let the event out or, if it kept it back, when it did that. So an
//! event that waits behind checkpoint 1 while 2 closes was sent before 2's close, although it leaves later. Sends and
//! closes are ordered by the job manager's sequence, handling and snapshots by the task's; all of them cause the
//! completion, at which they are judged. Checkpoints whose coordinator snapshots did not close in the order of their ids
//! are not judged.

use crate::checker::{Checker, Docket, RunSetup, task_of};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::table::Table;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind, Header};
use splitrace_runtime::ids::*;
use std::hash::{Hash, Hasher};

#[derive(Clone, Debug, Hash)]
struct Close {
    operator: OperatorUid,
    checkpoint: CheckpointId,
    /// In the job manager's sequence.
    sequence: u64,
    in_order: bool,
}

#[derive(Clone, Debug, Hash)]
struct Sent {
    operator: OperatorUid,
    id: OperatorEventId,
    /// In the job manager's sequence.
    sequence: u64,
    /// In the task's sequence.
    handled: Option<u64>,
}

#[derive(Clone, Debug, Hash)]
struct Snapshot {
    checkpoint: CheckpointId,
    /// In the task's sequence.
    barrier: u64,
    /// When the reader's state was taken, in the task's sequence.
    taken: u64,
}

#[derive(Clone, Debug, Hash)]
struct Execution {
    attempt: ExecutionAttemptId,
    epoch: LeaderEpoch,
    sent: Vec<Sent>,
    snapshots: Vec<Snapshot>,
    acknowledged: Vec<CheckpointId>,
}

/// The order of operator events around snapshots.
#[derive(Clone, Debug, Hash)]
pub struct EventOrder {
    docket: Docket,
    closes: Vec<Close>,
    subtasks: Table<Vec<Execution>>,
}

impl EventOrder {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self { docket: Docket::new(setup, Code::S2), closes: Vec::new(), subtasks: Table::default() }
    }

    fn close(&mut self, operator: OperatorUid, checkpoint: CheckpointId, sequence: u64) {
        let mut in_order = true;
        for later in &mut self.closes {
            if later.operator == operator && later.checkpoint > checkpoint {
                later.in_order = false;
                in_order = false;
            }
        }
        self.closes.retain(|held| (held.operator, held.checkpoint) != (operator, checkpoint));
        self.closes.push(Close { operator, checkpoint, sequence, in_order });
    }

    fn send(
        &mut self,
        attempt: ExecutionAttemptId,
        operator: OperatorUid,
        id: OperatorEventId,
        header: &Header,
    ) {
        let execution = self.execution(attempt, header.leader_epoch);
        let known = |held: &Sent| held.operator == operator && held.id == id;
        // A release of what was kept back: it was sent then.
        if !execution.sent.iter().rev().any(known) {
            execution.sent.push(Sent { operator, id, sequence: header.sequence, handled: None });
        }
    }

    fn handle(&mut self, operator: OperatorUid, id: OperatorEventId, header: &Header) {
        let Some((attempt, fence)) = task_of(header) else { return };
        let execution = self.execution(attempt, fence.leader_epoch);
        let sent = execution.sent.iter_mut().rev().find(|held| held.operator == operator && held.id == id);
        if let Some(sent) = sent {
            debug_assert!(sent.handled.is_none_or(|before| before < header.sequence));
            sent.handled.get_or_insert(header.sequence);
        }
    }

    fn snapshot(&mut self, checkpoint: CheckpointId, header: &Header) {
        let Some((attempt, fence)) = task_of(header) else { return };
        let execution = self.execution(attempt, fence.leader_epoch);
        match execution.snapshots.iter_mut().find(|held| held.checkpoint == checkpoint) {
            Some(begun) => begun.taken = header.sequence,
            None => {
                let barrier = header.sequence;
                execution.snapshots.push(Snapshot { checkpoint, barrier, taken: barrier });
            }
        }
    }

    fn complete(&mut self, checkpoint: CheckpointId, header: &Header) -> Result<(), Violation> {
        for executions in self.subtasks.values_mut() {
            let Some(at) = executions.iter().rposition(|held| held.acknowledged.contains(&checkpoint)) else {
                continue;
            };
            executions.drain(..at);
            let execution = &mut executions[0];
            execution.judge(checkpoint, &self.closes, header)?;
            execution.forget(checkpoint, &self.closes);
            self.docket.judged();
        }
        self.closes.retain(|held| held.checkpoint > checkpoint);
        Ok(())
    }

    /// With each sequence replaced by its rank among those that it is ever compared with: what comes later has higher
    /// ones anyway, so equal ranks have equal verdicts to come.
    fn in_ranks(&self) -> Self {
        let mut ranked = self.clone();
        let mut sent_and_closed: Vec<&mut u64> =
            ranked.closes.iter_mut().map(|close| &mut close.sequence).collect();
        for execution in ranked.subtasks.values_mut().flatten() {
            let mut in_task = Vec::new();
            for event in &mut execution.sent {
                sent_and_closed.push(&mut event.sequence);
                in_task.extend(event.handled.as_mut());
            }
            for snapshot in &mut execution.snapshots {
                in_task.extend([&mut snapshot.barrier, &mut snapshot.taken]);
            }
            replace_by_ranks(in_task);
        }
        replace_by_ranks(sent_and_closed);
        ranked
    }

    fn execution(&mut self, attempt: ExecutionAttemptId, epoch: LeaderEpoch) -> &mut Execution {
        let executions = self.subtasks.subtask_mut(attempt.subtask_id());
        let key = (epoch, attempt);
        let at = executions.partition_point(|held| (held.epoch, held.attempt) < key);
        if executions.get(at).is_none_or(|held| (held.epoch, held.attempt) != key) {
            let (sent, snapshots, acknowledged) = (Vec::new(), Vec::new(), Vec::new());
            executions.insert(at, Execution { attempt, epoch, sent, snapshots, acknowledged });
        }
        &mut executions[at]
    }
}

fn replace_by_ranks(numbers: Vec<&mut u64>) {
    let mut sorted: Vec<u64> = numbers.iter().map(|number| **number).collect();
    sorted.sort_unstable();
    sorted.dedup();
    for number in numbers {
        *number = sorted.partition_point(|lower| lower < number) as u64;
    }
}

impl Execution {
    fn judge(&self, checkpoint: CheckpointId, closes: &[Close], header: &Header) -> Result<(), Violation> {
        let Some(snapshot) = self.snapshots.iter().find(|held| held.checkpoint == checkpoint) else {
            return Ok(());
        };
        debug_assert!(snapshot.barrier <= snapshot.taken);
        for event in &self.sent {
            let Sent { operator, id, sequence, handled } = *event;
            let close = closes.iter().find(|held| held.operator == operator && held.checkpoint == checkpoint);
            let Some(close) = close.filter(|close| close.in_order) else { continue };
            let handled_before = handled.is_some_and(|at| at < snapshot.taken);
            let sent_before = sequence < close.sequence;
            if sent_before == handled_before {
                continue;
            }
            let attempt = self.attempt;
            let sentence = if sent_before {
                format!(
                    "{id} of {operator} was sent before the gateways closed for {checkpoint}, but {attempt} had not handled it at its snapshot"
                )
            } else {
                format!(
                    "{id} of {operator} was sent after the gateways had closed for {checkpoint}, but {attempt} handled it before its snapshot"
                )
            };
            return Err(Violation::new(Code::S2, Subject::OperatorEvent { operator, id }, header, sentence));
        }
        Ok(())
    }

    /// What lies before a completed checkpoint's close lies before every later close too.
    fn forget(&mut self, checkpoint: CheckpointId, closes: &[Close]) {
        self.sent.retain(|event| {
            let close =
                closes.iter().find(|held| held.operator == event.operator && held.checkpoint == checkpoint);
            event.handled.is_none() || close.is_none_or(|close| event.sequence > close.sequence)
        });
        self.snapshots.retain(|held| held.checkpoint > checkpoint);
        self.acknowledged.retain(|held| *held > checkpoint);
    }
}

impl Checker for EventOrder {
    const CODE: Code = Code::S2;
    const READS: KindSet = KindSet::of(&[
        Kind::OperatorEventReleased,
        Kind::OperatorEventBlocked,
        Kind::OperatorEventHandled,
        Kind::GatewaysClosed,
        Kind::BarrierHandled,
        Kind::ReaderSnapshotTaken,
        Kind::CheckpointAcknowledged,
        Kind::CheckpointCompleted,
    ]);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        let header = &event.header;
        match event.kind {
            EventKind::OperatorEventReleased { operator, attempt, id }
            | EventKind::OperatorEventBlocked { operator, attempt, id, .. } => {
                self.send(attempt, operator, id, header);
            }
            EventKind::OperatorEventHandled { operator, id } => self.handle(operator, id, header),
            EventKind::GatewaysClosed { operator, checkpoint } => {
                self.close(operator, checkpoint, header.sequence);
            }
            EventKind::BarrierHandled { checkpoint } | EventKind::ReaderSnapshotTaken { checkpoint, .. } => {
                self.snapshot(checkpoint, header);
            }
            EventKind::CheckpointAcknowledged { checkpoint, attempt, .. } => {
                self.execution(attempt, header.leader_epoch).acknowledged.push(checkpoint);
            }
            EventKind::CheckpointCompleted { checkpoint, .. } => return self.complete(checkpoint, header),
            _ => {}
        }
        Ok(())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.in_ranks().hash(&mut hasher);
    }
}

#[cfg(test)]
#[path = "s2_event_order_tests.rs"]
mod tests;
