//! Each test renders hand-made events: the run is not needed to know what a row says.

use super::*;
use splitrace_runtime::config::{CommittersConfig, EdgeKind, ExchangeConfig, FailureMoment};
use splitrace_runtime::event::{CommitOutcome, FaultKind, Header, SCHEMA_VERSION, Window};
use splitrace_runtime::ids::*;
use splitrace_runtime::message::JobResult;
use splitrace_runtime::records::{OffsetRange, RecordRanges};
use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};

fn job() -> JobConfig {
    Scenario::demo(DemoMode::Normal, DemoOptions::of(DemoMode::Normal)).job
}

fn rows(pull: bool) -> Rows {
    let threads = ThreadNames::new(&job());
    let pulling = if pull { vec![OperatorUid(0)] } else { Vec::new() };
    Rows { pulling, discovering: Vec::new(), threads }
}

fn event(actor: ActorId, virtual_time_ns: u64, kind: EventKind) -> Event {
    let header = Header {
        schema_version: SCHEMA_VERSION,
        job: JobId(0),
        lineage: LineageId(0),
        leader_epoch: LeaderEpoch(1),
        process: ProcessId::TaskManager(0),
        sequence: 0,
        causes: Vec::new(),
        actor,
        virtual_time_ns,
        local_time_ns: virtual_time_ns,
    };
    Event { header, kind }
}

fn shown(pull: bool, actor: ActorId, kind: EventKind) -> Option<String> {
    rows(pull).row(&event(actor, 3_024_999_999, kind)).map(|row| row.to_string())
}

fn attempt(subtask: u32) -> ExecutionAttemptId {
    ExecutionAttemptId { subtask: SubtaskIndex(subtask), ..ExecutionAttemptId::default() }
}

fn split(index: u32, position: u64, end: u64) -> SplitPosition {
    SplitPosition { split: SplitId { index, ..SplitId::default() }, position, end }
}

fn transaction(subtask: u32, number: u64) -> TransactionName {
    TransactionName::new(attempt(subtask).subtask_id(), CheckpointId(number))
}

fn ranges(parts: &[(u32, u64, u64)]) -> RecordRanges {
    parts
        .iter()
        .map(|(index, start, end)| OffsetRange {
            split: SplitId { index: *index, ..SplitId::default() },
            start: *start,
            end: *end,
        })
        .collect()
}

const ENUMERATOR: ActorId = ActorId::SourceCoordinator(OperatorUid(0));

#[test]
fn an_assignment_reads_as_in_the_demo_log() {
    let assigned = || EventKind::SplitsAssigned { attempt: attempt(1), splits: vec![split(0, 0, 40)] };
    assert_eq!(
        shown(true, ENUMERATOR, assigned()).as_deref(),
        Some(
            "[+ 3.02s] ENUM     SourceCoordinator-Source: range-source   \
             subtask 1 requests a split -> assign split-0[0,40)"
        )
    );
    assert_eq!(
        shown(false, ENUMERATOR, assigned()).as_deref(),
        Some("[+ 3.02s] ENUM     SourceCoordinator-Source: range-source   push split-0[0,40) -> subtask 1")
    );
}

#[test]
fn a_transaction_reads_as_in_the_demo_log() {
    let prepared = EventKind::TransactionPrepared {
        transaction: transaction(1, 6),
        records: ranges(&[(0, 37, 40), (3, 120, 135)]),
        end_of_input: false,
    };
    assert_eq!(
        shown(true, ActorId::Task(attempt(1)), prepared).as_deref(),
        Some(
            "[+ 3.02s] WRITER   Source: range-source -> Map -> Sink: Wri \
             subtask 1 prepareCommit -> s1-chk6 n=18 [37..39, 120..134]"
        )
    );
    let empty = EventKind::TransactionPrepared {
        transaction: transaction(1, 6),
        records: RecordRanges::new(),
        end_of_input: false,
    };
    assert!(
        shown(true, ActorId::Task(attempt(1)), empty).is_some_and(|row| row.ends_with("nothing (s1-chk6)"))
    );
    let known = EventKind::CommitAnswered {
        transaction: transaction(0, 5),
        outcome: CommitOutcome::AlreadyCommitted,
    };
    assert!(
        shown(true, ActorId::Task(attempt(0)), known)
            .is_some_and(|row| row.ends_with("s0-chk5 already committed -> signalAlreadyCommitted"))
    );
}

#[test]
fn the_reader_asks_only_where_the_source_is_pulled() {
    let started = || EventKind::ReaderStarted { splits: Vec::new() };
    let task = ActorId::Task(attempt(0));
    assert!(shown(true, task, started()).is_some_and(|row| row.ends_with("start -> sendSplitRequest")));
    assert!(shown(false, task, started()).is_some_and(|row| row.ends_with("start (holding [])")));
}

#[test]
fn every_fault_is_marked() {
    let kinds = [
        (
            ActorId::Task(attempt(0)),
            EventKind::UserFailure { moment: FailureMoment::Read, record: 80 },
            "MAP      Source: range-source -> Map -> Sink: Wri !!! injected failure at record 80 (subtask 0)",
        ),
        (
            ActorId::World,
            EventKind::ProcessCrashed {
                address: ProcessAddress { process: ProcessId::JobManager, incarnation: Incarnation(2) },
            },
            "!!! job-manager (life 2) dies",
        ),
        (
            ActorId::World,
            EventKind::FaultInjected { fault: FaultKind::JobManagerCrash, window: Some(Window::AddToNotice) },
            "!!! the job manager is killed between the completion of the checkpoint and its notice",
        ),
    ];
    for (actor, kind, expected) in kinds {
        assert!(is_fault(&kind));
        let shown = shown(true, actor, kind).unwrap_or_default();
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn the_result_of_the_job_is_the_main_programs_row() {
    let row = rows(true).row(&event(
        ActorId::HighAvailability,
        12_340_000_000,
        EventKind::JobEnded { result: JobResult::Finished },
    ));
    let row = row.map(|row| row.to_string());
    assert_eq!(
        row.as_deref(),
        Some("[+12.34s] MAIN     main                                     job FINISHED")
    );
}

#[test]
fn a_kind_that_only_checkers_read_has_no_row() {
    let filed = EventKind::AssignmentsFiled { checkpoint: CheckpointId(1), remembered: 0 };
    assert_eq!(shown(true, ENUMERATOR, filed), None);
    assert_eq!(shown(true, ActorId::Task(attempt(0)), EventKind::TaskRestored { checkpoint: None }), None);
}

#[test]
fn an_exchange_cuts_the_name_of_a_thread_in_two() {
    let source = OperatorUid(0);
    let mut job = job();
    assert_eq!(ThreadNames::new(&job).of(source), "Source: range-source -> Map -> Sink: Wri");
    job.vertices[0].operator = OperatorUid(3);
    assert_eq!(ThreadNames::new(&job).of(OperatorUid(3)), "Source: range-source-3 -> Map -> Sink-3:");
    job.vertices[0].operator = source;
    job.vertices[0].exchange =
        Some(ExchangeConfig { edge: EdgeKind::Rebalance, parallelism: 2, credit: 1, unaligned: false });
    let cut = ThreadNames::new(&job);
    assert_eq!(cut.of(source), "Source: range-source -> Map");
    assert_eq!(cut.of(source.behind_exchange()), "Sink: Writer -> Sink: Committer");
    job.vertices[0].topology.committers = Some(CommittersConfig { parallelism: 1, credit: 1, global: false });
    let cut = ThreadNames::new(&job);
    assert_eq!(cut.of(source.behind_exchange()), "Sink: Writer");
    assert_eq!(cut.of(source.sink_stage(SinkStage::Committers)), "Sink: Committer");
}
