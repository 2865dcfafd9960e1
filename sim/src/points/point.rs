//! A point with what it must be about.

use super::events::EventPoint;
use super::facts::{Fact, Facts};
use super::messages::MessagePoint;
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::ActorId;
use splitrace_runtime::message::Message;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What kind of point it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PointKind {
    /// An event happens.
    Event(EventPoint),
    /// A message is sent.
    Send(MessagePoint),
    /// The receiver's session answers a message.
    Answer(MessagePoint),
}

/// A point of the protocol: `checkpoint-complete checkpoint=5`, `send-add-splits subtask=1 nth=2`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Point {
    /// The kind.
    pub kind: PointKind,
    /// What it must be about, each fact at most once.
    pub facts: Vec<(Fact, u64)>,
    /// The how-manieth such point since the step before was reached, from 1.
    pub nth: u32,
}

/// What is wrong with the text of a plan.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct PointError(pub(super) String);

impl PointKind {
    /// Its name in plans.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Event(point) => point.name().to_owned(),
            Self::Send(point) => format!("send-{}", point.name()),
            Self::Answer(point) => format!("answer-{}", point.name()),
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if let Some(name) = name.strip_prefix("send-") {
            return MessagePoint::named(name).map(Self::Send);
        }
        if let Some(name) = name.strip_prefix("answer-") {
            return MessagePoint::named(name).map(Self::Answer);
        }
        EventPoint::named(name).map(Self::Event)
    }

    /// Whether something is sent there.
    #[must_use]
    pub const fn is_message(self) -> bool {
        !matches!(self, Self::Event(_))
    }
}

impl Point {
    /// The first event of a kind, whatever it is about.
    #[must_use]
    pub const fn event(point: EventPoint) -> Self {
        Self { kind: PointKind::Event(point), facts: Vec::new(), nth: 1 }
    }

    /// Whether an event of `actor` is such a point.
    #[must_use]
    pub fn is_event(&self, event: &EventKind, actor: ActorId) -> bool {
        let PointKind::Event(point) = self.kind else { return false };
        point.is(event) && self.agrees(&Facts::of_event(event, actor))
    }

    /// Whether a message is such a point, or its answer is.
    #[must_use]
    pub fn is_message(&self, message: &Message, answers: bool) -> bool {
        let point = match self.kind {
            PointKind::Send(point) if !answers => point,
            PointKind::Answer(point) if answers => point,
            _ => return false,
        };
        point.is(message) && self.agrees(&Facts::of_message(message))
    }

    fn agrees(&self, facts: &Facts) -> bool {
        self.facts.iter().all(|(fact, value)| facts.holds(*fact, *value))
    }
}

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.kind.name())?;
        for (fact, value) in &self.facts {
            write!(formatter, " {}={value}", fact.name())?;
        }
        if self.nth > 1 {
            write!(formatter, " nth={}", self.nth)?;
        }
        Ok(())
    }
}

impl FromStr for Point {
    type Err = PointError;

    fn from_str(text: &str) -> Result<Self, PointError> {
        let mut words = text.split_whitespace();
        let name = words.next().ok_or_else(|| PointError("a point has a name".to_owned()))?;
        let kind = PointKind::named(name).ok_or_else(|| {
            PointError(format!("there is no point '{name}'; `splitrace points` lists them"))
        })?;
        let mut point = Self { kind, facts: Vec::new(), nth: 1 };
        for word in words {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| PointError(format!("'{word}' in '{text}' is no FACT=NUMBER")))?;
            let number: u64 = value
                .parse()
                .map_err(|_| PointError(format!("'{value}' of '{key}' in '{text}' is no whole number")))?;
            if key == "nth" {
                point.nth = u32::try_from(number).ok().filter(|nth| *nth > 0).ok_or_else(|| {
                    PointError(format!("nth of '{text}' counts from 1 and fits in 32 bits"))
                })?;
                continue;
            }
            let fact = Fact::named(key).ok_or_else(|| {
                let known = Fact::ALL.map(Fact::name).join(", ");
                PointError(format!("there is no fact '{key}': a point may be asked for {known} and nth"))
            })?;
            if point.facts.iter().any(|(known, _)| *known == fact) {
                return Err(PointError(format!("'{key}' stands twice in '{text}'")));
            }
            point.facts.push((fact, number));
        }
        Ok(point)
    }
}
