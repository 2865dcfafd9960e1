//! Component `reader`: [`SourceOperator`] around a scripted reader (FACTS 51 to 57).
//!
//! The operator is the one that every simulated task runs. This host plays the task around it, its state backend (a list
//! of splits that a snapshot replaces and an opening reads), and the reader's user code. Flink's quirk of taking splits
//! for an ended reader is on.

use super::tracker::{checkpoint_of, recorded_id, split_name, split_names, split_of};
use super::{Answer, Component, Operation, OperationError, Stored};
use serde::Serialize;
use splitrace_runtime::api::source::{InputStatus, PauseError, ReaderContext, ReaderPort, UserError};
use splitrace_runtime::api::source_state::{decode_reader_state, encode_reader_state};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_runtime::ids::CheckpointId;
use splitrace_runtime::message::{OperatorEvent, ReaderEvent, SplitPayload};
use splitrace_runtime::records::Record;
use splitrace_runtime::task::{
    DataInputStatus, OperatingMode, SourceOperator, SourceOperatorError, StopMode,
};
use std::collections::VecDeque;
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};

/// The host of the recordings' readers.
const HOST: &str = "host-0";
/// An event that is not for readers, as it says itself.
const UNKNOWN_EVENT: &str = "RequestSplitEvent (host='h')";
const NO_MAIN_OUTPUT: &str = "NullPointerException: Cannot invoke \"org.apache.flink.api.connector.source.ReaderOutput.\
    createOutputForSplit(String)\" because \"this.currentMainOutput\" is null";
const NOT_OPENED: &str = "NullPointerException: Cannot invoke \"org.apache.flink.streaming.api.operators.source.\
    TimestampsAndWatermarks.createMainOutput(org.apache.flink.streaming.runtime.io.PushingAsyncDataInput$DataOutput, \
    org.apache.flink.streaming.api.operators.source.TimestampsAndWatermarks$WatermarkUpdateListener)\" because \
    \"this.eventTimeLogic\" is null";

/// A side effect, as the recordings write it.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Effect {
    Reader {
        call: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        splits: Option<Vec<String>>,
    },
    ToCoordinator {
        e: String,
    },
    Record {
        v: String,
    },
}

#[derive(Serialize)]
struct StateNames {
    #[serde(rename = "SourceReaderState")]
    source_reader_state: &'static str,
}

/// What the host and the reader inside the operator share.
#[derive(Debug, Default)]
struct Shared {
    effects: Vec<Effect>,
    script: VecDeque<String>,
    splits: Vec<SplitPayload>,
    requests: bool,
}

/// User code by script.
#[derive(Clone, Debug)]
struct ScriptedReader(Arc<Mutex<Shared>>);

impl ScriptedReader {
    fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn called(&self, call: &'static str, id: Option<CheckpointId>, splits: Option<&[SplitPayload]>) {
        let splits = splits.map(|splits| splits.iter().map(|split| split_name(split).to_owned()).collect());
        self.with(|shared| shared.effects.push(Effect::Reader { call, id: id.map(recorded_id), splits }));
    }
}

impl ReaderPort for ScriptedReader {
    fn start(&mut self, context: &mut ReaderContext) {
        self.called("start", None, None);
        if self.with(|shared| shared.requests && shared.splits.is_empty()) {
            context.events.push(ReaderEvent::RequestSplit);
        }
    }

    fn poll_next(
        &mut self,
        _batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        let (line, more) = self.with(|shared| (shared.script.pop_front(), !shared.script.is_empty()));
        let ordinary = if more { InputStatus::MoreAvailable } else { InputStatus::NothingAvailable };
        match line.as_deref() {
            None | Some("NOTHING") => return Ok(InputStatus::NothingAvailable),
            Some("END") => return Ok(InputStatus::EndOfInput),
            Some("REQ") => context.events.push(ReaderEvent::RequestSplit),
            Some(record) => output.push(Record {
                split: Default::default(),
                offset: 0,
                event_time_ms: 0,
                key: 0,
                payload: record.as_bytes().to_vec(),
            }),
        }
        Ok(ordinary)
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<SplitPayload> {
        let splits = self.with(|shared| shared.splits.clone());
        self.called("snapshotState", Some(checkpoint), Some(&splits));
        splits
    }

    fn add_splits(&mut self, splits: Vec<SplitPayload>, _context: &mut ReaderContext) {
        self.called("addSplits", None, Some(&splits));
        self.with(|shared| shared.splits.extend(splits));
    }

    fn notify_no_more_splits(&mut self, _context: &mut ReaderContext) {
        self.called("notifyNoMoreSplits", None, None);
    }

    fn handle_source_event(&mut self, _event: Vec<u8>, _context: &mut ReaderContext) {}

    fn wake(&mut self) {}

    fn is_available(&self) -> bool {
        true
    }

    fn notify_checkpoint_complete(&mut self, checkpoint: CheckpointId) {
        self.called("complete", Some(checkpoint), None);
    }

    fn notify_checkpoint_aborted(&mut self, checkpoint: CheckpointId) {
        self.called("aborted", Some(checkpoint), None);
    }

    fn close(&mut self) {
        self.called("close", None, None);
    }

    fn clone_box(&self) -> Box<dyn ReaderPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, _hasher: &mut dyn Hasher) {}
}

/// An operator and what lies around it.
#[derive(Debug)]
struct Operator {
    operator: SourceOperator,
    reader: ScriptedReader,
    subtask: u32,
    can_emit_batch: bool,
    opened: bool,
    /// The list state: restored, then what the last snapshot left.
    state: Vec<SplitPayload>,
}

impl Operator {
    fn new(operation: &Operation, stored: &Stored) -> Result<Self, OperationError> {
        let mut state = Vec::new();
        for name in operation.texts("restore")? {
            let bytes = stored
                .get(name)
                .ok_or_else(|| OperationError::Malformed(format!("nothing is stored as '{name}'")))?;
            state.extend(decode_reader_state(bytes).expect("the oracle stored it itself"));
        }
        let requests = operation.flag_or("request", true);
        let reader = ScriptedReader(Arc::new(Mutex::new(Shared { requests, ..Shared::default() })));
        let quirks = DefectSet::NONE.with(Defect::SplitAfterEndOfInputLost);
        let reassigns = operation.flag_or("reassign", false);
        Ok(Self {
            operator: SourceOperator::new(Box::new(reader.clone()), reassigns, quirks),
            reader,
            subtask: operation.index("sub")?,
            can_emit_batch: operation.flag_or("batch", false),
            opened: false,
            state,
        })
    }

    fn open(&mut self) {
        let (reader, subtask) = (self.reader.clone(), self.subtask);
        self.operator.open(self.state.clone(), &mut |event| tell(&reader, subtask, event));
        self.opened = true;
        self.tell_requests();
    }

    /// What the reader asked for in its last call.
    fn tell_requests(&mut self) {
        for event in std::mem::take(&mut self.operator.context().events) {
            tell(&self.reader, self.subtask, event);
        }
    }

    fn emit_next(&mut self) -> Result<DataInputStatus, OperationError> {
        if !self.opened && self.operator.mode() == OperatingMode::OutputNotInitialized {
            return Err(OperationError::Thrown(NOT_OPENED.to_owned()));
        }
        loop {
            let before = self.operator.mode();
            let status = self.operator.emit_next(1).map_err(|error| thrown(&error))?;
            let records = self.operator.take_records();
            for record in &records {
                let v = String::from_utf8_lossy(&record.payload).into_owned();
                self.reader.with(|shared| shared.effects.push(Effect::Record { v }));
            }
            self.operator.give_back(records);
            self.tell_requests();
            if !self.operator.goes_on(before, status, self.can_emit_batch) {
                return Ok(status);
            }
        }
    }

    fn handle(&mut self, event: OperatorEvent) -> Result<(), OperationError> {
        let handled = self.operator.handle_operator_event(event);
        self.tell_requests();
        handled.map_err(|error| thrown(&error))
    }

    fn snapshot(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        self.state = self.operator.snapshot_state(checkpoint_of(operation.number("id")?)?);
        if let Some(name) = operation.get("name").and_then(|name| name.as_str()) {
            stored.insert(name.to_owned(), encode_reader_state(&self.state));
        }
        answer.field("elements", &self.state.len());
        Ok(())
    }

    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        match operation.name()? {
            "open" => self.open(),
            "add" => {
                let splits = operation.texts("splits")?.into_iter().map(split_of).collect();
                self.handle(OperatorEvent::AddSplits(splits))?;
            }
            "no_more" => self.handle(OperatorEvent::NoMoreSplits)?,
            "unknown_event" => self.handle(OperatorEvent::Unknown(UNKNOWN_EVENT.to_owned()))?,
            "script" => {
                let lines = operation.texts("script")?;
                self.reader.with(|shared| shared.script.extend(lines.into_iter().map(str::to_owned)));
            }
            "emit_next" => answer.field("status", status_name(self.emit_next()?)),
            "snapshot" => self.snapshot(operation, stored, answer)?,
            "complete" => {
                self.operator.notify_checkpoint_complete(checkpoint_of(operation.number("id")?)?);
            }
            "abort" => self.operator.notify_checkpoint_aborted(checkpoint_of(operation.number("id")?)?),
            "stop" => {
                let drain = operation.flag_or("drain", false);
                self.operator.stop(if drain { StopMode::Drain } else { StopMode::NoDrain });
            }
            "finish" => {}
            "available" => answer.field("available", &self.operator.is_available()),
            "close" => self.operator.close(),
            "drop_split" => {
                let name = operation.text("split")?;
                self.reader.with(|shared| {
                    let at = shared.splits.iter().position(|split| split_name(split) == name);
                    at.map(|at| shared.splits.remove(at))
                });
            }
            _ => return Err(operation.unknown()),
        }
        Ok(())
    }
}

fn tell(reader: &ScriptedReader, subtask: u32, event: ReaderEvent) {
    let e = match event {
        ReaderEvent::Register { reported } => {
            format!("register(sub={subtask},loc={HOST},splits=[{}])", split_names(&reported).join(", "))
        }
        ReaderEvent::RequestSplit => format!("request({HOST})"),
        ReaderEvent::Custom(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => format!("{other:?}"),
    };
    reader.with(|shared| shared.effects.push(Effect::ToCoordinator { e }));
}

fn thrown(error: &SourceOperatorError) -> OperationError {
    OperationError::Thrown(match error {
        SourceOperatorError::UnexpectedEvent(_) => format!("IllegalStateException: {error}"),
        SourceOperatorError::NoMainOutput { .. } => NO_MAIN_OUTPUT.to_owned(),
        SourceOperatorError::Alignment(PauseError::Unsupported(_)) => {
            format!("UnsupportedOperationException: {error}")
        }
        SourceOperatorError::Alignment(PauseError::Failed(error)) => format!("RuntimeException: {error}"),
        SourceOperatorError::Reader(error) => format!("RuntimeException: {error}"),
        SourceOperatorError::SplitAfterEndOfInput { .. } => {
            unreachable!("the quirk is on: such a split is taken")
        }
    })
}

const fn status_name(status: DataInputStatus) -> &'static str {
    match status {
        DataInputStatus::MoreAvailable => "MORE_AVAILABLE",
        DataInputStatus::NothingAvailable => "NOTHING_AVAILABLE",
        DataInputStatus::EndOfData => "END_OF_DATA",
        DataInputStatus::Stopped => "STOPPED",
        DataInputStatus::EndOfInput => "END_OF_INPUT",
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ReaderComponent {
    operator: Option<Operator>,
}

impl Component for ReaderComponent {
    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let is_new = operation.name()? == "new";
        if is_new {
            answer.field("state_names", &StateNames { source_reader_state: "getListState" });
            self.operator = Some(Operator::new(operation, stored)?);
        }
        let Some(operator) = &mut self.operator else {
            return Err(OperationError::Malformed("there is no operator before 'new'".to_owned()));
        };
        let outcome = if !is_new {
            operator.operate(operation, stored, answer)
        } else {
            if operation.flag_or("open", true) {
                operator.open();
            }
            Ok(())
        };
        let effects = operator.reader.with(|shared| std::mem::take(&mut shared.effects));
        effects.iter().for_each(|effect| answer.effect(effect));
        outcome
    }
}
