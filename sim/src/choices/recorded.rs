//! Choices written down: the few that differ from the benign default, each under its label and visit.

use super::{Choices, Draw, Label};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// One choice that was not 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RecordedChoice {
    /// What was decided, about whom.
    pub label: Label,
    /// For the how-manieth time, from 0.
    pub visit: u32,
    /// What was chosen.
    pub value: u64,
}

/// A whole run's choices. Those that are absent are 0, so any subset is a legal run too.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RecordedChoices {
    /// The choices that differ from the default, in the order in which they were made.
    pub deviations: Vec<RecordedChoice>,
}

/// Plays a recording.
#[derive(Clone, Debug)]
pub struct Replayer {
    values: FxHashMap<(Label, u32), u64>,
    visits: FxHashMap<Label, u32>,
}

impl Replayer {
    /// Plays these choices.
    #[must_use]
    pub fn new(recorded: &RecordedChoices) -> Self {
        let values = recorded.deviations.iter().map(|choice| ((choice.label, choice.visit), choice.value));
        Self { values: values.collect(), visits: FxHashMap::default() }
    }
}

impl Choices for Replayer {
    fn choose(&mut self, label: Label, draw: Draw) -> u64 {
        let visits = self.visits.entry(label).or_insert(0);
        let visit = *visits;
        *visits += 1;
        self.values.get(&(label, visit)).map_or(0, |value| draw.clamp(*value))
    }
}

/// Writes down what another source chooses.
#[derive(Clone, Debug)]
pub struct Recorder<C> {
    inner: C,
    visits: FxHashMap<Label, u32>,
    recorded: RecordedChoices,
}

impl<C: Choices> Recorder<C> {
    /// Records `inner`.
    pub fn new(inner: C) -> Self {
        Self { inner, visits: FxHashMap::default(), recorded: RecordedChoices::default() }
    }

    /// What was chosen so far.
    pub fn into_recorded(self) -> RecordedChoices {
        self.recorded
    }
}

impl<C: Choices> Choices for Recorder<C> {
    fn choose(&mut self, label: Label, draw: Draw) -> u64 {
        let value = self.inner.choose(label, draw);
        let visits = self.visits.entry(label).or_insert(0);
        if value != 0 {
            self.recorded.deviations.push(RecordedChoice { label, visit: *visits, value });
        }
        *visits += 1;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{ChoiceKind, SeedChoices, Subject};

    #[test]
    fn a_recording_replays_and_is_benign_beyond_its_end() {
        let labels = [
            Label::new(ChoiceKind::Latency, Subject::World),
            Label::new(ChoiceKind::FaultTime, Subject::Number(3)),
        ];
        let mut recorder = Recorder::new(SeedChoices::new(11));
        let draw = Draw::Odds { numerator: 1, denominator: 2, max: 50 };
        let values: Vec<u64> = (0..60).map(|index| recorder.choose(labels[index % 2], draw)).collect();
        let recorded = recorder.into_recorded();
        assert!(recorded.deviations.len() > 10 && recorded.deviations.len() < 50);
        let mut replayer = Replayer::new(&recorded);
        let replayed: Vec<u64> = (0..60).map(|index| replayer.choose(labels[index % 2], draw)).collect();
        assert_eq!(values, replayed);
        assert_eq!(replayer.choose(labels[0], draw), 0);
    }
}
