//! S1: in every completed checkpoint or savepoint each split that was discovered as of the enumerator's snapshot is
//! in exactly one place, and at most one current execution reads it.
//!
//! The places are the enumerator's state, one reader's state, and the finished history of one subtask. A split in state
//! at its end position is held, not finished.

use crate::checker::{Checker, Docket, RunSetup};
use crate::code::Code;
use crate::discovery::Discovery;
use crate::finished_history::{FinishedHistory, FinishedSplits};
use crate::kinds::{Kind, KindSet};
use crate::split_holders::SplitHolders;
use crate::table::{Table, Workspace};
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{CheckpointContents, Event, EventKind, Header};
use splitrace_runtime::ids::{CheckpointId, SplitId, SubtaskId};

/// The split census.
#[derive(Clone, Debug, Hash)]
pub struct SplitCensus {
    docket: Docket,
    discovery: Discovery,
    finished: FinishedHistory,
    holders: SplitHolders,
    places: Workspace<u32>,
}

impl SplitCensus {
    /// A census that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::S1),
            discovery: Discovery::default(),
            finished: FinishedHistory::default(),
            holders: SplitHolders::new(setup),
            places: Workspace::default(),
        }
    }

    fn count_completed(
        &mut self,
        checkpoint: CheckpointId,
        contents: &CheckpointContents,
        header: &Header,
    ) -> Result<(), Violation> {
        let Some(finished) = self.finished.complete(checkpoint, contents) else { return Ok(()) };
        count(&mut self.places.0, &self.discovery, checkpoint, contents, finished, header)?;
        self.docket.judged();
        Ok(())
    }

    fn count_savepoint(
        &mut self,
        savepoint: CheckpointId,
        contents: &CheckpointContents,
        header: &Header,
    ) -> Result<(), Violation> {
        let Some(finished) = self.finished.as_of(savepoint, contents) else { return Ok(()) };
        count(&mut self.places.0, &self.discovery, savepoint, contents, &finished, header)?;
        self.docket.judged();
        Ok(())
    }
}

fn count(
    places: &mut Table<u32>,
    discovery: &Discovery,
    checkpoint: CheckpointId,
    contents: &CheckpointContents,
    finished: &[(SubtaskId, FinishedSplits)],
    header: &Header,
) -> Result<(), Violation> {
    places.reset();
    let in_state = contents.enumerators.iter().chain(contents.readers.iter().map(|(_, split)| split));
    for split in in_state {
        *places.split_mut(split.split) += 1;
    }
    for split in finished.iter().flat_map(|(_, splits)| splits.iter()) {
        *places.split_mut(*split) += 1;
    }
    for split in discovery.as_of(checkpoint).map(|position| position.split) {
        if places.split(split).copied().unwrap_or_default() != 1 {
            let sentence = format!("in {checkpoint} {}", describe(split, contents, finished));
            return Err(Violation::new(Code::S1, Subject::Split(split), header, sentence));
        }
    }
    Ok(())
}

/// Where a split is, for the reader of a report.
fn describe(
    split: SplitId,
    contents: &CheckpointContents,
    finished: &[(SubtaskId, FinishedSplits)],
) -> String {
    let mut places = Vec::new();
    for _ in contents.enumerators.iter().filter(|held| held.split == split) {
        places.push("the enumerator's state".to_owned());
    }
    for (subtask, held) in contents.readers.iter().filter(|(_, held)| held.split == split) {
        places.push(format!("the reader state of {subtask} at {}", held.position));
    }
    for (subtask, _) in finished.iter().filter(|(_, splits)| splits.binary_search(&split).is_ok()) {
        places.push(format!("the finished splits of {subtask}"));
    }
    if places.is_empty() {
        format!("{split} is in no state and nobody has finished it")
    } else {
        format!("{split} is in {} places: {}", places.len(), places.join(", "))
    }
}

impl Checker for SplitCensus {
    const CODE: Code = Code::S1;
    const READS: KindSet = Discovery::READS
        .with(FinishedHistory::READS)
        .with(SplitHolders::READS)
        .with(KindSet::of(&[Kind::CheckpointCompleted, Kind::SavepointStored]));

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        self.discovery.observe(event);
        self.finished.observe(event);
        self.holders.observe(event)?;
        match &event.kind {
            EventKind::CheckpointCompleted { checkpoint, contents } => {
                self.count_completed(*checkpoint, contents, &event.header)
            }
            EventKind::SavepointStored { checkpoint, contents } => {
                self.count_savepoint(*checkpoint, contents, &event.header)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "s1_split_census_tests.rs"]
mod tests;
