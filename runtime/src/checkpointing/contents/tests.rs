//! States as the facades encode them, read back; and states that nobody can read.

use super::*;
use crate::api::sink::{
    CommitRequestState, CommittablePayload, HeldCheckpoint, HeldRequest, HeldSubtask, SinkCommittable,
    WriterStateElement, encode_committer_state, encode_writer_state,
};
use crate::api::source_state::{EnumeratorState, encode_enumerator_state, encode_reader_state};
use crate::config::*;
use crate::connectors::two_phase_sink::TwoPhaseCommittable;
use crate::defects::DefectSet;
use crate::exchange::encode_channel_state;
use crate::ids::*;
use crate::message::{CheckpointKind, SplitPayload};
use crate::records::Record;
use crate::records::{OffsetRange, RecordRanges, SplitPosition};
use std::borrow::Cow;
use std::sync::Arc;

const SOURCE: OperatorUid = OperatorUid(0);
const COORDINATED: OperatorUid = OperatorUid(7);

/// A record of split 0 that lay in a channel.
fn overtaken(offset: u64) -> Record {
    let split = position(0, 0).split;
    Record { split, offset, event_time_ms: 0, key: 0, payload: Vec::new() }
}

fn config() -> JobConfig {
    let source = SourceConfig {
        split_count: 4,
        records_per_split: 40,
        policy: AssignmentPolicy::Pull,
        bounded: true,
        script: EnumeratorScript::NONE,
        discovery: None,
    };
    let task = TaskConfig {
        record_interval_ns: 0,
        filter_every: 0,
        user_failure: None,
        checkpoint_failure: None,
        write_buffer_records: 1,
        commit_retries_max: 10,
        commit_script: None,
        commit_back_off_ns: 0,
        store_timeout_ns: 1,
        reader: ReaderKind::Direct,
        stall: None,
        event_time: EventTime::NUMBER,
        alignment: None,
    };
    let coordinated = Some(CoordinatedConfig { operator: COORDINATED, event_interval_ns: 1, event_count: 3 });
    JobConfig {
        job: JobId(1),
        lineage: LineageId(1),
        vertices: vec![VertexConfig {
            operator: SOURCE,
            parallelism: 2,
            source,
            task,
            files: None,
            log: None,
            coordinated,
            exchange: None,
            topology: SinkTopologyConfig::CHAINED,
        }],
        checkpointing: None,
        restart: RestartConfig::FixedDelay { delay_ns: 1, attempts_max: 1 },
        region: RegionScope::Subtask,
        task_managers: 1,
        slots_per_task_manager: None,
        heartbeat: HeartbeatConfig { interval_ns: 1, timeout_ns: 5 },
        high_availability_timeout_ns: JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS,
        sink: SinkKind::Append,
        defects: DefectSet::NONE,
    }
}

fn position(index: u32, position: u64) -> SplitPosition {
    SplitPosition { split: SplitId { operator: SOURCE, index }, position, end: u64::from(index + 1) * 40 }
}

fn payload(at: SplitPosition) -> SplitPayload {
    SplitPayload { at, version: 1, bytes: vec![1, 2, 3] }
}

fn subtask(index: u32) -> SubtaskId {
    SubtaskId { vertex: SOURCE, subtask: SubtaskIndex(index) }
}

fn ranges(start: u64, end: u64) -> RecordRanges {
    [OffsetRange { split: position(0, 0).split, start, end }].into_iter().collect()
}

fn checkpoint() -> CompletedCheckpoint {
    let pending = vec![payload(position(2, 80)), payload(position(3, 120))];
    let enumerator = encode_enumerator_state(&EnumeratorState { pending, ..EnumeratorState::default() });
    let name = TransactionName::new(subtask(0), CheckpointId(3));
    let committable = TwoPhaseCommittable::Append { name, records: Vec::new() };
    let payload_bytes = CommittablePayload {
        transaction: name,
        version: TwoPhaseCommittable::VERSION,
        bytes: committable.to_bytes(),
    };
    let (state, payload_bytes) = (CommitRequestState::Received, Cow::Owned(payload_bytes));
    let requests = vec![HeldRequest { retries: 0, state, payload: payload_bytes }];
    let subtasks = vec![HeldSubtask { subtask: SubtaskIndex(0), announced: 1, requests }];
    let held = HeldCheckpoint { checkpoint: CheckpointId(3), number_of_subtasks: 2, subtasks };
    let work = |records| WriterStateElement { transaction: name, records, version: 1, bytes: Vec::new() };
    let busy = TaskSnapshot {
        reader: encode_reader_state(&[payload(position(0, 7))]),
        writer: encode_writer_state(&[work(ranges(5, 7))]),
        committer: encode_committer_state([held].into_iter()),
        coordinated: postcard::to_stdvec(&300_u64).unwrap(),
        channels: encode_channel_state(&vec![(SubtaskIndex(1), vec![overtaken(9)])]),
    };
    CompletedCheckpoint {
        kind: CheckpointKind::Recovery,
        id: CheckpointId(3),
        coordinators: vec![(SOURCE, enumerator), (COORDINATED, vec![9, 9])],
        subtasks: vec![
            SubtaskState { subtask: subtask(0), snapshot: Arc::new(busy), finished: false },
            SubtaskState { subtask: subtask(1), snapshot: Arc::default(), finished: true },
        ],
    }
}

#[test]
fn everything_is_found_where_it_is_held() {
    let contents = decode(&checkpoint(), &config()).unwrap();
    assert_eq!(contents.enumerators, [position(2, 80), position(3, 120)]);
    assert_eq!(contents.readers, [(subtask(0), position(0, 7))]);
    let name = TransactionName::new(subtask(0), CheckpointId(3));
    assert_eq!(contents.committables, [(subtask(0), name, RecordRanges::new())]);
    assert_eq!(contents.writers, [(subtask(0), name, ranges(5, 7))]);
    assert_eq!(contents.channels, [(subtask(0), ranges(9, 10))]);
    assert_eq!(contents.finished, [subtask(1)]);
    assert_eq!(contents.coordinated, [(subtask(0), 300)]);
}

#[test]
fn a_checkpoint_without_state_holds_nothing() {
    let empty = CompletedCheckpoint {
        kind: CheckpointKind::Recovery,
        id: CheckpointId(1),
        coordinators: Vec::new(),
        subtasks: Vec::new(),
    };
    assert_eq!(decode(&empty, &config()), Ok(CheckpointContents::default()));
}

#[test]
fn what_cannot_be_read_is_named() {
    let mut unknown = checkpoint();
    unknown.coordinators[1].0 = OperatorUid(8);
    assert_eq!(decode(&unknown, &config()), Err(ContentsError::UnknownOperator(OperatorUid(8))));

    let mut damaged = checkpoint();
    damaged.coordinators[0].1 = vec![250];
    let error = decode(&damaged, &config()).unwrap_err();
    assert!(matches!(error, ContentsError::Coordinator { operator: SOURCE, .. }), "{error}");

    type Part = fn(&mut TaskSnapshot) -> &mut Vec<u8>;
    let damage: [(&str, Part); 5] = [
        ("reader", |snapshot| &mut snapshot.reader),
        ("committer", |snapshot| &mut snapshot.committer),
        ("writer", |snapshot| &mut snapshot.writer),
        ("coordinated", |snapshot| &mut snapshot.coordinated),
        ("channel", |snapshot| &mut snapshot.channels),
    ];
    for (name, of) in damage {
        let mut damaged = checkpoint();
        *of(Arc::make_mut(&mut damaged.subtasks[1].snapshot)) = vec![250];
        let error = decode(&damaged, &config()).unwrap_err();
        assert!(
            matches!(&error, ContentsError::Subtask { part, subtask: of, .. } if *part == name && *of == subtask(1)),
            "{name}: {error}"
        );
    }
}
