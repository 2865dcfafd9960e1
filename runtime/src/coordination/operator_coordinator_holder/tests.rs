//! The measured sequences (FACTS 8 to 33) and the places where the holder is better than what was measured.

use super::*;
use crate::actor::Effect;
use crate::coordination::test_jobs::job;

struct Bench {
    holder: OperatorCoordinatorHolder,
    out: Outbox,
    signals: Vec<HolderSignal>,
}

const TASK_MANAGER: ProcessAddress =
    ProcessAddress { process: ProcessId::TaskManager(0), incarnation: Incarnation(1) };

fn chk(id: u64) -> CheckpointId {
    CheckpointId(id)
}

fn attempt(subtask: u32, attempt: u32) -> ExecutionAttemptId {
    ExecutionAttemptId {
        vertex: OperatorUid(0),
        subtask: SubtaskIndex(subtask),
        attempt: AttemptNumber(attempt),
    }
}

impl Bench {
    /// Two subtasks, started, both ready.
    fn new(defects: DefectSet) -> Self {
        Self::of(job(2, defects))
    }

    fn of(job: crate::config::JobConfig) -> Self {
        let mut holder = OperatorCoordinatorHolder::new(&job.into(), OperatorUid(0), LeaderEpoch(1));
        let mut out = Outbox::new();
        holder.start(None, &mut out);
        holder.execution_attempt_ready(attempt(0, 0), TASK_MANAGER, &mut out);
        holder.execution_attempt_ready(attempt(1, 0), TASK_MANAGER, &mut out);
        let _ = out.drain();
        Self { holder, out, signals: Vec::new() }
    }

    fn hear(&mut self, message: CoordinatorToMain) {
        self.holder.on_coordinator_message(self.holder.generation, message, &mut self.out, &mut self.signals);
    }

    fn send(&mut self, subtask: u32) {
        self.send_event(subtask, OperatorEvent::NoMoreSplits);
    }

    fn send_event(&mut self, subtask: u32, event: OperatorEvent) {
        self.hear(CoordinatorToMain::SendEvent { attempt: attempt(subtask, 0), event });
    }

    fn snapshot(&mut self, checkpoint: u64) {
        self.hear(CoordinatorToMain::CheckpointResult { checkpoint: chk(checkpoint), state: Ok(vec![7]) });
    }

    fn deliver(&mut self, id: u64, outcome: DeliveryOutcome) {
        self.holder.on_delivery(DeliveryToken(id), outcome, &mut self.out, &mut self.signals);
    }

    fn trigger_and_close(&mut self, checkpoint: u64) {
        self.holder.checkpoint(chk(checkpoint), &mut self.out).expect("rises");
        self.snapshot(checkpoint);
    }

    /// What was said since the last look, in short: `>id` sent, `#id` blocked, `^n` opened, `=` mail.
    fn said(&mut self) -> Vec<String> {
        let outputs: Vec<_> = self.out.drain().collect();
        let said = outputs.into_iter().map(|output| match (output.event, output.effect) {
            (
                Some(EventKind::OperatorEventReleased { id, attempt, .. }),
                Some(Effect::Send { to, stream, token, .. }),
            ) => {
                assert_eq!((to, stream), (TASK_MANAGER, Stream::OperatorEvents(attempt)));
                assert_eq!(token, Some(DeliveryToken(id.0)));
                format!(">{}", id.0)
            }
            (Some(EventKind::OperatorEventBlocked { id, checkpoint, .. }), None) => {
                format!("#{}@{}", id.0, checkpoint.0)
            }
            (Some(EventKind::GatewayOpened { attempt, released, .. }), None) => {
                format!("^{}:{released}", attempt.subtask.0)
            }
            (Some(EventKind::GatewaysMarked { .. }), None) => "marked".to_owned(),
            (Some(EventKind::GatewaysClosed { .. }), None) => "closed".to_owned(),
            (Some(EventKind::OperatorEventLost { id, .. }), None) => format!("lost {}", id.0),
            (None, Some(Effect::Mail { mail: Mail::Coordinator(mail), .. })) => match mail {
                CoordinatorMail::Checkpoint(_) => "=checkpoint".to_owned(),
                CoordinatorMail::NotifyCheckpointComplete(_) => "=complete".to_owned(),
                CoordinatorMail::NotifyCheckpointAborted(_) => "=aborted".to_owned(),
                CoordinatorMail::SubtaskReset { .. } => "=reset".to_owned(),
                CoordinatorMail::FromReader { attempt, .. } => format!("=from {}", attempt.attempt.0),
                other => format!("={other:?}")
                    .chars()
                    .take_while(|letter| letter.is_alphabetic() || *letter == '=')
                    .collect(),
            },
            (
                None,
                Some(Effect::Mail { mail: Mail::Main(MainMail::FromCoordinator { message, .. }), .. }),
            ) => {
                self.holder.on_coordinator_message(
                    self.holder.generation,
                    message,
                    &mut Outbox::new(),
                    &mut self.signals,
                );
                "=self".to_owned()
            }
            (event, effect) => panic!("unexpected {event:?} {effect:?}"),
        });
        said.collect()
    }

    /// The signals since the last look, in short.
    fn signalled(&mut self) -> Vec<String> {
        let signals = self.signals.drain(..).map(|signal| match signal {
            HolderSignal::CheckpointCompleted { checkpoint, state, .. } => {
                assert_eq!(state, [7]);
                format!("complete {}", checkpoint.0)
            }
            HolderSignal::CheckpointFailed { checkpoint, .. } => format!("failed {}", checkpoint.0),
            HolderSignal::FailSubtask { attempt, .. } => format!("failover {}", attempt.subtask.0),
            HolderSignal::FailJob { .. } => "fail job".to_owned(),
            HolderSignal::EndProcess { .. } => "end process".to_owned(),
        });
        signals.collect()
    }
}

fn honest() -> Bench {
    Bench::new(DefectSet::NONE)
}

#[test]
fn facts_9_to_12_events_before_the_close_go_out_and_each_acknowledgement_opens_one_gateway() {
    let mut bench = honest();
    bench.holder.checkpoint(chk(1), &mut bench.out).expect("seen");
    bench.send(0);
    assert_eq!(bench.said(), ["marked", "=checkpoint", ">0"]);
    bench.snapshot(1);
    bench.send(0);
    bench.send(1);
    assert_eq!(bench.said(), ["closed", "#1@1", "#2@1"]);
    assert_eq!(bench.signalled(), [""; 0], "event 0 is not confirmed");
    bench.deliver(0, DeliveryOutcome::Delivered);
    assert_eq!(bench.signalled(), ["complete 1"]);
    bench.holder.acknowledge_checkpoint(chk(1), attempt(0, 0), &mut bench.out).expect("seen");
    assert_eq!(bench.said(), ["^0:1", ">1"]);
    bench.holder.notify_checkpoint_complete(chk(1), &mut bench.out).expect("seen");
    assert_eq!(bench.said(), ["^1:1", ">2", "=complete"]);
    assert_eq!(bench.holder.blocked_event_count(), 0);
}

#[test]
fn a_full_gateway_fails_every_checkpoint_that_it_waits_behind() {
    let mut job = job(2, DefectSet::NONE);
    job.checkpointing.as_mut().expect("it has checkpoints").blocked_events_max = Some(2);
    let mut bench = Bench::of(job);
    bench.trigger_and_close(1);
    bench.send(0);
    bench.send(1);
    assert_eq!(bench.signalled(), ["complete 1"], "each gateway keeps one back");
    bench.trigger_and_close(2);
    bench.send(1);
    assert_eq!(bench.signalled(), ["failed 1", "failed 2"]);
    let _ = bench.said();
    for checkpoint in [1, 2] {
        bench.holder.notify_checkpoint_aborted(chk(checkpoint), &mut bench.out).expect("seen");
    }
    assert_eq!(bench.said(), ["^0:1", ">0", "^1:1", ">1", "=aborted", "^0:0", "^1:1", ">2", "=aborted"]);
    assert_eq!(bench.holder.blocked_event_count(), 0);
}

#[test]
fn fact_12_an_abort_opens_all_gateways_before_the_coordinator_hears() {
    let mut bench = honest();
    bench.trigger_and_close(1);
    bench.send(1);
    let _ = bench.said();
    bench.holder.notify_checkpoint_aborted(chk(1), &mut bench.out).expect("seen");
    assert_eq!(bench.said(), ["^0:0", "^1:1", ">0", "=aborted"]);
}

#[test]
fn fact_15_a_regressing_checkpoint_fails_itself_and_the_job_and_asks_nobody() {
    let mut bench = honest();
    bench.trigger_and_close(2);
    bench.holder.notify_checkpoint_complete(chk(2), &mut bench.out).expect("seen");
    let _ = (bench.said(), bench.signalled());
    let error = bench.holder.checkpoint(chk(2), &mut bench.out).expect_err("it does not rise");
    assert_eq!(error, RegressingCheckpoint { latest: chk(2), checkpoint: chk(2) });
    assert_eq!(bench.said(), [""; 0]);
}

#[test]
fn fact_16_an_abort_before_the_snapshot_leaves_nothing_closed() {
    let mut bench = honest();
    bench.holder.checkpoint(chk(1), &mut bench.out).expect("seen");
    bench.holder.notify_checkpoint_aborted(chk(1), &mut bench.out).expect("seen");
    bench.snapshot(1);
    bench.send(0);
    assert_eq!(bench.said(), ["marked", "=checkpoint", "=aborted", ">0"]);
    assert_eq!(bench.signalled(), ["failed 1"], "nobody waits for it any more");
}

#[test]
fn fact_18_a_checkpoint_waits_for_events_behind_an_older_one() {
    let mut bench = honest();
    bench.trigger_and_close(1);
    bench.send(0);
    bench.trigger_and_close(2);
    assert_eq!(bench.signalled(), ["complete 1"]);
    bench.holder.acknowledge_checkpoint(chk(1), attempt(0, 0), &mut bench.out).expect("seen");
    assert!(bench.said().ends_with(&["^0:1".to_owned(), ">0".to_owned()]));
    bench.deliver(0, DeliveryOutcome::Delivered);
    assert_eq!(bench.signalled(), ["complete 2"]);
}

#[test]
fn facts_19_to_21_a_lost_event_fails_its_subtask_then_the_checkpoint_and_gateways_stay_closed() {
    for outcome in [DeliveryOutcome::NotDelivered, DeliveryOutcome::Unknown] {
        let mut bench = honest();
        bench.send(0);
        bench.trigger_and_close(1);
        bench.deliver(0, outcome);
        assert_eq!(bench.signalled(), ["failover 0", "failed 1"]);
        bench.send(1);
        assert_eq!(bench.said(), [">0", "marked", "=checkpoint", "closed", "lost 0", "#1@1"]);
        bench.holder.notify_checkpoint_aborted(chk(1), &mut bench.out).expect("seen");
        assert_eq!(bench.said(), ["^0:0", "^1:1", ">1", "=aborted"]);
    }
}

#[test]
fn fact_19_an_announcement_may_miss_an_execution_that_has_ended_and_not_get_lost_on_the_way() {
    let outcomes = [(DeliveryOutcome::NotDelivered, false), (DeliveryOutcome::Unknown, true)];
    for (outcome, fails_over) in outcomes {
        let mut bench = honest();
        bench.send_event(0, OperatorEvent::WatermarkAlignment { allowed_ms: 7 });
        bench.trigger_and_close(1);
        bench.deliver(0, outcome);
        let signals: &[&str] = if fails_over { &["failover 0", "failed 1"] } else { &["failed 1"] };
        assert_eq!(bench.signalled(), signals, "{outcome:?}");
    }
}

#[test]
fn beyond_fact_22_each_checkpoint_waits_for_what_was_under_way_at_its_close() {
    let mut bench = honest();
    bench.send(0);
    bench.trigger_and_close(1);
    bench.holder.notify_checkpoint_aborted(chk(1), &mut bench.out).expect("seen");
    bench.trigger_and_close(2);
    assert_eq!(bench.signalled(), [""; 0], "the barrier of 2 might overtake event 0");
    bench.deliver(0, DeliveryOutcome::Delivered);
    assert_eq!(bench.signalled(), ["complete 1", "complete 2"]);
}

#[test]
fn fact_23_a_failed_snapshot_fails_the_checkpoint_and_closes_nothing() {
    let mut bench = honest();
    bench.holder.checkpoint(chk(1), &mut bench.out).expect("seen");
    bench.hear(CoordinatorToMain::CheckpointResult {
        checkpoint: chk(1),
        state: Err(CoordinatorError::NotStarted),
    });
    bench.send(0);
    assert_eq!(bench.said(), ["marked", "=checkpoint", ">0"]);
    assert_eq!(bench.signalled(), ["failed 1"]);
}

#[test]
fn beyond_fact_25_a_reset_forgets_blocked_events_and_the_next_checkpoint_does_not_wait_for_them() {
    let mut bench = honest();
    bench.trigger_and_close(1);
    bench.send(0);
    let _ = (bench.said(), bench.signalled());
    bench.holder.subtask_reset(attempt(0, 0).subtask_id(), AttemptNumber(1), None, &mut bench.out);
    bench.holder.execution_attempt_ready(attempt(0, 1), TASK_MANAGER, &mut bench.out);
    bench.holder.notify_checkpoint_aborted(chk(1), &mut bench.out).expect("seen");
    assert_eq!(bench.said(), ["=reset", "=ExecutionAttemptReady", "^1:0", "=aborted"]);
    bench.trigger_and_close(2);
    assert_eq!(bench.signalled(), ["complete 2"]);
}

#[test]
fn beyond_fact_25_a_reset_fails_the_checkpoint_that_waits_for_the_old_execution() {
    let mut bench = honest();
    bench.send(0);
    bench.trigger_and_close(1);
    let _ = bench.said();
    bench.holder.subtask_reset(attempt(0, 0).subtask_id(), AttemptNumber(1), None, &mut bench.out);
    assert_eq!(bench.said(), ["=self", "=reset"]);
    assert_eq!(bench.signalled(), ["failed 1"]);
    bench.deliver(0, DeliveryOutcome::NotDelivered);
    assert_eq!(bench.signalled(), [""; 0], "the outcome no longer matters");
}

#[test]
fn beyond_fact_26_a_reset_between_mark_and_close_fails_the_checkpoint_and_closes_no_gateway() {
    let mut bench = honest();
    bench.holder.checkpoint(chk(1), &mut bench.out).expect("seen");
    bench.holder.subtask_reset(attempt(0, 0).subtask_id(), AttemptNumber(1), None, &mut bench.out);
    bench.holder.execution_attempt_ready(attempt(0, 1), TASK_MANAGER, &mut bench.out);
    bench.snapshot(1);
    assert_eq!(bench.signalled(), ["failed 1"]);
    bench.send(1);
    assert!(bench.said().contains(&">0".to_owned()));
}

#[test]
fn beyond_fact_27_complete_and_acknowledgement_pass_over_a_newer_gateway() {
    let mut bench = honest();
    bench.trigger_and_close(1);
    bench.holder.subtask_reset(attempt(0, 0).subtask_id(), AttemptNumber(1), None, &mut bench.out);
    bench.holder.execution_attempt_ready(attempt(0, 1), TASK_MANAGER, &mut bench.out);
    let _ = bench.said();
    bench.holder.acknowledge_checkpoint(chk(1), attempt(0, 0), &mut bench.out).expect("seen");
    bench.holder.notify_checkpoint_complete(chk(1), &mut bench.out).expect("seen");
    assert_eq!(bench.said(), ["^1:0", "=complete"]);
}

#[test]
fn fact_29_abort_then_reset_sends_to_the_dead_execution_and_its_loss_is_no_failover() {
    let mut bench = honest();
    bench.trigger_and_close(1);
    bench.send(0);
    let _ = (bench.said(), bench.signalled());
    bench.holder.notify_checkpoint_aborted(chk(1), &mut bench.out).expect("seen");
    bench.holder.execution_attempt_failed(attempt(0, 0), None, &mut bench.out);
    assert_eq!(bench.said(), ["^0:1", ">0", "^1:0", "=aborted", "=ExecutionAttemptFailed"]);
    bench.deliver(0, DeliveryOutcome::NotDelivered);
    assert_eq!(bench.signalled(), [""; 0]);
}

#[test]
fn fact_31_fail_job_acts_once_until_the_next_reset_and_an_older_generation_is_not_heard() {
    let mut bench = honest();
    for _ in 0..2 {
        bench.hear(CoordinatorToMain::FailJob { cause: CoordinatorError::NotStarted });
    }
    assert_eq!(bench.signalled(), ["fail job"]);
    bench.holder.reset_to_checkpoint(&[AttemptNumber(1); 2], None, &mut bench.out);
    let old = CoordinatorToMain::FailJob { cause: CoordinatorError::NotStarted };
    bench.holder.on_coordinator_message(1, old, &mut bench.out, &mut bench.signals);
    assert_eq!(bench.signalled(), [""; 0]);
    bench.hear(CoordinatorToMain::FailJob { cause: CoordinatorError::NotStarted });
    assert_eq!(bench.signalled(), ["fail job"]);
}

#[test]
fn fact_50_lower_checkpoints_are_fine_after_a_global_reset() {
    let mut bench = honest();
    bench.trigger_and_close(5);
    bench.holder.reset_to_checkpoint(&[AttemptNumber(1); 2], None, &mut bench.out);
    bench.holder.execution_attempt_ready(attempt(0, 1), TASK_MANAGER, &mut bench.out);
    let _ = (bench.said(), bench.signalled());
    bench.trigger_and_close(3);
    assert_eq!(bench.signalled(), ["complete 3"]);
}

#[test]
fn a_finished_execution_gets_nothing_and_its_losses_fail_only_the_checkpoint() {
    let mut bench = honest();
    bench.send(0);
    bench.trigger_and_close(1);
    bench.holder.execution_attempt_finished(attempt(0, 0));
    bench.send(0);
    bench.deliver(0, DeliveryOutcome::NotDelivered);
    assert_eq!(bench.said(), [">0", "marked", "=checkpoint", "closed"]);
    assert_eq!(bench.signalled(), ["failed 1"]);
}

#[test]
fn an_event_blocked_for_an_execution_that_then_finishes_fails_whoever_waits_for_it() {
    let mut bench = honest();
    bench.trigger_and_close(1);
    bench.send(0);
    bench.trigger_and_close(2);
    bench.holder.execution_attempt_finished(attempt(0, 0));
    let _ = (bench.said(), bench.signalled());
    bench.holder.notify_checkpoint_complete(chk(1), &mut bench.out).expect("seen");
    assert_eq!(bench.said(), ["=self", "^0:0", "^1:0", "=complete"]);
    assert_eq!(bench.signalled(), ["failed 2"]);
}

#[test]
fn facts_19_and_46_a_split_for_a_task_that_has_finished_fails_the_job_and_is_lost_in_flink() {
    let flink = DefectSet::NONE.with(Defect::SplitToFinishedTaskLost);
    for (defects, failed) in [(DefectSet::NONE, vec!["fail job"]), (flink, vec![])] {
        let assign = || CoordinatorToMain::SendEvent {
            attempt: attempt(0, 0),
            event: OperatorEvent::AddSplits(Vec::new()),
        };
        // It is found out when the task has finished before the assignment ...
        let mut bench = Bench::new(defects);
        bench.holder.execution_attempt_finished(attempt(0, 0));
        bench.hear(assign());
        bench.said();
        assert_eq!(bench.signalled(), failed, "at once");
        // ... while the event is under way ...
        let mut bench = Bench::new(defects);
        bench.hear(assign());
        bench.holder.execution_attempt_finished(attempt(0, 0));
        bench.deliver(0, DeliveryOutcome::NotDelivered);
        bench.said();
        assert_eq!(bench.signalled(), failed, "not delivered");
        // ... or while the event is blocked.
        let mut bench = Bench::new(defects);
        bench.trigger_and_close(1);
        bench.hear(assign());
        bench.holder.execution_attempt_finished(attempt(0, 0));
        let _ = (bench.said(), bench.signalled());
        bench.holder.notify_checkpoint_complete(chk(1), &mut bench.out).expect("seen");
        bench.said();
        assert_eq!(bench.signalled(), failed, "opened in vain");
    }
}

#[test]
fn events_of_older_executions_are_dropped_and_they_never_get_a_gateway_again() {
    let mut bench = honest();
    bench.holder.subtask_reset(attempt(0, 0).subtask_id(), AttemptNumber(1), None, &mut bench.out);
    bench.holder.execution_attempt_ready(attempt(0, 0), TASK_MANAGER, &mut bench.out);
    bench.send(0);
    assert_eq!(bench.said(), ["=reset"]);
    bench.holder.execution_attempt_ready(attempt(0, 1), TASK_MANAGER, &mut bench.out);
    bench.holder.execution_attempt_ready(attempt(0, 1), TASK_MANAGER, &mut bench.out);
    bench.holder.handle_event_from_operator(attempt(0, 1), ReaderEvent::RequestSplit, &mut bench.out);
    assert_eq!(bench.said(), ["=ExecutionAttemptReady", "=from 1"]);
}

#[test]
fn tokens_name_their_operator() {
    let holder =
        OperatorCoordinatorHolder::new(&job(1, DefectSet::NONE).into(), OperatorUid(9), LeaderEpoch(1));
    assert!(holder.owns_token(DeliveryToken(9 << 40 | 5)));
    assert!(!holder.owns_token(DeliveryToken(5)));
}

#[test]
fn each_planted_defect_changes_what_it_says() {
    let never_closes = DefectSet::NONE.with(Defect::GatewayNeverCloses);
    let mut bench = Bench::new(never_closes);
    bench.trigger_and_close(1);
    bench.send(0);
    assert_eq!(bench.said(), ["marked", "=checkpoint", "closed", ">0"]);

    let mut bench = Bench::new(DefectSet::NONE.with(Defect::GatewayOpensAtInjection));
    bench.trigger_and_close(1);
    let _ = bench.said();
    bench.holder.barriers_injected(chk(1), &mut bench.out);
    assert_eq!(bench.said(), ["^0:0", "^1:0"]);

    let mut bench = Bench::new(DefectSet::NONE.with(Defect::GatewayStaysClosedOnAbort));
    bench.trigger_and_close(1);
    let _ = bench.said();
    bench.holder.notify_checkpoint_aborted(chk(1), &mut bench.out).expect("seen");
    bench.send(0);
    assert_eq!(bench.said(), ["=aborted", "#0@1"]);

    let mut bench = Bench::new(DefectSet::NONE.with(Defect::EventLossIgnored));
    bench.send(0);
    bench.trigger_and_close(1);
    bench.deliver(0, DeliveryOutcome::NotDelivered);
    assert_eq!(bench.signalled(), ["complete 1"]);

    let mut bench = honest();
    bench.holder.barriers_injected(chk(1), &mut bench.out);
    assert_eq!(bench.said(), [""; 0]);
}

#[test]
fn each_quirk_is_what_was_measured() {
    // FACT 22: the second checkpoint does not wait for what the first one waits for.
    let mut bench = Bench::new(DefectSet::NONE.with(Defect::EventAwaitedOnce));
    bench.send(0);
    bench.trigger_and_close(1);
    bench.trigger_and_close(2);
    assert_eq!(bench.signalled(), ["complete 2"]);
    bench.deliver(0, DeliveryOutcome::Delivered);
    assert_eq!(bench.signalled(), ["complete 1"]);

    // FACT 25: the next checkpoint waits for what a dead gateway blocks.
    let mut bench = Bench::new(DefectSet::NONE.with(Defect::OldGatewayOutlivesReset));
    bench.trigger_and_close(1);
    bench.send(0);
    bench.holder.subtask_reset(attempt(0, 0).subtask_id(), AttemptNumber(1), None, &mut bench.out);
    bench.trigger_and_close(2);
    assert_eq!(bench.signalled(), ["complete 1"]);

    // FACT 26.
    let mut bench = Bench::new(DefectSet::NONE.with(Defect::ResetBeforeCloseEndsProcess));
    bench.holder.checkpoint(chk(1), &mut bench.out).expect("rises");
    bench.holder.subtask_reset(attempt(0, 0).subtask_id(), AttemptNumber(1), None, &mut bench.out);
    bench.snapshot(1);
    assert_eq!(bench.signalled(), ["end process"]);

    // FACT 27: the gateway before the one that never saw it is open, and the coordinator hears nothing.
    let mut bench = Bench::new(DefectSet::NONE.with(Defect::UnseenCheckpointThrows));
    bench.trigger_and_close(1);
    bench.holder.subtask_reset(attempt(1, 0).subtask_id(), AttemptNumber(1), None, &mut bench.out);
    let _ = bench.said();
    assert!(bench.holder.notify_checkpoint_complete(chk(1), &mut bench.out).is_err());
    assert_eq!(bench.said(), ["^0:0"]);

    // FACT 30: what is blocked goes out to the execution that is over.
    let mut bench = Bench::new(DefectSet::NONE.with(Defect::DeadExecutionsAreSent));
    bench.trigger_and_close(1);
    bench.send(0);
    let _ = bench.said();
    bench.holder.reset_to_checkpoint(&[AttemptNumber(1); 2], None, &mut bench.out);
    assert_eq!(bench.said(), [">0", "=Start"]);
}
