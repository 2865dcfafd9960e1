//! The registry of quirks and defects: bugs that can be switched on to prove that a checker sees them.
//!
//! A defect is handed to a role with its configuration; the role asks [`DefectSet::has`] at the one line that differs.
//! There are no globals, and a node that serves real data refuses to start with a non-empty set. A defect of a connector is
//! an alternative implementation beside the right one, picked where the connector is made.
//!
//! What the references mean stands in `docs/bugs.md`, and the facts in `docs/facts.md`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What sort of entry it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefectKind {
    /// Flink 2.3.0 really behaves so.
    Quirk,
    /// A bug that a system of this family once had.
    Historical,
    /// Made up, to prove a checker.
    Planted,
}

/// One entry of the registry.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DefectEntry {
    /// The switch.
    pub defect: Defect,
    /// Its name on the command line.
    pub id: &'static str,
    /// What is wrong, in a sentence.
    pub sentence: &'static str,
    /// The codes of the invariants that it breaks; it counts as found only by one of them.
    pub invariants: &'static [&'static str],
    /// Where it comes from.
    pub reference: &'static str,
    /// What sort of entry it is.
    pub kind: DefectKind,
}

macro_rules! registry {
    ($($variant:ident = $id:literal, $sentence:literal, [$($code:literal),+], $reference:literal, $kind:ident;)+) => {
        /// A switchable defect.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum Defect {
            $(#[doc = $sentence] $variant,)+
        }

        /// Every entry, in the order of [`Defect`].
        pub const REGISTRY: &[DefectEntry] = &[
            $(DefectEntry {
                defect: Defect::$variant,
                id: $id,
                sentence: $sentence,
                invariants: &[$($code),+],
                reference: $reference,
                kind: DefectKind::$kind,
            },)+
        ];
    };
}

registry! {
    TrackerReturnsNothing = "tracker-returns-nothing",
        "the assignment tracker gives nothing back when a subtask is reset",
        ["S1", "R1", "C2", "S4"], "FLINK-20396 (cf. SRC-09)", Planted;
    GatewayNeverCloses = "gateway-never-closes",
        "the gateways are not closed when the coordinator's snapshot is taken",
        ["S2", "S1", "C1"], "FLINK-16986 (SRC-01)", Historical;
    GatewayOpensAtInjection = "gateway-opens-at-injection",
        "the gateways are opened when the barriers are injected, not at the subtask's own acknowledgement",
        ["S2", "S1"], "FLINK-28606 (SRC-05)", Historical;
    GatewayStaysClosedOnAbort = "gateway-stays-closed-on-abort",
        "an aborted checkpoint does not open the gateways that it closed",
        ["S4", "K1"], "FLINK-28606 review (SRC-06)", Historical;
    EventLossIgnored = "event-loss-ignored",
        "a lost operator event neither fails over its subtask nor fails the checkpoint that waits for it",
        ["S1", "S2", "R1", "C2", "S4"], "FLINK-21996 (SRC-03)", Historical;
    GivenBackAtFailure = "given-back-at-failure",
        "splits are given back when the subtask fails, before it is known which checkpoint it will restore",
        ["S1", "R1", "S3", "C1", "C2"], "FLINK-20290 (SRC-09)", Historical;
    NoMoreSplitsLatchKept = "no-more-splits-latch-kept",
        "the 'no more splits' latch of a subtask survives its reset, so the new attempt is never told",
        ["S4"], "FLINK-35522 (SRC-16)", Historical;
    CommitterNotIdempotent = "committer-not-idempotent",
        "a commit appends without looking whether its name is there already",
        ["C1"], "demo fail-naive", Planted;
    TransactionIdsRestart = "transaction-ids-restart",
        "transaction numbers start at 0 again after a failure",
        ["K2", "C1", "C2", "R1"], "demo fail-naive (FACT 99)", Planted;
    CommitBeforeComplete = "commit-before-complete",
        "the committer commits as soon as its own snapshot is taken",
        ["C3", "C1", "K2"], "StarRocks connector issue 115 (TXN-09)", Historical;
    RestoredNotRecommitted = "restored-not-recommitted",
        "committables of the restored checkpoint are dropped instead of committed again",
        ["C2", "R1"], "Hudi PR 13530 (cf. TAB-06)", Historical;
    FinalBatchDropped = "final-batch-dropped",
        "the writer does not hand over what it holds at the end of the input",
        ["C2", "R1"], "FLINK-26403 (SNK-02)", Historical;
    ZombiePrepareAccepted = "zombie-prepare-accepted",
        "the transactional store takes writes and prepares of an older fence",
        ["S3"], "Kafka fencing (cf. ENG-07)", Planted;
    InDoubtAddTreatedAsAbort = "in-doubt-add-treated-as-abort",
        "a checkpoint whose add had no answer is aborted instead of ending the leader's term",
        ["S1", "S3", "R1", "C1", "C2", "K2"], "completion is decided by the store (docs/design.md; cf. ENG-01)", Planted;
    CounterRestartsAtRestored = "counter-restarts-at-restored",
        "a new leader counts checkpoints from the restored one instead of from the durable counter",
        ["K2"], "completion is decided by the store (docs/design.md)", Planted;
    ReaderSnapshotsAhead = "reader-snapshots-ahead",
        "the reader's snapshot names the position behind the record that is still to be read",
        ["R1", "C2"], "made up for R1", Planted;
    EnumeratorRepeatsSplits = "enumerator-repeats-splits",
        "a restored enumerator plans its splits a second time",
        ["S1", "C1", "R1"], "Iceberg PR 10208 (ENU-10)", Historical;
    OldAttemptAccepted = "old-attempt-accepted",
        "messages of a subtask's earlier execution are taken for the current one's",
        ["S3", "S1", "R1"], "FLINK-18071 (SRC-02)", Historical;
    HashMapOrderLeaks = "hash-map-order-leaks",
        "the enumerator hands out splits in the order of a randomly seeded hash map",
        ["D1"], "made up for D1", Planted;
    BadShutdownCommit = "commit-at-end-of-input",
        "a streaming job with checkpoints commits at the end of the input, without a checkpoint",
        ["C3", "C1"], "FLINK-25941 (SNK-03)", Historical;
    CommitsWaitForTheEnd = "commits-wait-for-the-end",
        "a completed checkpoint's committables stay where they are until the end of the input",
        ["C5"], "made up for C5", Planted;
    OwnTransactionsOnly = "own-transactions-only",
        "a recovering writer looks after its own transactions only, so those of subtasks that are gone stay prepared",
        ["C4"], "FLINK-23854 (TXN-02)", Historical;
    UnknownGidIsCommitted = "unknown-gid-is-committed",
        "begin and prepare count as done whatever the answer, and a transaction that the table does not know as committed",
        ["C2", "R1"], "made up for the prepared-transaction table (cf. TXN-07)", Planted;
    PreparedLeftInDoubt = "prepared-left-in-doubt",
        "a writer does not look through what its earlier lives have left prepared",
        ["C4"], "made up for the prepared-transaction table (cf. TXN-02)", Planted;
    WholePrefixRolledBack = "whole-prefix-rolled-back",
        "a recovering writer rolls back whatever was prepared under the sink's prefix, other writers' work included",
        ["S3", "C2", "R1"], "made up for the prepared-transaction table", Planted;
    SnapshotSummaryNotChecked = "snapshot-summary-not-checked",
        "a commit adds its file to the table without looking whether a snapshot's summary names it already",
        ["C1"], "made up for the table format", Planted;
    LostCommitRetriedAsNew = "lost-commit-retried-as-new",
        "a commit that is made again, restored or without an answer, looks no further back than what is current then",
        ["C1"], "Iceberg issues 2808, 10765 (TAB-07)", Historical;
    ProducerEpochNotBumped = "producer-epoch-not-bumped",
        "the log gives a transactional id that is initialised again the epoch that it had, and leaves what is open under it",
        ["C4"], "made up for the log", Planted;
    AppendSequenceNotChecked = "append-sequence-not-checked",
        "the log appends once more what a producer asks for again because it had no answer",
        ["C1", "K2"], "made up for the log", Planted;
    LingeringTransactionsLeft = "lingering-transactions-left",
        "a recovering writer does not abort the transactions that older lives of the sink left open in the log",
        ["C4"], "made up for the log (cf. TXN-05)", Planted;
    RestoredProducerInitialised = "restored-producer-initialised",
        "a committer initialises the producer of a restored committable, which aborts the transaction that it is to commit",
        ["S3", "C2", "R1"], "made up for the log (cf. TXN-04)", Planted;
    TransactionTimeoutTooShort = "transaction-timeout-too-short",
        "the sink asks the log for a transaction time-out that is shorter than an outage",
        ["S3", "C2", "R1"], "made up for the log", Planted;
    ReaderBeyondStableOffset = "reader-beyond-stable-offset",
        "a reader of a log reads beyond the last stable offset: transactions that are still open, and aborted ones",
        ["R1", "C2"], "made up for the log", Planted;
    DiscoveredPartitionsForgotten = "discovered-partitions-forgotten",
        "an enumerator that is restored does not know which partitions were found before, and assigns them again",
        ["S1", "R1", "C1", "S5"], "made up for the log", Planted;
    SplitAfterEndOfInputLost = "split-after-end-of-input-lost",
        "a split that is sent to a reader which already ended is kept and never read, and the job finishes",
        ["S4", "C2", "R1", "S1"], "Flink 2.3.0 (FACT 55)", Quirk;
    HandOverQueueUnbounded = "hand-over-queue-unbounded",
        "the queue between split fetchers and their reader takes whatever they fetch, however slow the task is",
        ["B1"], "made up for B1", Planted;
    BarrierNotAligned = "barrier-not-aligned",
        "a channel that has delivered a barrier is read on while others still owe it",
        ["R1", "C1", "C2"], "made up for R1 (cf. at-least-once mode)", Planted;
    EndedChannelOwesBarrier = "ended-channel-owes-barrier",
        "the barrier of a channel that has ended is waited for",
        ["S4", "K1"], "made up for S4", Planted;
    RegionIgnoresExchange = "region-ignores-exchange",
        "a task fails over alone, without those that an exchange connects with it",
        ["S4", "S5"], "made up for S4 (cf. FACT 48)", Planted;
    OvertakenBuffersNotRestored = "overtaken-buffers-not-restored",
        "buffers that an unaligned barrier overtook are in the checkpoint, and a restore leaves them there",
        ["R1", "C2"], "made up for R1 (cf. FLINK-20654)", Planted;
    BlockedEventsUnbounded = "blocked-events-unbounded",
        "a gateway keeps back whatever its coordinator sends, however long the checkpoint takes",
        ["B1"], "made up for B1", Planted;
    TrackerNeverForgets = "tracker-never-forgets",
        "the assignment tracker keeps what a completed checkpoint covers",
        ["B1", "S1", "C1"], "made up for B1 (cf. FACT 6)", Planted;
    SlotsNotCounted = "slots-not-counted",
        "the job master deploys to the task manager with the least work, whether it has a free slot or not",
        ["B1"], "made up for B1", Planted;
    EmptyDiscoveryReturnsEarly = "empty-discovery-returns-early",
        "an enumerator that is restored when everything is discovered never says that no split will come",
        ["S4"], "FLINK-31006, FLINK-33466 (ENU-02)", Historical;
    DiscoveredSplitForGoneReader = "discovered-split-for-gone-reader",
        "a split that is discovered goes to a reader that has failed since it asked, and nobody has it",
        ["S1", "C2"], "FLINK-26726 (ENU-04)", Historical;
    DiscoveryResultTwice = "discovery-result-twice",
        "two looks of the discovering worker began at the same split, and the enumerator takes what both found",
        ["S1", "C1", "R1"], "made up for S1 (cf. Iceberg PR 10208)", Planted;
    WorkerMovesPosition = "worker-moves-position",
        "the discovering worker moves the enumerator's position on before the enumerator has the splits",
        ["C2", "S1", "S4", "R1"], "FLINK-38681 (ENU-15)", Historical;
    ReaderSwapsRecords = "reader-swaps-records",
        "the reader hands every pair of records of a split over the wrong way round",
        ["S5", "R1", "C2"], "made up for S5", Planted;
    FinishedSubtaskHoldsBack = "finished-subtask-holds-back",
        "a reader that has ended goes on reporting its last watermark, and its group waits for it for ever",
        ["S4"], "FLINK-35157 (WMA-02)", Historical;
    AnnouncementsEndAtRestart = "announcements-end-at-restart",
        "the periodic announcement of watermark alignment dies when a subtask is just being restarted",
        ["S4"], "FLINK-32362 (WMA-01)", Historical;
    AnnouncementsEndAtNoMoreSplits = "announcements-end-at-no-more-splits",
        "a reader that was told 'no more splits' hears no announcement of watermark alignment any more",
        ["S4"], "FLINK-37670 (WMA-03)", Historical;
    PausedRecordsSkipped = "paused-records-skipped",
        "a split that watermark alignment paused is resumed one record too late",
        ["C2", "R1"], "made up for watermark alignment", Planted;
    PendingNeverExpires = "pending-never-expires",
        "a checkpoint that is pending for too long is not given up, and none is triggered beside it",
        ["K1"], "made up for K1", Planted;
    AssignedInSnapshot = "assigned-in-snapshot",
        "a split assigned inside snapshot_state is filed behind the checkpoint whose barrier follows it",
        ["C1", "S1", "R1", "S5"], "FACT 36", Quirk;
    OldGatewayOutlivesReset = "old-gateway-outlives-reset",
        "a reset leaves the old gateway alive: the events that it blocks are never sent, and a checkpoint waits for them",
        ["K1", "S4"], "FACTS 25, 32", Quirk;
    ResetBeforeCloseEndsProcess = "reset-before-close-ends-process",
        "a subtask's reset between a checkpoint's mark and its close ends the job manager's process",
        ["K1", "S4"], "FACT 26", Quirk;
    UnseenCheckpointThrows = "unseen-checkpoint-throws",
        "a checkpoint that one gateway never saw stops the main thread half way: later gateways stay closed",
        ["S4", "K1"], "FACT 27", Quirk;
    EventAwaitedOnce = "event-awaited-once",
        "an unconfirmed event is awaited by one checkpoint only, so the next barrier may overtake it",
        ["S2", "S1", "R1"], "FACT 22", Quirk;
    DeadExecutionsAreSent = "dead-executions-are-sent",
        "events are sent to executions that are over, and a checkpoint waits for their failure",
        ["S3", "K1", "S4", "B1"], "FACTS 29, 30", Quirk;
    LatchBeforeCheck = "latch-before-check",
        "'no more splits' for a reader that is not there throws, yet the subtask's later requests are dropped for good",
        ["S4"], "FACT 43", Quirk;
    SplitToFinishedTaskLost = "split-to-finished-task-lost",
        "a split that is sent to a task which has finished is lost: its reader stays registered, and nobody fails over",
        ["S1", "S4", "C2", "R1"], "FACTS 19, 46", Quirk;
    AnnouncedNumberNotStored = "announced-number-not-stored",
        "a committer's state holds how many committables came in place of how many were announced",
        ["C2"], "FACT 77", Quirk;
    MissingPendingFileIgnored = "missing-pending-file-ignored",
        "a pending file that is gone at its commit counts as committed, and its records are lost",
        ["C2"], "FACT 86", Quirk;
    FileResumedInPlace = "file-resumed-in-place",
        "a writer goes on in the file of its earlier life, which may go on in it as well",
        ["C2", "S3", "K1"], "FACT 83", Quirk;
    FileOrphansKept = "file-orphans-kept",
        "hidden files that no state holds any more stay behind for ever",
        ["C4"], "FACT 85", Quirk;
    FileNamesRestart = "file-names-restart",
        "the names of files do not say which life makes them: two lives write into one file",
        ["C1", "C2", "C4", "K2", "R1", "S3"], "cf. FACT 89", Planted;
    PendingFileNotSynced = "pending-file-not-synced",
        "files are handed to the committer, and named by the state, before they are durable",
        ["C2", "R1", "S4", "K1"], "made up", Planted;
    BucketChecksEndAtRestart = "bucket-checks-end-at-restart",
        "a restored writer never asks to be woken again: its files are closed by size and by the end only",
        ["C5"], "cf. FACT 91", Planted;
    KnownReasonDropped = "known-reason-dropped",
        "a committable that failed for a known reason is dropped in silence, and the job finishes without its records",
        ["C2", "R1"], "FACT 73", Quirk;
    CommitterRetriesIgnored = "committer-retries-ignored",
        "sink.committer.retries of the job's configuration is ignored: a committer always has 10 retries",
        ["K1", "S4"], "FACT 70", Quirk;
    CommitGivenUpSilently = "commit-given-up-silently",
        "a commit that is to be tried again later is given up without a word",
        ["C2", "R1"], "FLINK-23896 (cf. SNK-01)", Historical;
    UnknownErrorIsSuccess = "unknown-error-is-success",
        "a commit that fails for an unknown reason counts as committed",
        ["C2", "R1"], "FLINK-24773 (TXN-07)", Historical;
    GlobalCommitterWaitsForAll = "global-committer-waits-for-all",
        "a global committer holds back a completed checkpoint, and all newer ones, for subtasks that have ended before it",
        ["C2"], "FACT 81", Quirk;
    UnalignedSinkEdges = "unaligned-sink-edges",
        "a barrier overtakes the committables on their way from a writer to its committer",
        ["R1", "C2", "C5"], "FLINK-36287 (SNK-07)", Historical;
    VanishedCommittersForgotten = "vanished-committers-forgotten",
        "with fewer committers than before, what those held that are gone is dealt to nobody",
        ["C2", "R1"], "made up for C2 (cf. SNK-10)", Planted;
    SecondEndOfInputRejected = "second-end-of-input-rejected",
        "each end of input has the same number, and a committer that restored one refuses the next one's summary",
        ["K1", "S4", "C2"], "FLINK-25920 (SNK-04)", Historical;
    EndOfInputMagicId = "end-of-input-magic-id",
        "what comes at the end of the input has a number above every checkpoint's, which any of them lets commit",
        ["C3", "C1"], "FLINK-37605 (SNK-05)", Historical;
    RestoredCheckpointLost = "restored-checkpoint-lost",
        "what a committer restores has a placeholder for its checkpoint, which no completed one reaches",
        ["C2", "R1"], "FLINK-29509, FLINK-29512 (SNK-08)", Historical;
    OneEntryPerCheckpoint = "one-entry-per-checkpoint",
        "a committer that is dealt the state of two cannot restore it, however often it tries",
        ["K1", "S4"], "FLINK-29627 (SNK-09)", Historical;
    OnlyNoticedCommitted = "only-noticed-committed",
        "a notice commits its own checkpoint only: what came for one before it, aborted or unheard of, stays where it is",
        ["C2", "C5", "R1"], "FLINK-10377 (the inverse of SNK-15)", Historical;
    NoCheckpointBesideFinished = "no-checkpoint-beside-finished",
        "once a task has finished no checkpoint is taken, and who is still to hear of a last one waits for ever",
        ["S4", "K1"], "FLINK-21080 (SNK-16)", Historical;
    CloseAbortsHandedOver = "close-aborts-handed-over",
        "a writer that is closed aborts its last transaction, which it has handed over",
        ["R1", "C2", "S3"], "FLINK-37622 (TXN-04)", Historical;
    SupersededTransactionsLeft = "superseded-transactions-left",
        "a recovering writer aborts what an older life left under its next number, not what that went on with",
        ["C4"], "FLINK-40626 (TXN-05)", Historical;
    WriteErrorSwallowed = "write-error-swallowed",
        "a writer goes on when an append fails, and its checkpoint completes without the records",
        ["R1", "C2", "C3", "K2"], "FLINK-35749, FLINK-31305 (TXN-06)", Historical;
    RepeatedCommitIsError = "repeated-commit-is-error",
        "a commit that was made before, and had no answer, is an error that fails the job again and again",
        ["K1", "S4"], "StarRocks connector PR 195 (TXN-08)", Historical;
    LabelsLeftBehind = "labels-left-behind",
        "a recovering writer does not end what is prepared under the names that it is going to use",
        ["K1", "S4", "C4"], "Doris connector PR 362 (TXN-08)", Historical;
    NoBucketChecksOnFreshStart = "no-bucket-checks-on-fresh-start",
        "a writer that restores nothing never asks to be woken: its files are closed by size and by the end only",
        ["C5"], "FLINK-27910 (FIL-03)", Historical;
    TailNotReadBack = "tail-not-read-back",
        "a restored writer takes its file for as long as the whole blocks of it",
        ["C2", "R1", "K2"], "FLINK-39778 (FIL-06)", Historical;
    DedupeKeyOfThisLife = "dedupe-key-of-this-life",
        "a committer looks for what it commits under a name with its own life in it, which a restart changes",
        ["C1"], "Iceberg issue 16008 (TAB-01)", Historical;
    HighWaterMarkFilter = "high-water-mark-filter",
        "whatever has a number up to the highest that was ever committed counts as committed",
        ["C2", "R1"], "Iceberg issue 10892 (TAB-02)", Historical;
    LateCommittableIgnored = "late-committable-ignored",
        "a committable with a lower number than any that the sink has committed counts as committed",
        ["C2", "R1"], "Delta connectors issue 467 (TAB-03)", Historical;
    CommittedSoughtOnRetryOnly = "committed-sought-on-retry-only",
        "what was committed before is looked for only when a commit is retried, not when it is restored",
        ["C1"], "Paimon PR 350, FLINK-35938 (TAB-05)", Historical;
    FinishedFileIsError = "finished-file-is-error",
        "a file that is visible already fails its commit, and with it the job, again and again",
        ["K1", "S4"], "Arroyo PR 1027 (ENG-04)", Historical;
    RecommitEndsAtFirstDone = "recommit-ends-at-first-done",
        "a commit of several files that finds one of them visible takes the rest for done",
        ["C2", "R1"], "Arroyo, local file committer (ENG-05)", Historical;
    FinalCheckpointNotAwaited = "final-checkpoint-not-awaited",
        "tasks that are done end before the checkpoint that covers their end is complete",
        ["C2", "C5", "R1"], "Arroyo PR 1124 (ENG-06)", Historical;
    ReplayUnderNewIdentity = "replay-under-new-identity",
        "what is committed again after a restart has a new name, and the store cannot know it again",
        ["C1", "C2", "K2"], "Paimon issue 9666 (ENG-08)", Historical;
    OldDuplicateTaken = "old-duplicate-taken",
        "a session knows only the last message of an ordered stream again: an older copy that comes late is taken anew",
        ["S1", "S2", "S3", "S4", "K1", "K2", "R1", "C1", "B1"],
        "made up: takes a message that is duplicated and reordered", Planted;
    OneLeftoverCompacted = "one-leftover-compacted",
        "of the closed files that a restored compactor has not handed on, it keeps one",
        ["C2", "R1"], "FLINK-26580 (FIL-04)", Historical;
    CompactorEndsUnflushed = "compactor-ends-unflushed",
        "at the end of the input the compactor keeps what it has gathered, and waits for a checkpoint that is due",
        ["C2", "R1", "C4"], "FLINK-34117 (FIL-05)", Historical;
    SourcesRemovedEarly = "sources-removed-early",
        "what a file was made of is removed before its checkpoint is complete",
        ["C2", "R1", "K1", "S3", "S4"], "made up for C2 (cf. FIL-04)", Planted;
    CoordinatorFutureLeaked = "coordinator-future-leaked",
        "a checkpoint that is aborted while a coordinator still snapshots keeps others from ever being triggered",
        ["K1", "S4"], "FLINK-26394, FLINK-27148 (SRC-08)", Historical;
    NoResetWithoutCheckpoint = "no-reset-without-checkpoint",
        "coordinators are not reset when there is no checkpoint yet, and what they had assigned stays assigned",
        ["C2", "S1", "S4", "R1"], "FLINK-20222 (SRC-10)", Historical;
    TrackerInState = "tracker-in-state",
        "a coordinator's state holds what its assignment tracker remembers, and a restore brings it back",
        ["S1", "C1", "R1", "B1", "S5"], "FLINK-21817 (SRC-11)", Historical;
    CoordinatorsResetTwice = "coordinators-reset-twice",
        "a global failure inside a global failover resets the coordinators once more, though no task restarts with them",
        ["S1", "S4", "C1", "R1"], "FLINK-31041 (SRC-12)", Historical;
    SavepointAnnounced = "savepoint-announced",
        "the completion of a savepoint is announced like a checkpoint's, though nothing ever restores it",
        ["C3", "C1", "C2", "S1", "R1"], "FLINK-10354, FLINK-25191 (SRC-14)", Historical;
    IdleReaderNeverTold = "idle-reader-never-told",
        "a reader that never got a split is never told that none will come",
        ["S4"], "FLINK-21159 (ENU-01)", Historical;
    FirstPartEndsSource = "first-part-ends-source",
        "a reader that has read the first part of a source's splits is told that no split will come, as if all were read",
        ["C2", "S4", "S1", "R1"], "FLINK-30334 (ENU-05)", Historical;
    ParkedSplitsNotSnapshotted = "parked-splits-not-snapshotted",
        "a reader parks restored splits until it is set up, and its snapshots do not hold them meanwhile",
        ["S1", "C2", "R1"], "FLINK-39645 (ENU-06)", Historical;
    ReportedSplitsForgotten = "reported-splits-forgotten",
        "splits that restored readers report are in nobody's checkpoint until they are assigned anew",
        ["S1", "C2", "R1"], "FLINK-40469 (ENU-08)", Historical;
    ReturnedSplitsShelved = "returned-splits-shelved",
        "splits that come back go into a list from which nothing is ever assigned",
        ["C2", "S4"], "NATS connector PR 93 (ENU-12)", Historical;
    SplitMovedUnrevoked = "split-moved-unrevoked",
        "a split is moved to another reader while the one that has it reads on",
        ["S1", "C1", "R1"], "RisingWave PR 18541 (ENU-13)", Historical;
    RestoredPlanReordered = "restored-plan-reordered",
        "a restored enumerator has its plan in another order, and goes on at its old position in it",
        ["C2", "C1", "S1", "R1", "S4", "S5"], "FLINK-40216, FLINK-38218 (ENU-14)", Historical;
    OldCoordinatorUnfenced = "old-coordinator-unfenced",
        "an enumerator that a reset replaced goes on for a while, and still assigns what it has",
        ["S1", "S3", "S4", "S5", "C1", "C2", "R1", "B1"], "FLINK-24607, FLINK-32411 (SRC-13)", Historical;
    HeldPositionsForgotten = "held-positions-forgotten",
        "an enumerator keeps only the names of splits that it takes back, and begins them anew",
        ["C1", "R1", "S5", "S1"], "FLINK-38453 (ENU-07)", Historical;
    IdleFetcherSilent = "idle-fetcher-silent",
        "a fetcher becomes idle after its last batch was taken, and the reader is not told to look again",
        ["S4"], "FLINK-18128, FLINK-19223 (RDR-01)", Historical;
    IdleFlagOverAddedSplit = "idle-flag-over-added-split",
        "a fetcher that found nothing to do calls itself idle though a split came in between",
        ["S4", "C2", "S1", "R1"], "FLINK-19253 (RDR-02)", Historical;
    LastFetcherEndsSilently = "last-fetcher-ends-silently",
        "the reader waits for the last fetcher to be gone, and is not told when it is",
        ["S4"], "FLINK-19448 (RDR-03)", Historical;
    SplitReaderClosedEarly = "split-reader-closed-early",
        "a split reader is closed as soon as its fetcher is idle, with batches still unread that borrow its memory",
        ["C2", "R1"], "FLINK-35924 (RDR-06)", Historical;
    SplitReaderShared = "split-reader-shared",
        "a fetcher that ends closes the split reader that the next fetcher reads with",
        ["C2", "S1", "S4", "R1"], "Hudi issue 19314 (RDR-08)", Historical;
    PauseOfEndedSplitRefused = "pause-of-ended-split-refused",
        "a call that pauses or resumes a split which a fetcher has just dropped is refused, and the others that it names stay as they are",
        ["S4"], "FLINK-36630, FLINK-39728 (RDR-09)", Historical;
    WokenReadDropped = "woken-read-dropped",
        "a fetch that is woken up drops what it was about to bring",
        ["C2", "R1", "S4"], "RisingWave PR 23321 (ENG-03)", Historical;
}

/// Which quirks a run has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Profile {
    /// None: where Flink 2.3.0 is wrong, this protocol is right or says clearly that it cannot be.
    #[default]
    #[serde(rename = "hardened")]
    Hardened,
    /// All quirks of Flink 2.3.0.
    #[serde(rename = "flink-2.3.0")]
    Flink,
}

impl Profile {
    /// Every profile, the default first.
    pub const ALL: [Self; 2] = [Self::Hardened, Self::Flink];

    /// Its name on the command line.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Hardened => "hardened",
            Self::Flink => "flink-2.3.0",
        }
    }

    /// The profile with this name.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.id() == id)
    }

    /// What it switches on.
    #[must_use]
    pub fn quirks(self) -> DefectSet {
        let is_quirk = |entry: &&DefectEntry| self == Self::Flink && entry.kind == DefectKind::Quirk;
        REGISTRY.iter().filter(is_quirk).map(|entry| entry.defect).collect()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id())
    }
}

impl Defect {
    /// Its entry in the registry.
    #[must_use]
    pub fn entry(self) -> &'static DefectEntry {
        &REGISTRY[self as usize]
    }

    /// The defect with this name.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        REGISTRY.iter().find(|entry| entry.id == id).map(|entry| entry.defect)
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.entry().id)
    }
}

/// The defects that are switched on in a run. Written as the list of their names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DefectSet([u128; 2]);

/// How many defects one word of a set holds.
const WORD_BITS: usize = u128::BITS as usize;

impl Serialize for DefectSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names: Vec<&str> = self.iter().map(|defect| defect.entry().id).collect();
        names.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DefectSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<String>::deserialize(deserializer)?
            .into_iter()
            .map(|id| {
                Defect::from_id(&id)
                    .ok_or_else(|| serde::de::Error::custom(format_args!("there is no defect named '{id}'")))
            })
            .collect()
    }
}

impl DefectSet {
    /// No defect: an honest run.
    pub const NONE: Self = Self([0; 2]);

    /// What is on in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// Whether the defect is on.
    #[must_use]
    pub const fn has(self, defect: Defect) -> bool {
        self.0[defect as usize / WORD_BITS] >> (defect as usize % WORD_BITS) & 1 == 1
    }

    /// This set and the defect.
    #[must_use]
    pub const fn with(self, defect: Defect) -> Self {
        let mut words = self.0;
        words[defect as usize / WORD_BITS] |= 1 << (defect as usize % WORD_BITS);
        Self(words)
    }

    /// The first of these that is on: the choice between alternative implementations.
    #[must_use]
    pub fn first_of(self, candidates: &[Defect]) -> Option<Defect> {
        candidates.iter().copied().find(|defect| self.has(*defect))
    }

    /// Whether none is on.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] == 0
    }

    /// Those that are on, in the registry's order.
    pub fn iter(self) -> impl Iterator<Item = Defect> {
        REGISTRY.iter().map(|entry| entry.defect).filter(move |defect| self.has(*defect))
    }
}

impl FromIterator<Defect> for DefectSet {
    fn from_iter<T: IntoIterator<Item = Defect>>(defects: T) -> Self {
        defects.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_in_the_order_of_the_enum_and_have_unique_names() {
        for (index, entry) in REGISTRY.iter().enumerate() {
            assert_eq!(entry.defect as usize, index);
            assert_eq!(Defect::from_id(entry.id), Some(entry.defect));
            assert!(!entry.invariants.is_empty());
        }
        assert!(REGISTRY.len() <= 2 * WORD_BITS, "a set is two words");
    }

    #[test]
    fn the_default_profile_is_honest_and_flinks_holds_its_quirks_and_nothing_planted() {
        assert!(Profile::default().quirks().is_empty());
        let quirks = Profile::Flink.quirks();
        assert!(quirks.has(Defect::AssignedInSnapshot) && !quirks.has(Defect::GatewayNeverCloses));
        assert!(quirks.iter().all(|defect| defect.entry().kind == DefectKind::Quirk));
        for profile in Profile::ALL {
            assert_eq!(Profile::from_id(profile.id()), Some(profile));
        }
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: DefectSet = [Defect::GatewayNeverCloses, Defect::FinalBatchDropped].into_iter().collect();
        assert!(set.has(Defect::FinalBatchDropped) && !set.has(Defect::EventLossIgnored));
        assert_eq!(set.iter().count(), 2);
        assert!(DefectSet::NONE.is_empty() && !set.is_empty());
    }
}
