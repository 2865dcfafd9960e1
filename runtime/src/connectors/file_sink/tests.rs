//! Whole lives of a writer and its committer on a small file system: whatever happens between, each record is in exactly
//! one visible file at the end.

use super::*;
use crate::api::file_io::{FileAnswer, FileIo, FileOperation};
use crate::defects::DefectSet;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a file system does with an operation.
pub(super) fn perform(files: &mut BTreeMap<String, Vec<u8>>, operation: &FileOperation) -> FileAnswer {
    match operation {
        FileOperation::Write { path, at, bytes } => {
            let file = files.entry(path.clone()).or_default();
            file.truncate(*at as usize);
            assert_eq!(file.len() as u64, *at, "no gap is written");
            file.extend_from_slice(bytes);
            FileAnswer::Done
        }
        FileOperation::Sync { path, .. } if files.contains_key(path) => FileAnswer::Done,
        FileOperation::Resume { path, length } => match files.get_mut(path) {
            Some(file) => {
                file.truncate(*length as usize);
                FileAnswer::Done
            }
            None => FileAnswer::NotFound,
        },
        FileOperation::Publish { hidden, target, length } => match files.remove(hidden) {
            Some(mut file) => {
                file.truncate(*length as usize);
                files.insert(target.clone(), file);
                FileAnswer::Done
            }
            None if files.contains_key(target) => FileAnswer::AlreadyDone,
            None => FileAnswer::NotFound,
        },
        FileOperation::Delete { path } => match files.remove(path) {
            Some(_) => FileAnswer::Done,
            None => FileAnswer::AlreadyDone,
        },
        FileOperation::List { .. } => {
            FileAnswer::Listed(files.iter().map(|(path, file)| (path.clone(), file.len() as u64)).collect())
        }
        FileOperation::Read { path, at, length } => match files.get(path) {
            Some(file) => {
                let left = file.get(*at as usize..).unwrap_or_default();
                FileAnswer::Bytes(left[..left.len().min(*length as usize)].to_vec())
            }
            None => FileAnswer::NotFound,
        },
        other => panic!("unexpected {other:?}"),
    }
}

/// A checkpoint: its writer state, the committables that the committer's state holds, and where the source stood.
#[derive(Clone)]
struct Checkpoint {
    buckets: Vec<BucketState>,
    committables: Vec<FileSinkCommittable>,
    next_record: u32,
}

/// One subtask with its files.
struct Host {
    config: FileWriterConfig,
    files: BTreeMap<String, Vec<u8>>,
    writer: FileWriter,
    uncommitted: Vec<FileSinkCommittable>,
    taken: Option<Checkpoint>,
    completed: Option<Checkpoint>,
    next_record: u32,
    now_ms: u64,
    lives: u32,
}

impl Host {
    fn new(config: FileWriterConfig) -> Self {
        let writer = FileWriter::new(config, UniqueNames::new("life0-".to_owned()), 0);
        Self {
            config,
            files: BTreeMap::new(),
            writer,
            uncommitted: Vec::new(),
            taken: None,
            completed: None,
            next_record: 0,
            now_ms: 0,
            lives: 1,
        }
    }

    fn carry_out(&mut self, mut io: FileIo) {
        while let Some(operation) = io.next_operation() {
            let answer = perform(&mut self.files, &operation);
            self.writer.answered(&operation, answer).expect("this file system loses nothing");
        }
    }

    fn write(&mut self) {
        let (record, folder) = (self.next_record, if self.next_record.is_multiple_of(3) { "a" } else { "" });
        let mut io = FileIo::default();
        self.writer.write(folder, format!("{record}\n").as_bytes(), self.now_ms, &mut io);
        self.carry_out(io);
        self.next_record += 1;
    }

    fn pass(&mut self, time_ms: u64) {
        self.now_ms += time_ms;
        if self.now_ms >= self.writer.next_check_ms() {
            let mut io = FileIo::default();
            self.writer.on_processing_time(self.now_ms, &mut io);
            self.carry_out(io);
        }
    }

    fn checkpoint(&mut self, end_of_input: bool) {
        let mut io = FileIo::default();
        self.uncommitted.extend(self.writer.prepare_commit(end_of_input, &mut io));
        let buckets = self.writer.snapshot_state(&mut io);
        self.carry_out(io);
        let committables = self.uncommitted.clone();
        self.taken = Some(Checkpoint { buckets, committables, next_record: self.next_record });
    }

    fn complete(&mut self, is_noticed: bool) {
        let Some(taken) = self.taken.take() else { return };
        if is_noticed {
            self.commit(&taken.committables);
            self.uncommitted.drain(..taken.committables.len());
        }
        self.completed = Some(taken);
    }

    fn commit(&mut self, committables: &[FileSinkCommittable]) {
        let committer = FileCommitter::new(DefectSet::NONE);
        for committable in committables {
            let stored =
                FileSinkCommittable::from_bytes(FileSinkCommittable::VERSION, &committable.to_bytes());
            assert_eq!(stored.as_ref(), Ok(committable));
            if let Some(operation) = committer.commit(committable) {
                let answer = perform(&mut self.files, &operation);
                committer.answered(committable, answer).expect("nothing is lost");
            }
        }
    }

    fn crash(&mut self) {
        self.taken = None;
        let names = UniqueNames::new(format!("life{}-", self.lives));
        self.lives += 1;
        self.writer = FileWriter::new(self.config, names, self.now_ms);
        self.uncommitted.clear();
        let Some(restored) = self.completed.clone() else {
            self.next_record = 0;
            return;
        };
        self.commit(&restored.committables);
        let mut io = FileIo::default();
        self.writer.restore(restored.buckets, &mut io);
        self.carry_out(io);
        self.next_record = restored.next_record;
    }

    /// The records in visible files, in order.
    fn visible(&self) -> Vec<u32> {
        let is_visible = |path: &str| !path.rsplit('/').next().unwrap_or_default().starts_with('.');
        let visible = self.files.iter().filter(|(path, _)| is_visible(path));
        let mut records: Vec<u32> = visible.flat_map(|(_, bytes)| self.records_in(bytes)).collect();
        records.sort_unstable();
        records
    }

    fn records_in(&self, bytes: &[u8]) -> Vec<u32> {
        let rows = match self.config.format {
            Format::Row => bytes,
            Format::Bulk => match bytes.strip_suffix(BULK_MAGIC) {
                Some(rest) => &rest[..rest.len() - 8],
                // Without its footer nobody can read it.
                None => return Vec::new(),
            },
        };
        let text = std::str::from_utf8(rows).expect("rows are text");
        text.lines().map(|line| line.parse().expect("a record is a number")).collect()
    }

    fn end(mut self) -> (Vec<u32>, u32) {
        self.checkpoint(true);
        self.complete(true);
        (self.visible(), self.next_record)
    }
}

fn small() -> RollingPolicy {
    RollingPolicy::Default { part_size_max_bytes: 8, rollover_interval_ms: 60, inactivity_interval_ms: 30 }
}

fn config(policy: RollingPolicy, format: Format) -> FileWriterConfig {
    FileWriterConfig { policy, bucket_check_interval_ms: 25, format, recovery: Recovery::ResumeInPlace }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write,
    Pass(u64),
    Checkpoint,
    Complete,
    CompleteUnnoticed,
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Write),
        2 => (1_u64..40).prop_map(Step::Pass),
        2 => Just(Step::Checkpoint),
        2 => Just(Step::Complete),
        1 => Just(Step::CompleteUnnoticed),
        1 => Just(Step::Crash),
    ];
    prop::collection::vec(step, 0..60)
}

fn live(config: FileWriterConfig, steps: &[Step]) -> (Vec<u32>, u32) {
    let mut host = Host::new(config);
    for step in steps {
        match step {
            Step::Write => host.write(),
            Step::Pass(time_ms) => host.pass(*time_ms),
            Step::Checkpoint => host.checkpoint(false),
            Step::Complete => host.complete(true),
            Step::CompleteUnnoticed => host.complete(false),
            Step::Crash => host.crash(),
        }
    }
    host.end()
}

proptest! {
    #[test]
    fn each_record_is_in_one_visible_file(
        steps in steps(),
        policy in prop_oneof![Just(RollingPolicy::OnCheckpoint), Just(small()), Just(RollingPolicy::DEFAULT)],
    ) {
        let (visible, written) = live(config(policy, Format::Row), &steps);
        prop_assert_eq!(visible, (0..written).collect::<Vec<_>>());
    }

    #[test]
    fn a_bulk_format_that_rolls_at_checkpoints_loses_nothing(steps in steps()) {
        let (visible, written) = live(config(RollingPolicy::OnCheckpoint, Format::Bulk), &steps);
        prop_assert_eq!(visible, (0..written).collect::<Vec<_>>());
    }
}

#[test]
fn a_bulk_format_that_does_not_roll_at_checkpoints_loses_what_it_has_gathered() {
    let steps = [Step::Write, Step::Write, Step::Checkpoint, Step::Complete, Step::Crash, Step::Write];
    let (visible, written) = live(config(RollingPolicy::DEFAULT, Format::Bulk), &steps);
    assert_eq!((visible, written), (vec![2], 3), "records 0 and 1 were in memory only");
}

#[test]
fn fact_91_a_file_is_old_enough_one_check_later_when_its_first_record_came_after_the_start() {
    for (first_record_at_ms, rolled_at_ms) in [(0, 60_000), (5, 120_000)] {
        let config = FileWriterConfig {
            policy: RollingPolicy::DEFAULT,
            bucket_check_interval_ms: 60_000,
            format: Format::Row,
            recovery: Recovery::Seal,
        };
        let mut host = Host::new(config);
        host.pass(first_record_at_ms);
        host.write();
        host.pass(60_000 - first_record_at_ms);
        host.checkpoint(false);
        let pending = host.uncommitted.iter().any(|held| matches!(held, FileSinkCommittable::Pending(_)));
        assert_eq!(pending, rolled_at_ms == 60_000);
        host.pass(60_000);
        host.checkpoint(false);
        assert!(host.uncommitted.iter().any(|held| matches!(held, FileSinkCommittable::Pending(_))));
    }
}

#[test]
fn a_pending_file_that_is_gone_is_an_error_and_for_flink_none() {
    let mut names = UniqueNames::new(String::new());
    let file = PartFile::new("", "part-1-0", &names.next(), 0);
    let committable = FileSinkCommittable::Pending(file);
    let honest = FileCommitter::new(DefectSet::NONE);
    let said = honest.answered(&committable, FileAnswer::NotFound).unwrap_err().to_string();
    assert!(said.contains("part-1-0 is not there"), "{said}");
    let flink = FileCommitter::new(DefectSet::NONE.with(crate::defects::Defect::MissingPendingFileIgnored));
    assert_eq!(flink.answered(&committable, FileAnswer::NotFound), Ok(()));
}
