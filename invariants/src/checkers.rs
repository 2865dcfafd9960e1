//! All checkers of one run.
//!
//! An event goes only to the checkers that read its kind, by a table that is made of what they say they read: what
//! happens once per record costs a look into it and not a round through every checker. The split census comes first:
//! what it finds is the cause of what the others would find of the same event. So
//! does K1 before S4: a job without checkpoints does not end.

use crate::b1_bounded_memory::BoundedMemory;
use crate::c1_no_duplicates::NoDuplicates;
use crate::c2_no_loss::NoLoss;
use crate::c3_covered_before_visible::CoveredBeforeVisible;
use crate::c4_no_residue::NoResidue;
use crate::c5_freshness::Freshness;
use crate::checker::{Checker, Judgement, RunEnd, RunSetup};
use crate::code::Code;
use crate::k1_checkpoints_go_on::CheckpointsGoOn;
use crate::k2_identifiers::Identifiers;
use crate::kinds::{COUNT, Kind};
use crate::r1_record_census::RecordCensus;
use crate::s1_split_census::SplitCensus;
use crate::s2_event_order::EventOrder;
use crate::s3_no_zombie_acts::NoZombieActs;
use crate::s4_liveness::Liveness;
use crate::s5_order_inside_split::OrderInsideSplit;
use crate::violation::Violation;
use splitrace_runtime::event::Event;
use std::hash::Hasher;

/// Every checker that is built, D1 excepted: that one compares two runs.
#[derive(Clone, Debug)]
pub struct Checkers {
    /// A bit for each checker that judges.
    open: u16,
    s1: SplitCensus,
    s2: EventOrder,
    s3: NoZombieActs,
    k1: CheckpointsGoOn,
    s4: Liveness,
    r1: RecordCensus,
    k2: Identifiers,
    c1: NoDuplicates,
    c2: NoLoss,
    c3: CoveredBeforeVisible,
    b1: BoundedMemory,
    s5: OrderInsideSplit,
    c4: NoResidue,
    c5: Freshness,
}

/// Calls a macro with every checker: its field, its type, and its bit in [`READERS`]. The order is that in which they
/// are asked.
macro_rules! with_checkers {
    ($macro:ident!($($argument:tt)*)) => {
        $macro!($($argument)*; s1 SplitCensus 0, s2 EventOrder 1, s3 NoZombieActs 2, k1 CheckpointsGoOn 12,
            s4 Liveness 3, r1 RecordCensus 4, k2 Identifiers 5, c1 NoDuplicates 6, c2 NoLoss 7,
            c3 CoveredBeforeVisible 8, b1 BoundedMemory 9, s5 OrderInsideSplit 10, c4 NoResidue 11,
            c5 Freshness 13)
    };
}

macro_rules! readers_of {
    ($number:expr; $($field:ident $checker:ident $bit:literal),+) => {
        $((($checker::READS.holds($number) as u16) << $bit))|+
    };
}

/// Who reads each kind of event.
const READERS: [u16; COUNT] = {
    let mut readers = [0; COUNT];
    let mut number = 0;
    while number < COUNT {
        readers[number] = with_checkers!(readers_of!(number));
        number += 1;
    }
    readers
};

macro_rules! open_of {
    ($self:ident; $($field:ident $checker:ident $bit:literal),+) => {
        $((u16::from($self.$field.docket().is_open()) << $bit))|+
    };
}

macro_rules! read_by {
    ($self:ident, $readers:ident, $event:ident; $($field:ident $checker:ident $bit:literal),+) => {{
        $(if $readers >> $bit & 1 == 1 {
            $self.$field.read($event)?;
        })+
        Ok(())
    }};
}

macro_rules! finish {
    ($self:ident, $end:ident; $($field:ident $checker:ident $bit:literal),+) => {{
        $($self.$field.finish($end)?;)+
        Ok(())
    }};
}

macro_rules! fingerprint {
    ($self:ident, $hasher:ident; $($field:ident $checker:ident $bit:literal),+) => {
        $($self.$field.fingerprint($hasher);)+
    };
}

macro_rules! each {
    ($self:ident, $violations:ident, $held:ident => $call:expr; $($field:ident $checker:ident $bit:literal),+) => {
        $({
            let $held = &mut $self.$field;
            let done = $violations.iter().any(|violation| violation.code == $checker::CODE);
            if !done && let Err(violation) = $call {
                $violations.push(violation);
            }
        })+
    };
}

impl Checkers {
    /// Checkers that have seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        let mut checkers = Self {
            open: 0,
            s1: SplitCensus::new(setup),
            s2: EventOrder::new(setup),
            s3: NoZombieActs::new(setup),
            k1: CheckpointsGoOn::new(setup),
            s4: Liveness::new(setup),
            r1: RecordCensus::new(setup),
            k2: Identifiers::new(setup),
            c1: NoDuplicates::new(setup),
            c2: NoLoss::new(setup),
            c3: CoveredBeforeVisible::new(setup),
            b1: BoundedMemory::new(setup),
            s5: OrderInsideSplit::new(setup),
            c4: NoResidue::new(setup),
            c5: Freshness::new(setup),
        };
        checkers.open = with_checkers!(open_of!(checkers));
        checkers
    }

    /// Takes the next event of a linear extension of sequence and cause.
    ///
    /// # Errors
    /// The first invariant that the event breaks. The state is not meaningful afterwards.
    pub fn observe(&mut self, event: &Event) -> Result<(), Violation> {
        let readers = READERS[Kind::of(&event.kind) as usize] & self.open;
        if readers == 0 { Ok(()) } else { self.read(readers, event) }
    }

    fn read(&mut self, readers: u16, event: &Event) -> Result<(), Violation> {
        debug_assert!(readers & !self.open == 0, "only those read that judge");
        with_checkers!(read_by!(self, readers, event))
    }

    /// As [`Self::observe`], but every checker has its say, whatever the others find: `violations` gets at most one
    /// entry per invariant, since a checker's state is not meaningful after its first.
    pub fn observe_each(&mut self, event: &Event, violations: &mut Vec<Violation>) {
        with_checkers!(each!(self, violations, checker => checker.observe(event)));
    }

    /// As [`Self::finish`], but every checker has its say.
    pub fn finish_each(&mut self, end: &RunEnd, violations: &mut Vec<Violation>) {
        with_checkers!(each!(self, violations, checker => checker.finish(end)));
    }

    /// Judges what can only be judged at the end of the run.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn finish(&mut self, end: &RunEnd) -> Result<(), Violation> {
        with_checkers!(finish!(self, end))
    }

    /// What became of each invariant, in the order of [`Code::ALL`]. Those without a checker are not judged; D1 is
    /// left to whoever has two runs.
    #[must_use]
    pub fn judgements(&self) -> Vec<(Code, Judgement)> {
        Code::ALL.iter().map(|code| (*code, self.judgement(*code))).collect()
    }

    fn judgement(&self, code: Code) -> Judgement {
        match code {
            Code::S1 => self.s1.judgement(),
            Code::S2 => self.s2.judgement(),
            Code::S3 => self.s3.judgement(),
            Code::K1 => self.k1.judgement(),
            Code::S4 => self.s4.judgement(),
            Code::R1 => self.r1.judgement(),
            Code::K2 => self.k2.judgement(),
            Code::C1 => self.c1.judgement(),
            Code::C2 => self.c2.judgement(),
            Code::C3 => self.c3.judgement(),
            Code::B1 => self.b1.judgement(),
            Code::S5 => self.s5.judgement(),
            Code::C4 => self.c4.judgement(),
            Code::C5 => self.c5.judgement(),
            Code::D1 => Judgement::NotJudged(
                "one run proves nothing: the trace hashes of two are compared".to_owned(),
            ),
        }
    }

    /// Feeds the state of every checker into `hasher`.
    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        with_checkers!(fingerprint!(self, hasher));
    }
}

#[cfg(test)]
#[path = "checkers_tests.rs"]
mod tests;
