//! R1: at every completed checkpoint every record below a split's restored position has exactly one carrier, and no
//! record at or above it has one.
//!
//! The carriers are the visible ledger, committables, writer state, buffers in channel state, and 'declared filtered'.
//! They are counted by identity: a committable whose transaction is visible already is that one carrier. A split in no
//! state counts as read to its end (whether it rightly is in none is S1's question). Filtering is a function of the
//! record, so a record that was declared filtered once is filtered in every history; a filtered record above the position
//! proves nothing.
//!
//! Whether an older commit becomes visible before or after the completion of N cannot change the verdict: until the
//! committer has its answer, N still holds that committable.

use crate::checker::{Checker, Docket, RunSetup};
use crate::code::Code;
use crate::discovery::Discovery;
use crate::kinds::{Kind, KindSet};
use crate::lineage::{Lineage, VisibleByName};
use crate::table::{Table, Workspace};
use crate::transaction_names::TransactionNames;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{CheckpointContents, Event, EventKind, Header};
use splitrace_runtime::ids::{CheckpointId, TransactionName};
use splitrace_runtime::records::{OffsetRange, RecordRanges, SplitPosition};

#[derive(Clone, Debug, Default, Hash)]
struct Split {
    /// Visible or filtered.
    accounted: RecordRanges,
    filtered: RecordRanges,
    /// Behind the last visible record.
    visible_end: u64,
}

/// The record census.
#[derive(Clone, Debug, Hash)]
pub struct RecordCensus {
    docket: Docket,
    discovery: Discovery,
    splits: Table<Split>,
    visible: TransactionNames,
    positions: Workspace<Held>,
    /// The latest completed checkpoint.
    latest: Option<CheckpointId>,
    lineage: Lineage,
    by_name: VisibleByName,
}

impl RecordCensus {
    /// A census that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::R1),
            discovery: Discovery::default(),
            splits: Table::default(),
            visible: TransactionNames::default(),
            positions: Workspace::default(),
            latest: None,
            lineage: Lineage::new(setup),
            by_name: VisibleByName::default(),
        }
    }

    /// An older checkpoint is restored: what only later ones made visible carries nothing of the new lineage.
    fn turn(&mut self) {
        self.visible = self.lineage.visible().clone();
        for split in self.splits.values_mut() {
            split.accounted = split.filtered.clone();
            split.visible_end = 0;
        }
        for range in self.by_name.covered(&self.lineage) {
            let split = self.splits.split_mut(range.split);
            split.accounted.insert(range);
            split.visible_end = split.visible_end.max(range.end);
        }
    }

    fn filter(&mut self, range: OffsetRange, header: &Header) -> Result<(), Violation> {
        let split = self.splits.split_mut(range.split);
        let known = split.filtered.insert(range);
        let accounted = split.accounted.insert(range);
        match accounted {
            Some(twice) if known.is_none() => {
                Err(violation(twice, header, format!("{twice} is declared filtered and visible")))
            }
            _ => Ok(()),
        }
    }

    fn show(
        &mut self,
        name: TransactionName,
        records: &RecordRanges,
        header: &Header,
    ) -> Result<(), Violation> {
        self.visible.insert(name);
        for range in records.ranges() {
            let split = self.splits.split_mut(range.split);
            if let Some(twice) = split.filtered.first_overlap(*range) {
                return Err(violation(
                    twice,
                    header,
                    format!("{twice} is declared filtered and visible in {name}"),
                ));
            }
            split.accounted.insert(*range);
            split.visible_end = split.visible_end.max(range.end);
        }
        Ok(())
    }

    fn count(
        &mut self,
        checkpoint: CheckpointId,
        contents: &CheckpointContents,
        header: &Header,
    ) -> Result<(), Violation> {
        let carried = self.carried(checkpoint, contents, header)?;
        place(&mut self.positions.0, contents);
        for start in self.discovery.as_of(checkpoint) {
            let held = self.positions.0.split(start.split).copied().unwrap_or_default();
            // Two positions are a matter of S1.
            if held.count > 1 {
                continue;
            }
            let position = if held.count == 1 { held.position } else { start.end };
            self.count_split(*start, position, &carried, checkpoint, header)?;
        }
        for range in carried.ranges() {
            if self.discovery.knows(checkpoint, range.split) == Some(false) {
                let sentence = format!("{checkpoint} carries {range}, of a split that it does not know");
                return Err(violation(*range, header, sentence));
            }
        }
        self.docket.judged();
        Ok(())
    }

    /// What the checkpoint itself carries, each record once.
    fn carried(
        &self,
        checkpoint: CheckpointId,
        contents: &CheckpointContents,
        header: &Header,
    ) -> Result<RecordRanges, Violation> {
        let committables = contents.committables.iter().filter(|(_, name, _)| !self.visible.contains(*name));
        let writers = contents.writers.iter().map(|(.., records)| records);
        let writers = writers.chain(contents.channels.iter().map(|(_, records)| records));
        let mut carried = RecordRanges::new();
        for records in committables.map(|(.., records)| records).chain(writers) {
            if let Some(twice) = carried.extend(records) {
                return Err(violation(twice, header, format!("{checkpoint} carries {twice} twice")));
            }
        }
        for range in carried.ranges() {
            let twice =
                self.splits.split(range.split).and_then(|split| split.accounted.first_overlap(*range));
            if let Some(twice) = twice {
                let sentence = format!("{checkpoint} carries {twice}, which is visible or filtered already");
                return Err(violation(twice, header, sentence));
            }
        }
        Ok(carried)
    }

    fn count_split(
        &self,
        start: SplitPosition,
        position: u64,
        carried: &RecordRanges,
        checkpoint: CheckpointId,
        header: &Header,
    ) -> Result<(), Violation> {
        debug_assert!(start.position <= start.end, "{start} must not end before it starts");
        let split = start.split;
        let nothing = Split::default();
        let accounts = self.splits.split(split).unwrap_or(&nothing);
        let below = OffsetRange { split, start: start.position, end: position };
        if let Some(missing) = first_uncarried(&accounts.accounted, carried, below) {
            let sentence =
                format!("{checkpoint} restores {split} at {position}, and nothing carries {missing}");
            return Err(violation(missing, header, sentence));
        }
        if let Some(above) = carried.first_overlap(OffsetRange { split, start: position, end: u64::MAX }) {
            let sentence =
                format!("{checkpoint} restores {split} at {position}, and carries {above} as well");
            return Err(violation(above, header, sentence));
        }
        if accounts.visible_end > position {
            let above = OffsetRange { split, start: position, end: accounts.visible_end };
            let sentence = format!(
                "{checkpoint} restores {split} at {position}, but {above} reaches into what is visible"
            );
            return Err(violation(above, header, sentence));
        }
        Ok(())
    }
}

fn violation(range: OffsetRange, header: &Header, sentence: String) -> Violation {
    Violation::new(Code::R1, Subject::Records(range), header, sentence)
}

/// Where a split is restored, and how many states say so.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    count: u32,
    position: u64,
}

fn place(positions: &mut Table<Held>, contents: &CheckpointContents) {
    positions.reset();
    for held in contents.enumerators.iter().chain(contents.readers.iter().map(|(_, held)| held)) {
        let entry = positions.split_mut(held.split);
        *entry = Held { count: entry.count + 1, position: held.position };
    }
}

/// The first part of `range` that is in neither set.
fn first_uncarried(
    accounted: &RecordRanges,
    carried: &RecordRanges,
    range: OffsetRange,
) -> Option<OffsetRange> {
    let mut rest = range;
    while let Some(gap) = accounted.first_gap(rest) {
        if let Some(missing) = carried.first_gap(gap) {
            return Some(missing);
        }
        debug_assert!(gap.end > rest.start, "each gap lies further on");
        rest.start = gap.end;
    }
    None
}

impl Checker for RecordCensus {
    const CODE: Code = Code::R1;
    const READS: KindSet = KindSet::of(&[
        Kind::RecordsFiltered,
        Kind::BecameVisible,
        Kind::CheckpointCompleted,
        Kind::SavepointStored,
    ])
    .with(Lineage::READS)
    .with(Discovery::READS);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        if self.lineage.observe(event) {
            self.turn();
        }
        match &event.kind {
            EventKind::RecordsFiltered { range } => self.filter(*range, &event.header),
            EventKind::BecameVisible { transaction, epoch, .. }
                if self.lineage.leaves_behind(*transaction, *epoch) =>
            {
                Ok(())
            }
            EventKind::BecameVisible { transaction, records, .. } => {
                self.by_name.add(&self.lineage, *transaction, records);
                self.show(*transaction, records, &event.header)
            }
            // What a savepoint leaves out may be visible once a later checkpoint has completed.
            EventKind::SavepointStored { checkpoint, .. } if self.latest > Some(*checkpoint) => Ok(()),
            EventKind::SavepointStored { checkpoint, contents } => {
                self.count(*checkpoint, contents, &event.header)
            }
            EventKind::CheckpointCompleted { checkpoint, contents } => {
                self.latest = self.latest.max(Some(*checkpoint));
                self.count(*checkpoint, contents, &event.header)
            }
            _ => {
                self.discovery.observe(event);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
#[path = "r1_record_census_tests.rs"]
mod tests;
