//! All checkers of one run.
//!
//! What happens once per record is sorted out first, so that a record costs a branch and not a round through every
//! checker. The split census comes first: what it finds is the cause of what the others would find of the same event.

use crate::c1_no_duplicates::NoDuplicates;
use crate::c2_no_loss::NoLoss;
use crate::c3_covered_before_visible::CoveredBeforeVisible;
use crate::checker::{Checker, Judgement, RunEnd, RunSetup};
use crate::code::Code;
use crate::k2_identifiers::Identifiers;
use crate::promise::Level;
use crate::r1_record_census::RecordCensus;
use crate::s1_split_census::SplitCensus;
use crate::s2_event_order::EventOrder;
use crate::s3_no_zombie_acts::NoZombieActs;
use crate::s4_liveness::Liveness;
use crate::violation::Violation;
use splitrace_runtime::event::{Event, EventKind};
use std::hash::Hasher;

/// Every checker that is built, D1 excepted: that one compares two runs.
#[derive(Clone, Debug)]
pub struct Checkers {
    setup: RunSetup,
    s1: SplitCensus,
    s2: EventOrder,
    s3: NoZombieActs,
    s4: Liveness,
    r1: RecordCensus,
    k2: Identifiers,
    c1: NoDuplicates,
    c2: NoLoss,
    c3: CoveredBeforeVisible,
}

macro_rules! in_turn {
    ($self:ident, $checker:ident => $call:expr) => {{
        in_turn!(@ $self, $checker, $call, s1 s2 s3 s4 r1 k2 c1 c2 c3)
    }};
    (@ $self:ident, $checker:ident, $call:expr, $($field:ident)+) => {{
        $({ let $checker = &mut $self.$field; $call?; })+
        Ok(())
    }};
}

macro_rules! each {
    ($self:ident, $violations:ident, $checker:ident => $call:expr) => {
        each!(@ $self, $violations, $checker, $call, s1 s2 s3 s4 r1 k2 c1 c2 c3)
    };
    (@ $self:ident, $violations:ident, $checker:ident, $call:expr, $($field:ident)+) => {
        $({
            let $checker = &mut $self.$field;
            let done = $violations.iter().any(|violation| violation.code == $checker.code());
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
        Self {
            setup: setup.clone(),
            s1: SplitCensus::new(setup),
            s2: EventOrder::new(setup),
            s3: NoZombieActs::new(setup),
            s4: Liveness::new(setup),
            r1: RecordCensus::new(setup),
            k2: Identifiers::new(setup),
            c1: NoDuplicates::new(setup),
            c2: NoLoss::new(setup),
            c3: CoveredBeforeVisible::new(setup),
        }
    }

    /// Takes the next event of a linear extension of sequence and cause.
    ///
    /// # Errors
    /// The first invariant that the event breaks. The state is not meaningful afterwards.
    pub fn observe(&mut self, event: &Event) -> Result<(), Violation> {
        match &event.kind {
            EventKind::RecordsEmitted { .. } | EventKind::RecordsWritten { .. } => Ok(()),
            EventKind::RecordsFiltered { .. } => {
                self.r1.observe(event)?;
                self.c2.observe(event)
            }
            _ => self.observe_rare(event),
        }
    }

    fn observe_rare(&mut self, event: &Event) -> Result<(), Violation> {
        in_turn!(self, checker => checker.observe(event))
    }

    /// As [`Self::observe`], but every checker has its say, whatever the others find: `violations` gets at most one
    /// entry per invariant, since a checker's state is not meaningful after its first.
    pub fn observe_each(&mut self, event: &Event, violations: &mut Vec<Violation>) {
        each!(self, violations, checker => checker.observe(event));
    }

    /// As [`Self::finish`], but every checker has its say.
    pub fn finish_each(&mut self, end: &RunEnd, violations: &mut Vec<Violation>) {
        each!(self, violations, checker => checker.finish(end));
    }

    /// Judges what can only be judged at the end of the run.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn finish(&mut self, end: &RunEnd) -> Result<(), Violation> {
        in_turn!(self, checker => checker.finish(end))
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
            Code::S4 => self.s4.judgement(),
            Code::R1 => self.r1.judgement(),
            Code::K2 => self.k2.judgement(),
            Code::C1 => self.c1.judgement(),
            Code::C2 => self.c2.judgement(),
            Code::C3 => self.c3.judgement(),
            Code::D1 => Judgement::NotJudged(
                "one run proves nothing: the trace hashes of two are compared".to_owned(),
            ),
            Code::S5 | Code::K1 | Code::C4 | Code::C5 | Code::B1 => {
                Judgement::NotJudged(match self.setup.promise.level(code) {
                    Level::None(reason) => reason.to_owned(),
                    Level::Full | Level::Weaker(_) => "its checker is not built yet".to_owned(),
                })
            }
        }
    }

    /// Feeds the state of every checker into `hasher`.
    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        self.s1.fingerprint(hasher);
        self.s2.fingerprint(hasher);
        self.s3.fingerprint(hasher);
        self.s4.fingerprint(hasher);
        self.r1.fingerprint(hasher);
        self.k2.fingerprint(hasher);
        self.c1.fingerprint(hasher);
        self.c2.fingerprint(hasher);
        self.c3.fingerprint(hasher);
    }
}

#[cfg(test)]
#[path = "checkers_tests.rs"]
mod tests;
