//! Component `sink`: [`SinkWriterOperator`] chained to [`CommitterOperator`] (FACTS 59 to 63).
//!
//! This host plays the chain between them, the task around it and its state backend. The sink is chosen by `new`: `test` is
//! a writer that keeps some of what is written for later, `file` is the file sink on a file system in memory.

mod file_sink;
mod test_writer;

use super::committables::{
    Call, ScriptedCommitter, Told, checkpoint_of, emitted, message_error, restored_of, stored_element,
    task_error,
};
use super::{Answer, Component, Operation, OperationError, Stored};
use file_sink::FileSide;
use serde::Serialize;
use splitrace_runtime::actor::Outbox;
use splitrace_runtime::api::sink::{CommitterPort, WriterPort};
use splitrace_runtime::defects::Profile;
use splitrace_runtime::ids::{CheckpointId, ExecutionAttemptId, LeaderEpoch, SplitId, SubtaskIndex};
use splitrace_runtime::records::Record;
use splitrace_runtime::task::{
    CommitTurn, CommitterOperator, CommitterSettings, Emission, SinkWriterOperator, StoreClient, TaskError,
};
use test_writer::{TestWriter, decode_state};

/// The retries of a committer whose own configuration says nothing.
const RETRIES: u32 = 10;
/// The time limit of calls that are never made, in nanoseconds.
const NO_CALL_NS: u64 = 1;

/// A side effect, as the recordings write it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "t")]
enum Effect {
    #[serde(rename = "createWriter")]
    CreateWriter { restored: Option<u64> },
    #[serde(rename = "restoreWriter")]
    RestoreWriter { restored: u64, state: Vec<String> },
    #[serde(rename = "flush")]
    Flush { end: bool },
    #[serde(rename = "prepareCommit")]
    PrepareCommit { out: Vec<String> },
    #[serde(rename = "writerSnapshot")]
    WriterSnapshot { id: u64, state: Vec<String> },
    #[serde(rename = "writerClose")]
    WriterClose,
    #[serde(rename = "writer_emit")]
    WriterEmit { m: String },
    #[serde(rename = "committer_emit")]
    CommitterEmit { m: String },
    /// It brings its own tag.
    #[serde(untagged)]
    Call(Call),
}

impl Told for Vec<Effect> {
    fn call(&mut self, call: Call) {
        // The test sink's committer tells committables without their retries.
        let names = call.reqs.iter().map(|named| named.rsplit_once('#').map_or(&**named, |(name, _)| name));
        self.push(Effect::Call(Call { reqs: names.map(str::to_owned).collect() }));
    }

    fn emit(&mut self, m: String) {
        self.push(Effect::CommitterEmit { m });
    }
}

/// How many elements the states of a snapshot have.
#[derive(Serialize)]
struct StateSizes {
    #[serde(rename = "committer.streaming_committer_raw_states")]
    committer: usize,
    #[serde(rename = "writer.writer_raw_states")]
    writer: usize,
}

/// How many elements the states of a snapshot of a file sink have. A restored one shows those of older sinks too.
#[derive(Serialize)]
struct FileStateSizes {
    #[serde(flatten)]
    sizes: StateSizes,
    #[serde(flatten)]
    older: Option<OlderStates>,
}

/// The states that the file sink's predecessors had: a restored writer asks for them, and they are empty.
#[derive(Serialize)]
struct OlderStates {
    #[serde(rename = "writer.bucket-states")]
    buckets: usize,
    #[serde(rename = "writer.streaming_committer_raw_states")]
    committables: usize,
}

/// The two operators, and what their user code shares with the host.
#[derive(Debug)]
struct Chain {
    writer: SinkWriterOperator,
    committer: CommitterOperator,
    shared: ScriptedCommitter<Vec<Effect>>,
    /// What belongs to the file sink, when it is one.
    files: Option<FileSide>,
}

/// The names under which the two states of a snapshot are stored.
fn names_of(name: &str) -> (String, String) {
    (format!("{name}/writer"), format!("{name}/committer"))
}

/// What a chain is made for.
#[derive(Clone, Copy, Debug)]
struct Place {
    subtask: SubtaskIndex,
    parallelism: u32,
    restored: Option<CheckpointId>,
}

impl Place {
    fn of(operation: &Operation) -> Result<Self, OperationError> {
        let number = |key, missing| u32::try_from(operation.number_or(key, missing)).unwrap_or_default();
        let restored = restored_of(operation)?;
        Ok(Self { subtask: SubtaskIndex(number("sub", 0)), parallelism: number("par", 1), restored })
    }
}

/// The committer comes first, and commits what is restored before the writer exists (FACT 63).
fn restored_committer(
    port: Box<dyn CommitterPort>,
    place: Place,
    operation: &Operation,
    stored: &Stored,
    shared: &ScriptedCommitter<Vec<Effect>>,
) -> Result<CommitterOperator, OperationError> {
    let settings = CommitterSettings {
        retries_max: RETRIES,
        emission: Some(Emission { subtask: place.subtask, parallelism: place.parallelism }),
        commits_at_end: operation.flag_or("batch", false) || !operation.flag_or("ckpt_enabled", true),
    };
    let mut committer = CommitterOperator::new(port, settings, Profile::Flink.quirks());
    let Some(checkpoint) = place.restored else { return Ok(committer) };
    for name in operation.texts("restore")? {
        let outcome = committer.restore(stored_element(&names_of(name).1, stored)?);
        outcome.map_err(|error| task_error(&error, committer.collector()))?;
    }
    let outcome = shared.turn(|turn| committer.recommit(checkpoint, turn));
    outcome.map_err(|error| task_error(&error, committer.collector()))?;
    Ok(committer)
}

/// The writer's parts of what is restored.
fn restored_writers<'a>(
    place: Place,
    operation: &Operation,
    stored: &'a Stored,
) -> Result<Vec<&'a [u8]>, OperationError> {
    let names = if place.restored.is_some() { operation.texts("restore")? } else { Vec::new() };
    names.into_iter().map(|name| stored_element(&names_of(name).0, stored)).collect()
}

impl Chain {
    fn new(
        place: Place,
        writer: Box<dyn WriterPort>,
        committer: CommitterOperator,
        shared: &ScriptedCommitter<Vec<Effect>>,
    ) -> Self {
        let writer = SinkWriterOperator::new(writer, (place.subtask, place.parallelism), place.restored);
        Self { writer, committer, shared: shared.clone(), files: None }
    }

    /// Around the writer that the recordings call `test`.
    fn with_test_writer(
        operation: &Operation,
        stored: &Stored,
        shared: &ScriptedCommitter<Vec<Effect>>,
    ) -> Result<Self, OperationError> {
        let place = Place::of(operation)?;
        let committer = restored_committer(Box::new(shared.clone()), place, operation, stored, shared)?;
        let state: Vec<String> =
            restored_writers(place, operation, stored)?.into_iter().flat_map(decode_state).collect();
        shared.with(|shared| {
            shared.effects.push(match place.restored {
                Some(CheckpointId(restored)) => Effect::RestoreWriter { restored, state: state.clone() },
                None => Effect::CreateWriter { restored: None },
            });
        });
        let writer = TestWriter::new(shared.clone(), place.restored, state);
        Ok(Self::new(place, Box::new(writer), committer, shared))
    }

    fn commit<R>(
        &mut self,
        act: impl FnOnce(&mut CommitterOperator, &mut CommitTurn<'_>) -> Result<R, TaskError>,
    ) -> Result<(), OperationError> {
        let outcome = self.shared.turn(|turn| act(&mut self.committer, turn));
        outcome.map(drop).map_err(|error| task_error(&error, self.committer.collector()))
    }

    /// What the writer prepared goes on to the committer, message by message.
    fn hand_over(&mut self) -> Result<(), OperationError> {
        for message in self.writer.take_prepared().messages {
            let m = emitted(&message);
            self.shared.with(|shared| shared.effects.push(Effect::WriterEmit { m }));
            let outcome = self.committer.process(message.clone());
            outcome.map_err(|error| message_error(&error, &message, self.committer.collector()))?;
        }
        Ok(())
    }

    fn write(&mut self, operation: &Operation) -> Result<(), OperationError> {
        for value in operation.texts("vals")? {
            let payload = value.as_bytes().to_vec();
            let split = SplitId::default();
            let mut records = vec![Record { split, offset: 0, event_time_ms: 0, key: 0, payload }];
            let (store, outbox) = (&mut store(), &mut Outbox::default());
            self.writer.write(&mut records, store, outbox).map_err(|_| {
                let message = format!("Received element after endOfInput: Record @ (undef) : {value}");
                OperationError::Thrown(format!("IllegalStateException: {message}"))
            })?;
        }
        Ok(())
    }

    fn pre_barrier(&mut self, checkpoint: CheckpointId) -> Result<(), OperationError> {
        let (store, outbox) = (&mut store(), &mut Outbox::default());
        if self.writer.prepare_snapshot_pre_barrier(checkpoint, store, outbox) {
            self.hand_over()
        } else {
            Ok(())
        }
    }

    fn snapshot(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let checkpoint = checkpoint_of(operation.number("id")?)?;
        let (of_writer, of_committer) = names_of(operation.text("name")?);
        let state = self.writer.snapshot_state(checkpoint);
        match &self.files {
            None => {
                answer.field("state_sizes", &StateSizes { committer: 1, writer: decode_state(&state).len() });
            }
            Some(files) => {
                let sizes = StateSizes { committer: 1, writer: file_sink::state_size(&state) };
                let older = files.is_restored.then_some(OlderStates { buckets: 0, committables: 0 });
                answer.field("state_sizes", &FileStateSizes { sizes, older });
            }
        }
        stored.insert(of_writer, state);
        stored.insert(of_committer, self.committer.snapshot_state());
        Ok(())
    }

    fn end_input(&mut self) -> Result<(), OperationError> {
        self.writer.end_input(&mut store(), &mut Outbox::default());
        self.hand_over()?;
        self.commit(CommitterOperator::end_input)
    }

    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let checkpoint = || checkpoint_of(operation.number("id")?);
        match operation.name()? {
            "write" => self.write(operation)?,
            "pre_barrier" => self.pre_barrier(checkpoint()?)?,
            "snapshot" => self.snapshot(operation, stored, answer)?,
            "checkpoint" => {
                self.pre_barrier(checkpoint()?)?;
                self.snapshot(operation, stored, answer)?;
            }
            "complete" => {
                let checkpoint = checkpoint()?;
                self.commit(|committer, turn| committer.notify_checkpoint_complete(checkpoint, turn))?;
            }
            "end_input" => self.end_input()?,
            "close" if self.files.is_none() => {
                self.shared.with(|shared| shared.effects.push(Effect::WriterClose));
            }
            "advance" => {
                if let Some(files) = &self.files {
                    answer.field("timers", &files.advance(operation.number("to")?));
                }
            }
            // Neither an abort nor a graceful close of files is anything to these operators.
            "abort" | "close" | "dump" => {}
            _ => return Err(operation.unknown()),
        }
        Ok(())
    }
}

/// A client whose store is never asked.
fn store() -> StoreClient {
    StoreClient::new(ExecutionAttemptId::default(), LeaderEpoch(1), NO_CALL_NS)
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct SinkComponent {
    chain: Option<Chain>,
    /// The folder of the file sink that was made last.
    folder: Option<String>,
}

impl SinkComponent {
    fn renew(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        shared: &ScriptedCommitter<Vec<Effect>>,
    ) -> Result<(), OperationError> {
        self.folder = None;
        match operation.text_or("sink", "test") {
            "test" => self.chain = Some(Chain::with_test_writer(operation, stored, shared)?),
            "file" => {
                self.folder = Some(operation.text("dir")?.to_owned());
                self.chain = Some(file_sink::chain(operation, stored, shared)?);
            }
            other => return Err(OperationError::Malformed(format!("there is no sink '{other}'"))),
        }
        Ok(())
    }

    /// Does the operation; answers where its effects are.
    fn act(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(Vec<Effect>, Result<(), OperationError>), OperationError> {
        let name = operation.name()?;
        let (shared, outcome) = match (name, &self.folder) {
            ("drop", _) => {
                self.chain = None;
                return Ok((Vec::new(), Ok(())));
            }
            ("rm" | "append" | "ls", Some(folder)) => {
                return Ok((Vec::new(), file_sink::meddle(operation, folder, stored)));
            }
            ("new", _) => {
                let shared = ScriptedCommitter::of(operation, Vec::new())?;
                let outcome = self.renew(operation, stored, &shared);
                (shared, outcome)
            }
            _ => {
                let missing = || OperationError::Malformed("there is no sink before 'new'".to_owned());
                let chain = self.chain.as_mut().ok_or_else(missing)?;
                if let Some(files) = &chain.files {
                    files.load(stored);
                }
                let outcome = chain.operate(operation, stored, answer);
                if let Some(files) = &chain.files {
                    files.save(stored);
                }
                (chain.shared.clone(), outcome)
            }
        };
        Ok((shared.with(|shared| std::mem::take(&mut shared.effects)), outcome))
    }
}

impl Component for SinkComponent {
    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let (mut effects, outcome) = self.act(operation, stored, answer)?;
        if let Some(folder) = &self.folder {
            answer.field("files", &file_sink::shown(folder, &mut effects, stored));
        }
        effects.iter().for_each(|effect| answer.effect(effect));
        outcome
    }
}
