//! A number for each event kind, in the order of the schema, the kinds' names, and sets of kinds. A table.

use splitrace_runtime::event::EventKind;

macro_rules! kinds {
    ($($kind:ident)+) => {
        /// A kind of event, whatever it carries.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Kind { $($kind,)+ }

        impl Kind {
            /// The kind of an event. The arms are the schema's, so that a new kind does not compile until it stands
            /// here.
            #[inline]
            pub(crate) const fn of(kind: &EventKind) -> Self {
                match kind { $(EventKind::$kind { .. } => Self::$kind,)+ }
            }
        }

        /// The kinds' names, by number.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($kind),)+];
    };
}

/// How many kinds there are.
pub(crate) const COUNT: usize = NAMES.len();

/// The names of all kinds of events, in the order of their names.
pub fn kind_names() -> impl Iterator<Item = &'static str> {
    BY_NAME.iter().map(|number| NAMES[*number])
}

/// The kinds' numbers in the order of their names. A run's summary is a map by name, and sorting that anew was a half
/// percent of a run.
pub(crate) const BY_NAME: [usize; COUNT] = {
    let mut numbers = [0; COUNT];
    let mut sorted = 0;
    while sorted < COUNT {
        let mut at = sorted;
        while at > 0 && comes_before(NAMES[sorted], NAMES[numbers[at - 1]]) {
            numbers[at] = numbers[at - 1];
            at -= 1;
        }
        numbers[at] = sorted;
        sorted += 1;
    }
    numbers
};

/// Whether a name comes before another.
const fn comes_before(name: &str, other: &str) -> bool {
    let (name, other) = (name.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < name.len() && at < other.len() {
        if name[at] != other[at] {
            return name[at] < other[at];
        }
        at += 1;
    }
    name.len() < other.len()
}

/// A set of event kinds, one bit for each: what a checker says that it reads, so that no other event is brought to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KindSet(u128);

const _: () = assert!(COUNT <= u128::BITS as usize, "each kind has its bit");

impl KindSet {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self(u128::MAX);

    /// These kinds.
    pub(crate) const fn of(kinds: &[Kind]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u32;
            at += 1;
        }
        Self(bits)
    }

    /// The kinds of either.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether an event of this kind is in it.
    #[inline]
    #[must_use]
    pub const fn contains(self, kind: &EventKind) -> bool {
        self.holds(Kind::of(kind) as usize)
    }

    /// Whether the kind of this number is in it.
    #[inline]
    pub(crate) const fn holds(self, number: usize) -> bool {
        self.0 >> number & 1 == 1
    }
}

kinds! {
    LeaderGranted
    LeaderTermEnded
    CounterRaised
    JobEnded
    JobSubmitted
    FailoverStarted
    TaskDeployed
    TaskStateChanged
    EnumeratorStarted
    SplitsDiscovered
    ReaderEventArrived
    ReaderRegistered
    SplitRequested
    SplitsAssigned
    NoMoreSplitsSignalled
    AlignmentAnnounced
    AssignmentsFiled
    EnumeratorSnapshotTaken
    SplitsGivenBack
    CoordinatorNotified
    GatewaysMarked
    GatewaysClosed
    GatewayOpened
    OperatorEventBlocked
    OperatorEventReleased
    OperatorEventLost
    CheckpointTriggered
    BarriersInjected
    CheckpointAcknowledged
    CheckpointAborted
    CheckpointCompleted
    SavepointStored
    RestorePointChosen
    StateRedistributed
    TaskRestored
    SplitRestored
    SplitAdded
    OperatorEventHandled
    NoMoreSplitsNoticed
    SplitsPaused
    AlignmentWaitBegan
    AlignmentWaitEnded
    RecordsEmitted
    RecordsFiltered
    RecordsWritten
    SplitFinished
    BarrierHandled
    TransactionPrepared
    ReaderSnapshotTaken
    EndOfInput
    CompletionNoticed
    AbortNoticed
    CommitRequested
    CommitAnswered
    CommitRetried
    CommitsSettled
    UserFailure
    TaskEnded
    CommitterCreated
    WriterCreated
    ReaderStarted
    WriterFenced
    TransactionBegun
    TransactionWritten
    TransactionDurable
    TransactionRolledBack
    BecameVisible
    AlreadyVisible
    LeftoversListed
    StoreRefused
    ProcessStarted
    ProcessCrashed
    ExecutionGone
    FaultInjected
    Healed
    FetcherStarted
    BatchFetched
    BatchHandedOver
    BatchTaken
    FetcherEnded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::good_history;

    #[test]
    fn numbers_and_names_agree_with_the_schema() {
        for event in good_history().events() {
            assert_eq!(NAMES[Kind::of(&event.kind) as usize], event.kind.name());
        }
        assert_eq!(NAMES.iter().collect::<std::collections::BTreeSet<_>>().len(), COUNT);
    }

    #[test]
    fn a_set_holds_what_it_is_made_of() {
        let set = KindSet::of(&[Kind::LeaderGranted]).with(KindSet::of(&[Kind::Healed]));
        assert!(set.contains(&EventKind::Healed) && set.holds(0));
        assert!(!set.contains(&EventKind::EndOfInput) && KindSet::ALL.contains(&EventKind::EndOfInput));
        assert_eq!((0..COUNT).filter(|number| set.holds(*number)).count(), 2);
        assert_eq!(KindSet::NONE.with(KindSet::NONE), KindSet::of(&[]));
    }
}
