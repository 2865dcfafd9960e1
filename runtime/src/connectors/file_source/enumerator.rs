//! Looks for files and hands their parts out to whoever asks.
//!
//! The worker beside the coordinator looks; what it found is handled in the coordinator's thread, where the splits and the
//! knowledge of their files change in one step, so that no snapshot holds the one without the other. A bounded source is
//! over once one look was handled. Flink's `StaticFileSplitEnumerator` looks before it starts, and its
//! `ContinuousFileSplitEnumerator` as here.

use super::discovery::Discovery;
use super::source::FileSplit;
use crate::api::file_io::FileAnswer;
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::source::{AsyncCall, AsyncCallName, SplitEnumerator, SplitEnumeratorContext, UserError};
use crate::api::source_state::StateError;
use crate::config::FileSourceConfig;
use crate::encoding::encode_onto;
use crate::ids::{CheckpointId, OperatorUid, SplitId, SubtaskIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// What the worker is asked for.
const LOOK: AsyncCallName = AsyncCallName(0);

/// What the enumerator keeps beside the splits that it holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FileEnumeratorState {
    /// The files that were found.
    pub discovery: Discovery,
    /// The number of the next split.
    pub next_index: u32,
    /// Whether a look has been handled.
    pub has_looked: bool,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileEnumerator {
    operator: OperatorUid,
    period_ns: Option<u64>,
    pending: VecDeque<FileSplit>,
    state: FileEnumeratorState,
    /// Readers that asked when nothing was there. They ask again when they are restored, so no state holds them.
    waiting: BTreeSet<SubtaskIndex>,
}

type Context<'a> = &'a mut dyn SplitEnumeratorContext<FileSplit>;

impl FileEnumerator {
    pub(super) fn create(operator: OperatorUid, config: &FileSourceConfig) -> Self {
        let discovery = Discovery::new(config.folder.clone(), config.block_bytes, config.reader.format);
        let state = FileEnumeratorState { discovery, next_index: 0, has_looked: false };
        Self::restore(operator, config, Vec::new(), Some(state))
    }

    /// Without a state of its own it has found nothing yet.
    pub(super) fn restore(
        operator: OperatorUid,
        config: &FileSourceConfig,
        pending: Vec<FileSplit>,
        state: Option<FileEnumeratorState>,
    ) -> Self {
        debug_assert!(state.is_some() || pending.is_empty(), "splits are found by a look");
        let Some(state) = state else { return Self::create(operator, config) };
        let period_ns = config.discovery_period_ns;
        Self { operator, period_ns, pending: pending.into(), state, waiting: BTreeSet::new() }
    }

    /// Whether no split can come any more but one that comes back.
    const fn is_discovery_over(&self) -> bool {
        self.period_ns.is_none() && self.state.has_looked
    }

    /// The next split for a reader that wants one; without one it hears that none comes, or waits.
    fn serve(&mut self, subtask: SubtaskIndex, context: Context<'_>) -> Result<(), UserError> {
        match self.pending.pop_front() {
            Some(split) => context.assign_splits(vec![(subtask, vec![split])]),
            None if self.is_discovery_over() => context.signal_no_more_splits(subtask),
            None => {
                self.waiting.insert(subtask);
                Ok(())
            }
        }
    }

    /// Who waits may have failed since: then it is not there, and asks again when it is restored.
    fn serve_waiting(&mut self, context: Context<'_>) -> Result<(), UserError> {
        let registered = context.registered_readers();
        for subtask in std::mem::take(&mut self.waiting) {
            if registered.contains(&subtask) {
                self.serve(subtask, context)?;
            }
        }
        Ok(())
    }

    fn take_listed(&mut self, listed: &[(String, u64)], context: Context<'_>) {
        let first = self.state.next_index;
        let splits: Vec<FileSplit> = (first..)
            .zip(self.state.discovery.found(listed))
            .map(|(index, part)| FileSplit {
                id: SplitId { operator: self.operator, index },
                part,
                records: 0,
            })
            .collect();
        self.state.next_index = first + splits.len() as u32;
        self.state.has_looked = true;
        if !splits.is_empty() {
            context.splits_discovered(&splits);
            self.pending.extend(splits);
        }
    }
}

impl SplitEnumerator for FileEnumerator {
    type Split = FileSplit;
    type Extra = FileEnumeratorState;

    fn start(&mut self, context: Context<'_>) -> Result<(), UserError> {
        if !self.is_discovery_over() {
            context.call_async(AsyncCall { name: LOOK, initial_delay_ns: 0, period_ns: self.period_ns });
        }
        Ok(())
    }

    fn handle_split_request(&mut self, subtask: SubtaskIndex, context: Context<'_>) -> Result<(), UserError> {
        self.serve(subtask, context)
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<FileSplit>,
        _subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Result<(), UserError> {
        self.pending.extend(splits);
        self.serve_waiting(context)
    }

    /// A reader that registers anew will ask anew.
    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<FileSplit>,
        _context: Context<'_>,
    ) -> Result<(), UserError> {
        debug_assert!(reported.is_empty(), "restored splits stay with their reader");
        self.waiting.remove(&subtask);
        Ok(())
    }

    fn snapshot_state(
        &mut self,
        _checkpoint: CheckpointId,
        _context: Context<'_>,
    ) -> Result<(Vec<FileSplit>, FileEnumeratorState), UserError> {
        Ok((self.pending.iter().cloned().collect(), self.state.clone()))
    }

    fn ask_async(&mut self, call: AsyncCallName) -> Option<InputOperation> {
        debug_assert_eq!(call, LOOK, "it asks for nothing else");
        Some(InputOperation::File(self.state.discovery.look()))
    }

    fn async_answered(&mut self, call: AsyncCallName, answer: InputAnswer) -> Result<Vec<u8>, UserError> {
        debug_assert_eq!(call, LOOK, "it asks for nothing else");
        match answer {
            InputAnswer::File(FileAnswer::Listed(files)) => Ok(encode_onto(&files, Vec::new())),
            other => Err(UserError::new(format!("the folder cannot be listed: {other:?}"))),
        }
    }

    /// A look that failed fails the job where nothing else would find its files; a periodic one is made again anyway.
    fn handle_async_result(
        &mut self,
        _call: AsyncCallName,
        result: Result<Vec<u8>, UserError>,
        context: Context<'_>,
    ) -> Result<(), UserError> {
        let listed = match result {
            Ok(bytes) => bytes,
            Err(error) if self.period_ns.is_some() => {
                tracing::debug!(%error, "a look has failed");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let listed: Vec<(String, u64)> = postcard::from_bytes(&listed).map_err(StateError::from)?;
        self.take_listed(&listed, context);
        self.serve_waiting(context)
    }
}
