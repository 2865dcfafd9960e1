//! Lives of the sink's writer on a small file system.

use super::super::tests::perform;
use super::*;
use crate::api::sink::SinkCommittable;
use crate::connectors::file_sink::FileCommitter;
use crate::ids::{AttemptNumber, LeaderEpoch, SplitId, SubtaskId};
use crate::message::StoreReply;
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

fn context(attempt: u32, restored: Option<u64>) -> WriterInitContext {
    WriterInitContext {
        subtask: SubtaskId::default(),
        fence: Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(attempt) },
        parallelism: 1,
        restored: restored.map(CheckpointId),
        write_buffer_records: 1,
        commit_script: None,
        commit_back_off_ns: 0,
    }
}

fn writer(attempt: u32, restored: Option<u64>, defects: DefectSet) -> FileSinkWriter {
    FileSink::new(FileSinkConfig::DEFAULT, defects).create_writer(&context(attempt, restored))
}

/// Carries out what was asked for, and lets the writer ask for what follows.
fn carry_out(writer: &mut FileSinkWriter, io: &mut SinkIo, files: &mut Files) {
    while let Some(request) = io.next_request() {
        let StoreRequest::File(operation) = &request else { panic!("files only: {request:?}") };
        let answer = StoreReply::File(perform(files, operation)).into();
        assert_eq!(writer.answered(&request, answer, io), WriterVerdict::Settled, "{request:?}");
    }
}

fn open(writer: &mut FileSinkWriter, keep: &[TransactionName], files: &mut Files) {
    let mut io = SinkIo::default();
    writer.open(keep, &mut io);
    carry_out(writer, &mut io, files);
}

fn write(writer: &mut FileSinkWriter, offsets: std::ops::Range<u64>, files: &mut Files) {
    let mut io = SinkIo::default();
    for offset in offsets {
        let split = SplitId::default();
        writer.write(Record { split, offset, event_time_ms: 0, key: 0, payload: Vec::new() }, &mut io);
    }
    assert!(io.len() <= 1, "lines in a row are one write");
    carry_out(writer, &mut io, files);
}

/// A checkpoint: what is handed over, and the state.
fn checkpoint(
    writer: &mut FileSinkWriter,
    files: &mut Files,
) -> (Vec<FileOfRecords>, Vec<WriterStateElement>) {
    let mut io = SinkIo::default();
    writer.flush(false, &mut io);
    let prepared = writer.prepare_commit(&mut io);
    carry_out(writer, &mut io, files);
    (prepared, writer.snapshot_state(CheckpointId(1)))
}

#[test]
fn a_file_that_stays_open_is_state_and_the_next_life_seals_it() {
    let mut files = Files::new();
    let mut first = writer(0, None, DefectSet::NONE);
    open(&mut first, &[], &mut files);
    write(&mut first, 0..3, &mut files);
    let (prepared, state) = checkpoint(&mut first, &mut files);
    assert!(prepared.is_empty(), "the default policy closes nothing at a checkpoint (FACT 82)");
    assert_eq!((state.len(), state[0].records.len()), (1, 3));
    // What comes behind the checkpoint is no part of it.
    write(&mut first, 3..5, &mut files);
    let mut second = writer(1, Some(1), DefectSet::NONE);
    second.restore_state(state.clone()).expect("it was written by the same version");
    open(&mut second, &[], &mut files);
    // The first life is not dead.
    write(&mut first, 5..6, &mut files);
    write(&mut second, 3..4, &mut files);
    let (prepared, state) = checkpoint(&mut second, &mut files);
    let [sealed] = &prepared[..] else { panic!("the old file alone: {prepared:?}") };
    assert_eq!((sealed.transaction(), sealed.records_held().len()), (transaction_in(&files, 0), 3));
    assert_eq!(state.len(), 1, "new records are in a file of their own");
    let operation = FileCommitter::new(DefectSet::NONE).commit(&sealed.committable).expect("it is closed");
    assert_eq!(perform(&mut files, &operation), FileAnswer::Done);
    let visible: Vec<&Vec<u8>> =
        files.iter().filter(|(path, _)| !path.starts_with('.')).map(|(_, it)| it).collect();
    assert_eq!(visible, [b"0.0.0\n0.0.1\n0.0.2\n"]);
}

/// The transaction of the hidden file that this life made.
fn transaction_in(files: &Files, attempt: u32) -> TransactionName {
    let made = |name: &TransactionName| name.part.is_some_and(|part| part.fence.attempt.0 == attempt);
    files.keys().filter_map(|path| transaction_of(path)).find(made).expect("it made one")
}

#[test]
fn leftovers_of_older_lives_go_unless_somebody_holds_them() {
    for (keeps, defects) in [
        (false, DefectSet::NONE),
        (true, DefectSet::NONE),
        (false, DefectSet::NONE.with(Defect::FileOrphansKept)),
    ] {
        let mut files = Files::from([("notes.txt".to_owned(), Vec::new())]);
        let mut first = writer(0, None, DefectSet::NONE);
        open(&mut first, &[], &mut files);
        write(&mut first, 0..3, &mut files);
        let left = transaction_in(&files, 0);
        let mut second = writer(1, None, defects);
        open(&mut second, if keeps { std::slice::from_ref(&left) } else { &[] }, &mut files);
        let stays = keeps || defects.has(Defect::FileOrphansKept);
        assert_eq!(files.len(), 1 + usize::from(stays), "{files:?}");
        assert!(files.contains_key("notes.txt"), "nobody's file is everybody's");
    }
}

#[test]
fn each_bucket_has_a_file_of_its_own_and_each_file_is_a_transaction() {
    let config = FileSinkConfig {
        buckets: 2,
        policy: super::super::RollingPolicy::OnCheckpoint,
        ..FileSinkConfig::DEFAULT
    };
    let mut writer = FileSink::new(config, DefectSet::NONE).create_writer(&context(0, None));
    let mut files = Files::new();
    open(&mut writer, &[], &mut files);
    let mut io = SinkIo::default();
    for key in 0..4 {
        let split = SplitId::default();
        writer.write(Record { split, offset: key, event_time_ms: 0, key, payload: Vec::new() }, &mut io);
    }
    assert_eq!(io.len(), 2, "lines that take turns are one write for each file");
    carry_out(&mut writer, &mut io, &mut files);
    let (prepared, state) = checkpoint(&mut writer, &mut files);
    assert!(state.is_empty(), "every file is closed");
    let names: Vec<_> = prepared.iter().map(SinkCommittable::transaction).collect();
    assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
    assert!(names.iter().all(|name| name.number == CheckpointId(1)), "both count under one number");
    for file in &prepared {
        let bytes = file.to_bytes();
        assert_eq!(FileOfRecords::from_bytes(FileOfRecords::VERSION, &bytes).as_ref(), Ok(file));
        assert_eq!(file.records_held().len(), 2);
    }
    assert!(FileOfRecords::from_bytes(9, &[]).is_err());
}
