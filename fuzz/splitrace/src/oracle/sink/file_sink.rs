//! The file sink on a file system in memory (FACTS 82 to 93): its writer and committer behind the ports of the operators.
//!
//! Every operation on a file is carried out at once. The files, and the numbers that stand for unique names in answers, are
//! shared by all instances of the component, as they lie outside every sink.

use super::{Chain, Effect, Place, restored_committer, restored_writers};
use crate::oracle::committables::{Call, ScriptedCommitter};
use crate::oracle::{Operation, OperationError, Stored};
use serde::{Deserialize, Serialize};
use splitrace_runtime::api::file_io::{FileAnswer, FileIo, FileOperation};
use splitrace_runtime::api::sink::{
    CommitError, CommitSignal, CommittablePayload, CommitterPort, PreparedCommit, PreparedCommittable,
    SinkIo, SinkStateError, StoreAnswer, WriterPort, WriterVerdict,
};
use splitrace_runtime::connectors::file_sink::{
    BucketState, FileCommitter, FileSinkCommittable, FileWriter, FileWriterConfig, FileWriterError, Format,
    Recovery, RollingPolicy, UniqueNames,
};
use splitrace_runtime::defects::Profile;
use splitrace_runtime::ids::{CheckpointId, SubtaskId, TransactionName};
use splitrace_runtime::message::StoreRequest;
use splitrace_runtime::records::{Record, RecordRanges};
use splitrace_sim::outside::FileSystem;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};

/// Under which name the outside is stored; no snapshot can have it.
const OUTSIDE: &str = "\0outside";
/// The recordings' bucket check interval, in milliseconds.
const CHECK_INTERVAL_MS: i64 = 60_000;

/// What lies outside every sink.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Outside {
    files: FileSystem,
    /// Unique names in the order in which answers first showed them.
    shown: Vec<String>,
    writers: u32,
}

impl Outside {
    fn of(stored: &Stored) -> Self {
        stored
            .get(OUTSIDE)
            .map_or_else(Self::default, |bytes| postcard::from_bytes(bytes).expect("the oracle wrote it"))
    }

    fn keep(&self, stored: &mut Stored) {
        let bytes = postcard::to_stdvec(self).expect("plain data");
        stored.insert(OUTSIDE.to_owned(), bytes);
    }

    /// The number that stands for a unique name.
    fn number(&mut self, unique: &str) -> usize {
        let known = self.shown.iter().position(|shown| shown == unique);
        known.unwrap_or_else(|| {
            self.shown.push(unique.to_owned());
            self.shown.len() - 1
        })
    }

    /// A file's name with numbers in the place of what is unique: `part-U-0`, `.part-U-0.inprogress.V`.
    fn renamed(&mut self, name: &str) -> String {
        let mut parts = name.splitn(3, '-');
        let (Some(part), Some(unique), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return name.to_owned();
        };
        let number = self.number(unique);
        match rest.split_once(".inprogress.") {
            Some((counter, second)) => {
                let second = self.number(second);
                format!("{part}-u{number}-{counter}.inprogress.u{second}")
            }
            None => format!("{part}-u{number}-{rest}"),
        }
    }
}

/// What a file sink's writer, committer and host share.
#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    files: FileSystem,
    writer: FileWriter,
    now_ms: u64,
}

impl Shared {
    fn with<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets the writer do something, and carries out what it asks for.
    fn write<R>(&self, act: impl FnOnce(&mut FileWriter, u64, &mut FileIo) -> R) -> R {
        self.with(|inner| {
            let mut io = FileIo::default();
            let done = act(&mut inner.writer, inner.now_ms, &mut io);
            while let Some(operation) = io.next_operation() {
                inner.files.perform(&operation);
            }
            done
        })
    }
}

/// The host's side of a file sink.
#[derive(Debug)]
pub(super) struct FileSide {
    shared: Shared,
    /// Whether its writer restored a state.
    pub(super) is_restored: bool,
}

impl FileSide {
    /// The files as others left them.
    pub(super) fn load(&self, stored: &Stored) {
        self.shared.with(|inner| inner.files = Outside::of(stored).files);
    }

    /// The files for others.
    pub(super) fn save(&self, stored: &mut Stored) {
        let files = self.shared.with(|inner| inner.files.clone());
        Outside { files, ..Outside::of(stored) }.keep(stored);
    }

    /// Lets processing time pass; answers how often the buckets were checked.
    pub(super) fn advance(&self, to: i64) -> u64 {
        let to_ms = u64::try_from(to).unwrap_or_default();
        let mut checks = 0;
        while self.shared.with(|inner| inner.writer.next_check_ms()) <= to_ms {
            self.shared.with(|inner| inner.now_ms = inner.writer.next_check_ms());
            self.shared.write(|writer, now_ms, io| writer.on_processing_time(now_ms, io));
            checks += 1;
        }
        self.shared.with(|inner| inner.now_ms = inner.now_ms.max(to_ms));
        checks
    }
}

/// A chain around a file sink.
pub(super) fn chain(
    operation: &Operation,
    stored: &mut Stored,
    told: &ScriptedCommitter<Vec<Effect>>,
) -> Result<Chain, OperationError> {
    let place = Place::of(operation)?;
    let mut outside = Outside::of(stored);
    outside.writers += 1;
    let names = UniqueNames::new(format!("w{}x", outside.writers));
    outside.keep(stored);
    let now_ms = u64::try_from(operation.number_or("now", 0)).unwrap_or_default();
    let writer = FileWriter::new(config_of(operation)?, names, now_ms);
    let shared = Shared(Arc::new(Mutex::new(Inner { files: outside.files, writer, now_ms })));
    let port = FileCommitterPort { told: told.clone(), shared: shared.clone() };
    let side = FileSide { shared: shared.clone(), is_restored: place.restored.is_some() };
    let restored = restored_committer(Box::new(port), place, operation, stored, told).and_then(|committer| {
        restore(&shared, &restored_writers(place, operation, stored)?).map(|()| committer)
    });
    side.save(stored);
    let folder = operation.text("dir")?.to_owned();
    let number = place.restored.unwrap_or_default().next();
    let transaction = TransactionName::new(SubtaskId::default(), number);
    let writer = FileWriterPort { shared, folder, transaction, input_ends: false };
    let mut chain = Chain::new(place, Box::new(writer), restored?, told);
    chain.files = Some(side);
    Ok(chain)
}

fn config_of(operation: &Operation) -> Result<FileWriterConfig, OperationError> {
    let policy = match (operation.text_or("policy", "default"), RollingPolicy::DEFAULT) {
        ("default", policy) => policy,
        ("oncheckpoint", _) => RollingPolicy::OnCheckpoint,
        ("size", RollingPolicy::Default { rollover_interval_ms, inactivity_interval_ms, .. }) => {
            let part_size_max_bytes = operation.index("max")?.into();
            RollingPolicy::Default { part_size_max_bytes, rollover_interval_ms, inactivity_interval_ms }
        }
        (other, _) => return Err(OperationError::Malformed(format!("there is no policy '{other}'"))),
    };
    let interval = operation.number_or("check_interval", CHECK_INTERVAL_MS);
    let bucket_check_interval_ms = u64::try_from(interval).unwrap_or_default().max(1);
    Ok(FileWriterConfig {
        policy,
        bucket_check_interval_ms,
        format: Format::Row,
        recovery: Recovery::ResumeInPlace,
    })
}

/// The writer takes up what it can of its state's files.
fn restore(shared: &Shared, states: &[&[u8]]) -> Result<(), OperationError> {
    let states: Vec<BucketState> = states.iter().flat_map(|bytes| decode_buckets(bytes)).collect();
    shared.with(|inner| {
        let mut io = FileIo::default();
        inner.writer.restore(states, &mut io);
        while let Some(operation) = io.next_operation() {
            let answer = inner.files.perform(&operation);
            inner.writer.answered(&operation, answer).map_err(|error| thrown(&error))?;
        }
        Ok(())
    })
}

/// In Java's words; the recordings leave out what is unique.
fn thrown(error: &FileWriterError) -> OperationError {
    OperationError::Thrown(match error {
        FileWriterError::FileNotFound(path) => {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let counter = name.split('-').nth(2).and_then(|rest| rest.split('.').next()).unwrap_or_default();
            let name = format!(".part-<uuid>-{counter}.inprogress.<uuid>");
            format!("FileNotFoundException: File Not Found: <dir>/{folder}/{name}")
        }
        other => format!("IOException: {other}"),
    })
}

fn decode_buckets(bytes: &[u8]) -> Vec<BucketState> {
    postcard::from_bytes(bytes).expect("the oracle wrote it")
}

/// How many elements a writer's state has.
pub(super) fn state_size(bytes: &[u8]) -> usize {
    decode_buckets(bytes).len()
}

/// Somebody else removes files, adds to them, or looks at them.
pub(super) fn meddle(operation: &Operation, folder: &str, stored: &mut Stored) -> Result<(), OperationError> {
    let mut outside = Outside::of(stored);
    let matching = operation.text_or("match", "").to_owned();
    let hit = |path: &str| path.contains(&matching);
    let paths: Vec<(String, u64)> =
        list(&mut outside.files, folder).into_iter().filter(|(path, _)| hit(path)).collect();
    for (path, length) in paths {
        match operation.name()? {
            "rm" => outside.files.perform(&FileOperation::Delete { path }),
            "append" => {
                let bytes = operation.text("text")?.as_bytes().to_vec();
                outside.files.perform(&FileOperation::Write { path, at: length, bytes })
            }
            _ => continue,
        };
    }
    outside.keep(stored);
    Ok(())
}

fn list(files: &mut FileSystem, folder: &str) -> Vec<(String, u64)> {
    match files.perform(&FileOperation::List { folder: folder.to_owned() }) {
        FileAnswer::Listed(files) => files,
        other => unreachable!("a list lists: {other:?}"),
    }
}

/// The files of a folder, and the recordings' names in the place of the committables of effects. Files come first: their
/// unique names are numbered before those that only a committable has.
pub(super) fn shown(folder: &str, effects: &mut [Effect], stored: &mut Stored) -> BTreeMap<String, String> {
    let mut outside = Outside::of(stored);
    let files = listed(folder, &mut outside);
    name_committables(effects, &mut outside);
    outside.keep(stored);
    files
}

/// The files of a folder: their lines by their names, joined with commas.
fn listed(folder: &str, outside: &mut Outside) -> BTreeMap<String, String> {
    let paths = list(&mut outside.files, folder);
    let mut shown = BTreeMap::new();
    for (path, _) in paths {
        let content = String::from_utf8_lossy(outside.files.read(&path).unwrap_or_default()).into_owned();
        let name = path.rsplit('/').next().unwrap_or_default();
        shown.insert(outside.renamed(name), content.lines().collect::<Vec<_>>().join(","));
    }
    shown
}

/// Puts the recordings' names in the place of committables.
fn name_committables(effects: &mut [Effect], outside: &mut Outside) {
    for effect in effects {
        match effect {
            Effect::WriterEmit { m } | Effect::CommitterEmit { m } => {
                let start = m.find('{').unwrap_or(m.len());
                if let Some(json) = m[start..].strip_suffix(')') {
                    *m = format!("{}{})", &m[..start], name_of(json, outside));
                }
            }
            Effect::Call(Call { reqs }) => {
                for request in reqs {
                    if let Some((json, retries)) = request.rsplit_once('#') {
                        *request = format!("{}#{retries}", name_of(json, outside));
                    }
                }
            }
            _ => {}
        }
    }
}

fn name_of(json: &str, outside: &mut Outside) -> String {
    let committable: FileSinkCommittable = serde_json::from_str(json).expect("the oracle wrote it");
    let kind = match committable {
        FileSinkCommittable::Pending(_) => "pending",
        FileSinkCommittable::Cleanup(_) => "cleanup",
        FileSinkCommittable::Compacted { .. } => unreachable!("the recorded writer compacts nothing"),
    };
    let name = committable.file().target.rsplit('/').next().unwrap_or_default();
    format!("{kind}:{}", outside.renamed(name))
}

/// The committable as the operators carry it: a text, like all of the oracle's.
fn payload_of(committable: &FileSinkCommittable) -> CommittablePayload {
    let bytes = serde_json::to_vec(committable).expect("plain data");
    let transaction = TransactionName::default();
    CommittablePayload { transaction, version: FileSinkCommittable::VERSION, bytes }
}

fn committable_of(payload: &CommittablePayload) -> FileSinkCommittable {
    serde_json::from_slice(&payload.bytes).expect("the oracle wrote it")
}

/// The writer behind its port.
#[derive(Clone, Debug)]
struct FileWriterPort {
    shared: Shared,
    folder: String,
    transaction: TransactionName,
    input_ends: bool,
}

impl WriterPort for FileWriterPort {
    fn transaction(&self) -> TransactionName {
        self.transaction
    }

    fn open(&mut self, _keep: &[TransactionName], _io: &mut SinkIo) {}

    fn write(&mut self, records: &mut Vec<Record>, _io: &mut SinkIo) {
        for mut record in records.drain(..) {
            record.payload.push(b'\n');
            self.shared.write(|writer, now_ms, io| {
                writer.write(&self.folder, &record.payload, now_ms, io);
            });
        }
    }

    fn write_watermark(&mut self, _watermark_ms: u64, _io: &mut SinkIo) {}

    fn flush(&mut self, end_of_input: bool, _io: &mut SinkIo) {
        self.input_ends = end_of_input;
    }

    fn prepare_commit(&mut self, _io: &mut SinkIo) -> PreparedCommit {
        let prepared = self.shared.write(|writer, _, io| writer.prepare_commit(self.input_ends, io));
        let prepared = prepared.iter().map(payload_of);
        let committables =
            prepared.map(|payload| PreparedCommittable { payload, records: RecordRanges::new() }).collect();
        let transaction = self.transaction;
        self.transaction.number = transaction.number.next();
        PreparedCommit { transaction, records: RecordRanges::new(), committables }
    }

    fn snapshot_state(&mut self, _checkpoint: CheckpointId) -> Vec<u8> {
        let buckets = self.shared.write(|writer, _, io| writer.snapshot_state(io));
        postcard::to_stdvec(&buckets).expect("plain data")
    }

    fn answered(&mut self, _request: &StoreRequest, _answer: StoreAnswer, _io: &mut SinkIo) -> WriterVerdict {
        unreachable!("files are written at once")
    }

    fn clone_box(&self) -> Box<dyn WriterPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, _hasher: &mut dyn Hasher) {}
}

/// The committer behind its port.
#[derive(Clone, Debug)]
struct FileCommitterPort {
    told: ScriptedCommitter<Vec<Effect>>,
    shared: Shared,
}

impl CommitterPort for FileCommitterPort {
    fn call_begins(&mut self, pending: &[(&CommittablePayload, u32)]) {
        let named = pending
            .iter()
            .map(|(payload, retries)| format!("{}#{retries}", String::from_utf8_lossy(&payload.bytes)));
        let call = Call { reqs: named.collect() };
        self.told.with(|told| told.effects.push(Effect::Call(call)));
    }

    fn commit(
        &mut self,
        payload: &mut CommittablePayload,
        _retries: &mut u32,
        _io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, CommitError> {
        let committable = committable_of(payload);
        let committer = FileCommitter::new(Profile::Flink.quirks());
        if let Some(operation) = committer.commit(&committable) {
            let answer = self.shared.with(|inner| inner.files.perform(&operation));
            committer
                .answered(&committable, answer)
                .map_err(|error| CommitError::Thrown(format!("IOException: {error}")))?;
        }
        Ok(Some(CommitSignal::Committed))
    }

    fn answered(
        &mut self,
        _payload: &mut CommittablePayload,
        _retries: &mut u32,
        _answer: StoreAnswer,
        _io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, SinkStateError> {
        unreachable!("files are published at once")
    }

    fn records_held(&self, _payload: &CommittablePayload) -> Result<RecordRanges, SinkStateError> {
        Ok(RecordRanges::new())
    }

    fn clone_box(&self) -> Box<dyn CommitterPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, _hasher: &mut dyn Hasher) {}
}
