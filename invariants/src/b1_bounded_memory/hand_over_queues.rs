//! The hand-over queue between split fetchers and their reader: at most its capacity in the queue, and one batch in hand
//! per fetcher.
//!
//! It counts batches itself, from what fetchers and reader did; the number that an event carries is the role's own
//! opinion. All of it happens in one process, so sequence alone orders it. A task that has ended drops its queue, and
//! what its fetchers still do on their way out is of no interest.

use crate::checker::RunSetup;
use crate::code::Code;
use crate::violation::{Subject, Violation};
use splitrace_runtime::config::ReaderKind;
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{
    ActorId, ExecutionAttemptId, FetcherNumber, LeaderEpoch, OperatorUid, ProcessId,
};

/// The batches of one execution.
#[derive(Clone, Debug, Hash)]
struct Batches {
    process: ProcessId,
    epoch: LeaderEpoch,
    attempt: ExecutionAttemptId,
    queued: u32,
    in_hand: Vec<FetcherNumber>,
    ended: bool,
}

/// See the module.
#[derive(Clone, Debug, Hash)]
pub(super) struct HandOverQueues {
    /// The room in the queue of each vertex whose readers have fetchers.
    capacities: Vec<(OperatorUid, u32)>,
    executions: Vec<Batches>,
}

impl HandOverQueues {
    pub(super) fn new(setup: &RunSetup) -> Self {
        let capacities = setup.config.vertices.iter().filter_map(|vertex| match vertex.task.reader {
            ReaderKind::Fetchers(config) => Some((vertex.operator, config.queue_capacity)),
            ReaderKind::Direct | ReaderKind::Blocking => None,
        });
        Self { capacities: capacities.collect(), executions: Vec::new() }
    }

    /// Takes an event; answers whether there was something to judge.
    pub(super) fn read(&mut self, event: &Event) -> Result<bool, Violation> {
        match (&event.kind, event.header.actor) {
            (EventKind::ProcessCrashed { address }, _) => {
                self.executions.retain(|held| held.process != address.process);
            }
            (EventKind::ExecutionGone { attempt }, _) => {
                let process = event.header.process;
                self.executions.retain(|held| (held.process, held.attempt) != (process, *attempt));
            }
            (EventKind::TaskEnded { .. }, ActorId::Task(attempt)) if !self.capacities.is_empty() => {
                if let Some(batches) = self.batches(event, attempt) {
                    batches.ended = true;
                }
            }
            (EventKind::BatchTaken { .. }, ActorId::Task(attempt)) => {
                if let Some(batches) = self.batches(event, attempt) {
                    batches.queued = batches.queued.saturating_sub(1);
                }
            }
            (_, ActorId::Fetcher { task, fetcher }) => return self.read_of_fetcher(event, task, fetcher),
            _ => {}
        }
        Ok(false)
    }

    /// The batches of an execution; nothing once it has ended.
    fn batches(&mut self, event: &Event, attempt: ExecutionAttemptId) -> Option<&mut Batches> {
        let (process, epoch) = (event.header.process, event.header.leader_epoch);
        let same = |held: &Batches| (held.process, held.epoch, held.attempt) == (process, epoch, attempt);
        let at = match self.executions.iter().position(same) {
            Some(at) => at,
            None => {
                let new = Batches { process, epoch, attempt, queued: 0, in_hand: Vec::new(), ended: false };
                self.executions.push(new);
                self.executions.len() - 1
            }
        };
        Some(&mut self.executions[at]).filter(|batches| !batches.ended)
    }

    fn read_of_fetcher(
        &mut self,
        event: &Event,
        task: ExecutionAttemptId,
        fetcher: FetcherNumber,
    ) -> Result<bool, Violation> {
        let capacity =
            self.capacities.iter().find(|(vertex, _)| *vertex == task.vertex).map(|(_, room)| *room);
        let Some(batches) = self.batches(event, task) else { return Ok(false) };
        let held = batches.in_hand.contains(&fetcher);
        let broken =
            |sentence| Err(Violation::new(Code::B1, Subject::Attempt(task), &event.header, sentence));
        match event.kind {
            EventKind::BatchFetched { .. } if held => {
                return broken(format!("{fetcher} of {task} fetched a batch while it had one in hand"));
            }
            EventKind::BatchFetched { .. } => batches.in_hand.push(fetcher),
            EventKind::BatchHandedOver { .. } => {
                batches.in_hand.retain(|other| *other != fetcher);
                batches.queued += 1;
                let queued = batches.queued;
                let capacity = capacity.unwrap_or(0);
                if queued > capacity {
                    return broken(format!(
                        "the hand-over queue of {task} holds {queued} batches, and its bound is {capacity}"
                    ));
                }
                return Ok(true);
            }
            EventKind::FetcherEnded { .. } => batches.in_hand.retain(|other| *other != fetcher),
            _ => {}
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::BoundedMemory;
    use super::*;
    use crate::checker::Checker;
    use crate::testing::{History, attempt, setup};
    use splitrace_runtime::config::{FetcherConfig, FetcherThreading};
    use splitrace_runtime::message::ExecutionState;

    const FETCHED: EventKind = EventKind::BatchFetched { records: 1 };
    const HANDED_OVER: EventKind = EventKind::BatchHandedOver { queued: 0 };
    const TAKEN: EventKind = EventKind::BatchTaken { queued: 0 };

    /// What one execution's threads did: `Some` of a fetcher's, `None` of the task's.
    fn history(steps: &[(Option<u32>, EventKind)]) -> History {
        let mut history = History::new();
        for (fetcher, kind) in steps {
            let actor = match fetcher {
                Some(number) => ActorId::Fetcher { task: attempt(0, 0), fetcher: FetcherNumber(*number) },
                None => ActorId::Task(attempt(0, 0)),
            };
            history.push(ProcessId::TaskManager(0), actor, kind.clone());
        }
        history
    }

    fn judge(history: &History) -> Result<(), Violation> {
        let mut setup = setup();
        let config = FetcherConfig { threading: FetcherThreading::PerSplit, queue_capacity: 2 };
        setup.config.vertices[0].task.reader = ReaderKind::Fetchers(config);
        let mut checker = BoundedMemory::new(&setup);
        history.events().iter().try_for_each(|event| checker.observe(event))
    }

    /// Two batches in the queue, one in each hand.
    fn full() -> Vec<(Option<u32>, EventKind)> {
        let once = |fetcher| [(Some(fetcher), FETCHED), (Some(fetcher), HANDED_OVER)];
        [once(0).to_vec(), once(1).to_vec(), vec![(Some(0), FETCHED), (Some(1), FETCHED)]].concat()
    }

    #[test]
    fn a_full_queue_and_a_batch_in_each_hand_is_the_bound() {
        let mut steps = full();
        steps.extend([(None, TAKEN), (Some(1), HANDED_OVER), (None, TAKEN), (Some(0), HANDED_OVER)]);
        assert_eq!(judge(&history(&steps)), Ok(()));
    }

    #[test]
    fn one_more_in_the_queue_breaks_it() {
        let mut steps = full();
        steps.push((Some(1), HANDED_OVER));
        assert_eq!(
            judge(&history(&steps)).unwrap_err().to_string(),
            "B1 bounded memory: the hand-over queue of subtask 0 #0 holds 3 batches, and its bound is 2"
        );
    }

    #[test]
    fn one_more_in_a_hand_breaks_it() {
        let mut steps = full();
        steps.push((Some(0), FETCHED));
        let violation = judge(&history(&steps)).unwrap_err();
        assert_eq!((violation.code, violation.subject), (Code::B1, Subject::Attempt(attempt(0, 0))));
    }

    #[test]
    fn a_fetcher_that_ends_drops_what_it_had_in_hand() {
        let mut steps = full();
        steps.extend([(Some(0), EventKind::FetcherEnded { cause: None }), (Some(0), FETCHED)]);
        assert_eq!(judge(&history(&steps)), Ok(()));
    }

    #[test]
    fn a_task_that_ended_or_died_has_no_queue() {
        let ended = EventKind::TaskEnded { state: ExecutionState::Failed, cause: None };
        let mut steps = full();
        steps.extend([(None, ended), (Some(0), HANDED_OVER)]);
        assert_eq!(judge(&history(&steps)), Ok(()));
        let mut gone = history(&full());
        gone.push(
            ProcessId::TaskManager(0),
            ActorId::World,
            EventKind::ExecutionGone { attempt: attempt(0, 0) },
        );
        let fetcher = ActorId::Fetcher { task: attempt(0, 0), fetcher: FetcherNumber(0) };
        gone.push(ProcessId::TaskManager(0), fetcher, HANDED_OVER);
        assert_eq!(judge(&gone), Ok(()));
    }
}
