//! Lives of a compacting sink on a small file system, with a job master that keeps one checkpoint.

use super::super::tests::perform;
use super::*;
use crate::api::sink::{CommitRequest, Committer};
use crate::config::FileSinkConfig;
use crate::connectors::file_sink::{RollingPolicy, provenance};
use crate::ids::{AttemptNumber, Fence, LeaderEpoch, SplitId, SubtaskId};
use crate::message::StoreReply;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

/// What a completed checkpoint holds.
#[derive(Clone, Debug, Default)]
struct Checkpoint {
    writer: Vec<WriterStateElement>,
    committables: Vec<FileOfRecords>,
    next_record: u64,
}

/// One subtask, from life to life.
struct Host {
    sink: CompactingFileSink,
    files: Files,
    writer: CompactingFileWriter,
    /// What no completed checkpoint has let go yet.
    committables: Vec<FileOfRecords>,
    completed: (u64, Checkpoint),
    attempt: u32,
    next_record: u64,
}

impl Host {
    fn new(every_checkpoints: u32, defects: DefectSet) -> Self {
        let policy = RollingPolicy::OnCheckpoint;
        let config = FileSinkConfig { policy, buckets: 2, ..FileSinkConfig::DEFAULT };
        let compaction = CompactionConfig { every_checkpoints };
        let sink = CompactingFileSink { sink: FileSink::new(config, defects), compaction };
        let writer = sink.create_writer(&context(0, 0));
        let mut host = Self {
            sink,
            files: Files::new(),
            writer,
            committables: Vec::new(),
            completed: (0, Checkpoint::default()),
            attempt: 0,
            next_record: 0,
        };
        host.open();
        host
    }

    /// Carries out what was asked for, and lets the writer ask for what follows.
    fn carry_out(&mut self, io: &mut SinkIo) {
        while let Some(request) = io.next_request() {
            let StoreRequest::File(operation) = &request else { panic!("files only: {request:?}") };
            let answer = StoreReply::File(perform(&mut self.files, operation)).into();
            assert_eq!(self.writer.answered(&request, answer, io), WriterVerdict::Settled, "{request:?}");
        }
    }

    fn open(&mut self) {
        let keep: Vec<_> = self.committables.iter().map(SinkCommittable::transaction).collect();
        let mut io = SinkIo::default();
        self.writer.open(&keep, &mut io);
        self.carry_out(&mut io);
    }

    fn write(&mut self, records: u64) {
        let mut io = SinkIo::default();
        for _ in 0..records {
            let (split, offset) = (SplitId::default(), self.next_record);
            let record = Record { split, offset, event_time_ms: 0, key: offset, payload: Vec::new() };
            self.writer.write(record, &mut io);
            self.next_record += 1;
        }
        self.carry_out(&mut io);
    }

    /// The part of a checkpoint that comes before its completion.
    fn prepare(&mut self, end_of_input: bool) -> Checkpoint {
        let mut io = SinkIo::default();
        self.writer.flush(end_of_input, &mut io);
        let prepared = self.writer.prepare_commit(&mut io);
        self.carry_out(&mut io);
        self.committables.extend(prepared);
        let writer = self.writer.snapshot_state(CheckpointId(self.completed.0 + 1));
        Checkpoint { writer, committables: self.committables.clone(), next_record: self.next_record }
    }

    fn complete(&mut self, checkpoint: Checkpoint) {
        self.completed = (self.completed.0 + 1, checkpoint);
    }

    /// Commits everything, or dies after so many store requests of it; answers how many there were.
    fn commit(&mut self, requests_max: usize) -> usize {
        let mut requests = 0;
        let mut committer = self.sink.create_committer(&context(self.attempt, self.completed.0));
        for committable in std::mem::take(&mut self.committables) {
            let mut request = CommitRequest::new(committable, 0);
            let mut io = SinkIo::default();
            committer.commit(&mut request, &mut io);
            while let Some(asked) = io.next_request() {
                if requests == requests_max {
                    return requests;
                }
                requests += 1;
                let StoreRequest::File(operation) = &asked else { panic!("files only: {asked:?}") };
                let answer = StoreReply::File(perform(&mut self.files, operation)).into();
                committer.answered(&mut request, answer, &mut io);
            }
        }
        requests
    }

    /// The next life: what the completed checkpoint holds is committed again before the writer opens.
    fn restart(&mut self) {
        let (number, checkpoint) = self.completed.clone();
        self.attempt += 1;
        self.writer = self.sink.create_writer(&context(self.attempt, number));
        self.writer.restore_state(checkpoint.writer).expect("it was written by the same version");
        self.next_record = checkpoint.next_record;
        self.committables = checkpoint.committables;
        self.commit(usize::MAX);
        self.open();
    }

    /// The offsets in the visible files, as they stand there.
    fn visible(&self) -> Vec<u64> {
        let is_visible = |path: &str| !path.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
        let visible = self.files.iter().filter(|(path, _)| is_visible(path));
        visible.flat_map(|(_, bytes)| provenance(bytes).map(|(_, offset, _)| offset)).collect()
    }

    fn hidden(&self) -> usize {
        self.files.keys().filter(|path| path.contains(".inprogress.")).count()
    }

    /// The end of the input, a last checkpoint, and its commit.
    fn finish(&mut self) {
        let last = self.prepare(true);
        self.complete(last);
        self.commit(usize::MAX);
    }
}

fn context(attempt: u32, restored: u64) -> WriterInitContext {
    WriterInitContext {
        subtask: SubtaskId::default(),
        fence: Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(attempt) },
        parallelism: 1,
        restored: (restored > 0).then_some(CheckpointId(restored)),
        write_buffer_records: 1,
        commit_script: None,
        commit_back_off_ns: 0,
    }
}

#[test]
fn files_of_several_checkpoints_become_one_in_each_folder() {
    let mut host = Host::new(2, DefectSet::NONE);
    host.write(6);
    let first = host.prepare(false);
    assert_eq!((first.writer.len(), first.committables.len()), (2, 0), "kept, one file of each bucket");
    host.complete(first);
    host.write(6);
    let second = host.prepare(false);
    assert_eq!((second.writer.len(), second.committables.len()), (0, 2));
    assert!(second.committables.iter().all(|file| file.records_held().len() == 6), "{second:?}");
    assert_eq!(host.hidden(), 6, "two of each bucket, and what is made of them");
    host.complete(second);
    host.commit(usize::MAX);
    assert_eq!((host.files.len(), host.hidden()), (2, 0), "the sources went with the commit");
    assert_eq!(host.visible(), [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11], "in the order in which they came");
}

#[test]
fn a_file_alone_is_not_copied() {
    let mut host = Host::new(1, DefectSet::NONE);
    host.write(1);
    let only = host.prepare(false);
    assert!(matches!(
        only.committables[0].committable,
        crate::connectors::file_sink::FileSinkCommittable::Pending(_)
    ));
    host.complete(only);
    assert_eq!(host.commit(usize::MAX), 1);
    assert_eq!((host.visible(), host.hidden()), (vec![0], 0));
}

#[test]
fn a_source_that_lost_bytes_ends_the_writer() {
    let mut host = Host::new(2, DefectSet::NONE);
    host.write(1);
    let first = host.prepare(false);
    host.complete(first);
    host.files.values_mut().for_each(Vec::clear);
    host.write(2);
    let mut io = SinkIo::default();
    host.writer.prepare_commit(&mut io);
    let mut verdicts = Vec::new();
    while let Some(request) = io.next_request() {
        let StoreRequest::File(operation) = &request else { panic!("files only: {request:?}") };
        let answer = StoreReply::File(perform(&mut host.files, operation)).into();
        verdicts.push(host.writer.answered(&request, answer, &mut io));
    }
    assert!(
        matches!(verdicts.last(), Some(WriterVerdict::Failed(cause)) if cause.contains("0 bytes")),
        "{verdicts:?}"
    );
}

/// What may happen to a subtask.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Writes(u64),
    Completes,
    /// A checkpoint that no one completes; what it prepared rides on the next.
    Aborts,
    /// It dies after a checkpoint is prepared, before it is complete.
    DiesBeforeCompletion,
    /// It dies when so many requests of the commit are carried out.
    DiesInCommit(usize),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let happening = prop_oneof![
        (1u64..6).prop_map(Happening::Writes),
        Just(Happening::Completes),
        Just(Happening::Aborts),
        Just(Happening::DiesBeforeCompletion),
        (0usize..8).prop_map(Happening::DiesInCommit),
    ];
    proptest::collection::vec(happening, 0..24)
}

fn live(host: &mut Host, happenings: Vec<Happening>) {
    for happening in happenings {
        match happening {
            Happening::Writes(records) => host.write(records),
            Happening::Aborts => drop(host.prepare(false)),
            Happening::Completes => {
                let checkpoint = host.prepare(false);
                host.complete(checkpoint);
                host.commit(usize::MAX);
            }
            Happening::DiesBeforeCompletion => {
                let _ = host.prepare(false);
                host.restart();
            }
            Happening::DiesInCommit(requests) => {
                let checkpoint = host.prepare(false);
                host.complete(checkpoint);
                host.commit(requests);
                host.restart();
            }
        }
    }
    host.finish();
}

proptest! {
    #[test]
    fn each_record_is_visible_once_and_nothing_hidden_is_left(
        every_checkpoints in 1u32..4, happenings in happenings(),
    ) {
        let mut host = Host::new(every_checkpoints, DefectSet::NONE);
        live(&mut host, happenings);
        let mut visible = host.visible();
        visible.sort_unstable();
        prop_assert_eq!(visible, (0..host.next_record).collect::<Vec<_>>());
        prop_assert_eq!(host.hidden(), 0, "{:?}", host.files.keys());
    }
}

#[test]
fn each_defect_loses_what_it_says() {
    for (defect, happenings) in [
        (
            Defect::OneLeftoverCompacted,
            vec![Happening::Writes(4), Happening::Completes, Happening::DiesBeforeCompletion],
        ),
        (
            Defect::CompactorEndsUnflushed,
            vec![Happening::Writes(4), Happening::Completes, Happening::Writes(1)],
        ),
    ] {
        let mut right = Host::new(3, DefectSet::NONE);
        live(&mut right, happenings.clone());
        assert_eq!(right.visible().len() as u64, right.next_record);
        let mut wrong = Host::new(3, DefectSet::NONE.with(defect));
        live(&mut wrong, happenings);
        assert!((wrong.visible().len() as u64) < wrong.next_record, "{defect:?}");
    }
}

#[test]
fn sources_that_go_early_are_missed_by_a_restore() {
    let mut host = Host::new(2, DefectSet::NONE.with(Defect::SourcesRemovedEarly));
    host.write(2);
    let first = host.prepare(false);
    host.complete(first);
    host.write(2);
    let _ = host.prepare(false);
    let missed = |element: &WriterStateElement| {
        let file = FileOfRecords::from_bytes(FileOfRecords::VERSION, &element.bytes).expect("a closed file");
        !host.files.contains_key(&file.committable.file().hidden)
    };
    assert!(host.completed.1.writer.iter().all(missed), "the checkpoint that would be restored names them");
}
