//! Plans: what is to break where, and how far a run has come with it.

use super::action::Action;
use super::place::Place;
use super::point::PointError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{ActorId, ProcessAddress};
use splitrace_runtime::message::{Message, Stream};
use splitrace_runtime::session::{Frame, FrameBody};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How many steps a plan may have.
pub const PLAN_STEPS_MAX: usize = 16;

/// One step of a plan: `PLACE do ACTION`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PlanStep {
    /// Where.
    pub place: Place,
    /// What.
    pub action: Action,
}

impl fmt::Display for PlanStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} do {}", self.place, self.action)
    }
}

impl FromStr for PlanStep {
    type Err = PointError;

    fn from_str(text: &str) -> Result<Self, PointError> {
        let (place, action) = text
            .split_once(" do ")
            .ok_or_else(|| PointError(format!("'{text}' is no step: write PLACE do ACTION")))?;
        let step = Self { place: place.parse()?, action: action.parse()? };
        let last = step.place.last();
        if last.kind.is_message() != step.action.is_of_message() {
            let (what, fits) = if last.kind.is_message() {
                ("a message", "drop, lose, double or delay")
            } else {
                ("an event", "none of drop, lose, double and delay")
            };
            let message = format!("the last point of '{place}' is {what}, to which {fits} may be done");
            return Err(PointError(message));
        }
        if last.kind.is_message() && step.place.before.is_none() {
            return Err(PointError(format!(
                "what befalls a message befalls it before(...) it is sent: '{place}'"
            )));
        }
        Ok(step)
    }
}

impl Serialize for PlanStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PlanStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What became of a step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepReport {
    /// The step.
    pub step: PlanStep,
    /// When its place was reached, in nanoseconds of virtual time; `None` for never.
    pub reached_at_ns: Option<u64>,
}

/// On which side of an event the world stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    /// It has not happened.
    Before,
    /// It was just told.
    Told,
}

/// How far a step has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct StepProgress {
    /// How many points of `after` lie behind.
    passed: usize,
    /// How often the next point was met since.
    met: u32,
    reached_at_ns: Option<u64>,
}

/// A message, however often it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct MessageKey {
    from: ProcessAddress,
    to: ProcessAddress,
    stream: Stream,
    generation: u32,
    sequence: u64,
}

/// How far a run has come with its plan. A run without a plan has none of this to look at.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct PlanProgress {
    steps: Vec<StepProgress>,
    /// Messages that some point of the plan is about and that were sent, and those of them that were answered.
    sent: Vec<(MessageKey, Arc<Message>)>,
    answered: Vec<MessageKey>,
    /// Never to arrive: messages, and answers to them.
    lost: Vec<(MessageKey, bool)>,
    /// Not to arrive before a time, however often they are sent.
    delayed: Vec<(MessageKey, bool, u64)>,
}

impl PlanProgress {
    pub fn new(plan: &[PlanStep]) -> Self {
        Self { steps: vec![StepProgress::default(); plan.len()], ..Self::default() }
    }

    /// Whether every step was reached, or there is none.
    pub fn is_over(&self) -> bool {
        self.steps.iter().all(|step| step.reached_at_ns.is_some())
    }

    /// Whether messages need not be looked at.
    pub fn knows_no_message(&self) -> bool {
        self.is_over() && self.lost.is_empty() && self.delayed.is_empty()
    }

    /// What is to break at an event of `actor`.
    pub fn event(
        &mut self,
        plan: &[PlanStep],
        moment: Moment,
        event: &EventKind,
        actor: ActorId,
        now_ns: u64,
    ) -> Vec<Action> {
        self.advance(plan, now_ns, |point, is_before| {
            is_before == (moment == Moment::Before) && point.is_event(event, actor)
        })
    }

    /// What is to befall a frame.
    pub fn frame(&mut self, plan: &[PlanStep], frame: &Frame, now_ns: u64) -> Option<Action> {
        let (key, answers) = key_of(frame)?;
        if self.lost.contains(&(key, answers)) {
            return Some(Action::Drop);
        }
        let delayed = self.delayed.iter().find(|(known, answer, _)| (*known, *answer) == (key, answers));
        if let Some((_, _, until_ns)) = delayed {
            return Some(Action::Delay { for_ns: until_ns.saturating_sub(now_ns) });
        }
        let message = match &frame.body {
            FrameBody::Data { message, .. }
                if is_looked_for(plan, message) && self.sent.iter().all(|(known, _)| *known != key) =>
            {
                self.sent.push((key, Arc::clone(message)));
                Arc::clone(message)
            }
            FrameBody::Ack { .. } if !self.answered.contains(&key) => {
                let message = self.sent.iter().find(|(known, _)| *known == key)?.1.clone();
                self.answered.push(key);
                message
            }
            _ => return None,
        };
        let actions = self.advance(plan, now_ns, |point, _| point.is_message(&message, answers));
        let action = actions.first().copied();
        match action {
            Some(Action::Lose) => self.lost.push((key, answers)),
            Some(Action::Delay { for_ns }) => self.delayed.push((key, answers, now_ns + for_ns)),
            _ => {}
        }
        action
    }

    /// Lets every step pass its next point if it is met; answers the actions of those that are at their place.
    fn advance(
        &mut self,
        plan: &[PlanStep],
        now_ns: u64,
        is_met: impl Fn(&super::Point, bool) -> bool,
    ) -> Vec<Action> {
        debug_assert_eq!(plan.len(), self.steps.len(), "each step has its progress");
        let mut actions = Vec::new();
        for (step, progress) in plan.iter().zip(&mut self.steps) {
            if progress.reached_at_ns.is_some() {
                continue;
            }
            let place = &step.place;
            let (point, is_before) = match (place.after.get(progress.passed), &place.before) {
                (Some(point), _) => (point, point.kind.is_message()),
                (None, Some(point)) => (point, true),
                (None, None) => unreachable!("a step without before is reached with its last after"),
            };
            if !is_met(point, is_before) {
                continue;
            }
            progress.met += 1;
            if progress.met < point.nth {
                continue;
            }
            progress.met = 0;
            progress.passed += 1;
            if progress.passed == place.after.len() + usize::from(place.before.is_some()) {
                progress.reached_at_ns = Some(now_ns);
                actions.push(step.action);
            }
        }
        actions
    }

    /// What became of each step.
    pub fn report(&self, plan: &[PlanStep]) -> Vec<StepReport> {
        let both = plan.iter().zip(&self.steps);
        both.map(|(step, progress)| StepReport { step: step.clone(), reached_at_ns: progress.reached_at_ns })
            .collect()
    }
}

/// Whether any point of the plan is this message or its answer.
fn is_looked_for(plan: &[PlanStep], message: &Message) -> bool {
    let points = plan.iter().flat_map(|step| step.place.after.iter().chain(&step.place.before));
    points.into_iter().any(|point| point.is_message(message, false) || point.is_message(message, true))
}

/// What a frame carries or answers, and whether it answers.
fn key_of(frame: &Frame) -> Option<(MessageKey, bool)> {
    let (from, to, generation, sequence, answers) = match frame.body {
        FrameBody::Data { generation, sequence, .. } => (frame.from, frame.to, generation, sequence, false),
        FrameBody::Ack { generation, sequence, .. } => (frame.to, frame.from, generation, sequence, true),
        FrameBody::Forgotten { .. } => return None,
    };
    Some((MessageKey { from, to, stream: frame.stream, generation, sequence }, answers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_as_it_is_written() {
        for text in [
            "after(checkpoint-complete checkpoint=5).before(commit) do fail-task",
            "before(answer-add-splits nth=2) do drop",
            "after(barrier checkpoint=3) do crash-task-manager 1",
        ] {
            assert_eq!(text.parse::<PlanStep>().map(|step| step.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (text, part) in [
            ("before(commit)", "write PLACE do ACTION"),
            ("before(commit) do drop", "is an event"),
            ("before(send-deploy) do fail-task", "is a message"),
            ("after(send-deploy) do drop", "before(...) it is sent"),
        ] {
            let error = text.parse::<PlanStep>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
