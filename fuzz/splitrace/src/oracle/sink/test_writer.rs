//! The recordings' writer: what is written is prepared at the next checkpoint, but for values that begin with `hold:`. They
//! stay in its state until the input ends.

use super::Effect;
use crate::oracle::committables::{ScriptedCommitter, committable_of};
use splitrace_runtime::api::sink::{PreparedCommit, SinkIo, StoreAnswer, WriterPort, WriterVerdict};
use splitrace_runtime::ids::{CheckpointId, SubtaskId, TransactionName};
use splitrace_runtime::message::StoreRequest;
use splitrace_runtime::records::{Record, RecordRanges};
use std::hash::Hasher;

/// What a value begins with that is held back.
const HELD: &str = "hold:";

/// The values in a writer's state: each is an element of it.
pub(super) fn decode_state(bytes: &[u8]) -> Vec<String> {
    serde_json::from_slice(bytes).expect("the oracle wrote it")
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct TestWriter {
    shared: ScriptedCommitter<Vec<Effect>>,
    transaction: TransactionName,
    values: Vec<String>,
    input_ends: bool,
}

impl TestWriter {
    /// A writer with these values in its state.
    pub(super) fn new(
        shared: ScriptedCommitter<Vec<Effect>>,
        restored: Option<CheckpointId>,
        values: Vec<String>,
    ) -> Self {
        let number = restored.unwrap_or_default().next();
        let transaction = TransactionName::new(SubtaskId::default(), number);
        Self { shared, transaction, values, input_ends: false }
    }

    fn tell(&self, effect: Effect) {
        self.shared.with(|shared| shared.effects.push(effect));
    }
}

impl WriterPort for TestWriter {
    fn transaction(&self) -> TransactionName {
        self.transaction
    }

    fn open(&mut self, _keep: &[TransactionName], _io: &mut SinkIo) {}

    fn write(&mut self, records: &mut Vec<Record>, _io: &mut SinkIo) {
        let texts = records.drain(..).map(|record| String::from_utf8(record.payload));
        self.values.extend(texts.map(|text| text.expect("the oracle's records are texts")));
    }

    fn write_watermark(&mut self, _watermark_ms: u64, _io: &mut SinkIo) {}

    fn flush(&mut self, end_of_input: bool, _io: &mut SinkIo) {
        self.input_ends = end_of_input;
        self.tell(Effect::Flush { end: end_of_input });
    }

    fn prepare_commit(&mut self, _io: &mut SinkIo) -> PreparedCommit {
        let is_held = |value: &String| value.starts_with(HELD) && !self.input_ends;
        let (held, out): (Vec<_>, Vec<_>) = std::mem::take(&mut self.values).into_iter().partition(is_held);
        self.values = held;
        let committables = out.iter().map(|value| committable_of(value)).collect();
        self.tell(Effect::PrepareCommit { out });
        let transaction = self.transaction;
        self.transaction.number = transaction.number.next();
        PreparedCommit { transaction, records: RecordRanges::new(), committables }
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<u8> {
        self.tell(Effect::WriterSnapshot { id: checkpoint.0, state: self.values.clone() });
        serde_json::to_vec(&self.values).expect("texts can be written")
    }

    fn answered(&mut self, _request: &StoreRequest, _answer: StoreAnswer, _io: &mut SinkIo) -> WriterVerdict {
        unreachable!("this writer asks for nothing")
    }

    fn clone_box(&self) -> Box<dyn WriterPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, _hasher: &mut dyn Hasher) {}
}
