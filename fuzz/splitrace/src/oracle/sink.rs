//! Component `sink`: [`SinkWriterOperator`] chained to [`CommitterOperator`] (FACTS 59 to 63).
//!
//! This host plays the chain between them, the task around it and its state backend. The sink is chosen by `new`: `test` is
//! a writer that keeps some of what is written for later. The file sink is not here yet.

mod test_writer;

use super::committables::{
    Call, ScriptedCommitter, Told, checkpoint_of, emitted, message_error, restored_of, stored_element,
    task_error,
};
use super::{Answer, Component, Operation, OperationError, Stored};
use serde::Serialize;
use splitrace_runtime::actor::Outbox;
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

/// The two operators, and what their user code shares with the host.
#[derive(Debug)]
struct Chain {
    writer: SinkWriterOperator,
    committer: CommitterOperator,
    shared: ScriptedCommitter<Vec<Effect>>,
}

/// The names under which the two states of a snapshot are stored.
fn names_of(name: &str) -> (String, String) {
    (format!("{name}/writer"), format!("{name}/committer"))
}

impl Chain {
    /// The committer comes first, and commits what is restored before the writer exists (FACT 63).
    fn new(
        operation: &Operation,
        stored: &Stored,
        shared: &ScriptedCommitter<Vec<Effect>>,
    ) -> Result<Self, OperationError> {
        let restored = restored_of(operation)?;
        let number = |key, missing| u32::try_from(operation.number_or(key, missing)).unwrap_or_default();
        let (subtask, parallelism) = (SubtaskIndex(number("sub", 0)), number("par", 1));
        let settings = CommitterSettings {
            retries_max: RETRIES,
            emission: Some(Emission { subtask, parallelism }),
            commits_at_end: operation.flag_or("batch", false) || !operation.flag_or("ckpt_enabled", true),
        };
        let port = Box::new(shared.clone());
        let mut committer = CommitterOperator::new(port, settings, Profile::Flink.quirks());
        let mut state = Vec::new();
        if let Some(checkpoint) = restored {
            for name in operation.texts("restore")? {
                let (of_writer, of_committer) = names_of(name);
                state.extend(decode_state(stored_element(&of_writer, stored)?));
                let outcome = committer.restore(stored_element(&of_committer, stored)?);
                outcome.map_err(|error| task_error(&error, committer.collector()))?;
            }
            let outcome = shared.turn(|turn| committer.recommit(checkpoint, turn));
            outcome.map_err(|error| task_error(&error, committer.collector()))?;
        }
        shared.with(|shared| {
            shared.effects.push(match restored {
                Some(CheckpointId(restored)) => Effect::RestoreWriter { restored, state: state.clone() },
                None => Effect::CreateWriter { restored: None },
            });
        });
        let writer = TestWriter::new(shared.clone(), restored, state);
        let writer = SinkWriterOperator::new(Box::new(writer), (subtask, parallelism), restored);
        Ok(Self { writer, committer, shared: shared.clone() })
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
        answer.field("state_sizes", &StateSizes { committer: 1, writer: decode_state(&state).len() });
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
            "close" => self.shared.with(|shared| shared.effects.push(Effect::WriterClose)),
            // Neither an abort nor the passing of time is anything to these operators.
            "abort" | "advance" | "dump" => {}
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
}

impl SinkComponent {
    fn renew(
        &mut self,
        operation: &Operation,
        stored: &Stored,
        shared: &ScriptedCommitter<Vec<Effect>>,
    ) -> Result<(), OperationError> {
        match operation.text_or("sink", "test") {
            "test" => self.chain = Some(Chain::new(operation, stored, shared)?),
            other => return Err(OperationError::Malformed(format!("there is no sink '{other}'"))),
        }
        Ok(())
    }
}

impl Component for SinkComponent {
    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let name = operation.name()?;
        if name == "drop" {
            self.chain = None;
            return Ok(());
        }
        let (shared, outcome) = if name == "new" {
            let shared = ScriptedCommitter::of(operation, Vec::new())?;
            let outcome = self.renew(operation, stored, &shared);
            (shared, outcome)
        } else {
            let missing = || OperationError::Malformed("there is no sink before 'new'".to_owned());
            let chain = self.chain.as_mut().ok_or_else(missing)?;
            let outcome = chain.operate(operation, stored, answer);
            (chain.shared.clone(), outcome)
        };
        let effects: Vec<Effect> = shared.with(|shared| std::mem::take(&mut shared.effects));
        effects.iter().for_each(|effect| answer.effect(effect));
        outcome
    }
}
