//! Looks for partitions and hands each to its owner.
//!
//! The worker beside the coordinator looks; the splits and the number of known partitions change in one step of the
//! coordinator's thread, so that no snapshot holds the one without the other. A bounded source is over once it knows all
//! partitions; until then nobody hears 'no more splits'.

use super::source::{LogSource, LogSplit};
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::log_io::{LogReadAnswer, LogReadOperation, PartitionOffsets};
use crate::api::source::{AsyncCall, AsyncCallName, SplitEnumerator, SplitEnumeratorContext, UserError};
use crate::api::source_state::StateError;
use crate::config::StartPosition;
use crate::connectors::range_source::UNBOUNDED_END;
use crate::encoding::encode_onto;
use crate::ids::{CheckpointId, SplitId, SubtaskIndex};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the worker is asked for.
const LOOK: AsyncCallName = AsyncCallName(0);

/// What the enumerator keeps beside the splits that it holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct LogEnumeratorState {
    /// Partitions below this number are known.
    pub discovered: u32,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LogEnumerator {
    source: LogSource,
    state: LogEnumeratorState,
    /// Restored splits, whose owners follow once it is known how many readers there are.
    restored: Vec<LogSplit>,
    /// What waits for a reader.
    pending: BTreeMap<SubtaskIndex, Vec<LogSplit>>,
}

type Context<'a> = &'a mut dyn SplitEnumeratorContext<LogSplit>;

impl LogEnumerator {
    pub(super) fn restore(
        source: LogSource,
        restored: Vec<LogSplit>,
        state: Option<LogEnumeratorState>,
    ) -> Self {
        Self { source, state: state.unwrap_or_default(), restored, pending: BTreeMap::new() }
    }

    /// Which reader a partition is for: neighbours go to neighbours, and where the first goes depends on the topic.
    fn owner(&self, split: &LogSplit, parallelism: u32) -> SubtaskIndex {
        debug_assert!(parallelism > 0, "somebody reads");
        let first = u32::from(self.source.config.reader.topic).wrapping_mul(31) % parallelism;
        SubtaskIndex((first + split.id.index) % parallelism)
    }

    fn park(&mut self, splits: Vec<LogSplit>, parallelism: u32) {
        for split in splits {
            let owner = self.owner(&split, parallelism);
            self.pending.entry(owner).or_default().push(split);
        }
    }

    /// Whether no split can come any more but one that comes back.
    const fn is_discovery_over(&self) -> bool {
        self.source.config.stop_offset.is_some() && self.state.discovered >= self.source.partitions
    }

    /// Gives a reader what waits for it, and tells it when nothing more comes.
    fn hand_out(&mut self, subtask: SubtaskIndex, context: Context<'_>) -> Result<(), UserError> {
        if let Some(splits) = self.pending.remove(&subtask) {
            context.assign_splits(vec![(subtask, splits)])?;
        }
        if self.is_discovery_over() {
            context.signal_no_more_splits(subtask)?;
        }
        Ok(())
    }

    fn first_offset(&self, partition: PartitionOffsets) -> u64 {
        match self.source.config.start {
            StartPosition::Earliest => 0,
            StartPosition::Latest => partition.last_stable_offset,
            StartPosition::Offset(offset) => offset,
            StartPosition::Committed => partition.committed.unwrap_or_default(),
        }
    }

    /// Takes the partitions that were not there at any look before.
    fn take_described(&mut self, partitions: &[PartitionOffsets], context: Context<'_>) {
        let known = self.state.discovered;
        let stop = self.source.config.stop_offset.unwrap_or(UNBOUNDED_END);
        let split = |(index, partition): (u32, &PartitionOffsets)| LogSplit {
            id: SplitId { operator: self.source.operator, index },
            offset: self.first_offset(*partition).min(stop),
            stop,
        };
        let new: Vec<LogSplit> = (0..).zip(partitions).skip(known as usize).map(split).collect();
        if new.is_empty() {
            return;
        }
        self.state.discovered = known + new.len() as u32;
        context.splits_discovered(&new);
        self.park(new, context.current_parallelism());
    }
}

impl SplitEnumerator for LogEnumerator {
    type Split = LogSplit;
    type Extra = LogEnumeratorState;

    fn start(&mut self, context: Context<'_>) -> Result<(), UserError> {
        let restored = std::mem::take(&mut self.restored);
        self.park(restored, context.current_parallelism());
        if !self.is_discovery_over() {
            let period_ns = Some(self.source.config.discovery_period_ns);
            context.call_async(AsyncCall { name: LOOK, initial_delay_ns: 0, period_ns });
        }
        Ok(())
    }

    /// Splits are pushed; a reader that asks has none to wait for.
    fn handle_split_request(&mut self, subtask: SubtaskIndex, _: Context<'_>) -> Result<(), UserError> {
        tracing::debug!(subtask = subtask.0, "asks for what it is given anyway");
        Ok(())
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<LogSplit>,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Result<(), UserError> {
        if splits.is_empty() {
            return Ok(());
        }
        self.pending.entry(subtask).or_default().extend(splits);
        if context.registered_readers().contains(&subtask) { self.hand_out(subtask, context) } else { Ok(()) }
    }

    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<LogSplit>,
        context: Context<'_>,
    ) -> Result<(), UserError> {
        debug_assert!(reported.is_empty(), "restored splits stay with their reader");
        self.hand_out(subtask, context)
    }

    fn snapshot_state(
        &mut self,
        _checkpoint: CheckpointId,
        _context: Context<'_>,
    ) -> Result<(Vec<LogSplit>, LogEnumeratorState), UserError> {
        debug_assert!(self.restored.is_empty(), "it has started");
        Ok((self.pending.values().flatten().copied().collect(), self.state))
    }

    fn ask_async(&mut self, call: AsyncCallName) -> Option<InputOperation> {
        debug_assert_eq!(call, LOOK, "it asks for nothing else");
        let topic = self.source.config.reader.topic;
        (!self.is_discovery_over()).then_some(InputOperation::Log(LogReadOperation::DescribeTopic { topic }))
    }

    /// The look of a source that knows everything comes back with nothing new.
    fn run_async(&mut self, call: AsyncCallName) -> Result<Vec<u8>, UserError> {
        debug_assert_eq!(call, LOOK, "it asks for nothing else");
        Ok(encode_onto(&Vec::<PartitionOffsets>::new(), Vec::new()))
    }

    fn async_answered(&mut self, call: AsyncCallName, answer: InputAnswer) -> Result<Vec<u8>, UserError> {
        debug_assert_eq!(call, LOOK, "it asks for nothing else");
        match answer {
            InputAnswer::Log(LogReadAnswer::Partitions(found)) => Ok(encode_onto(&found, Vec::new())),
            other => Err(UserError::new(format!("the topic cannot be described: {other:?}"))),
        }
    }

    /// A look that failed is made again anyway.
    fn handle_async_result(
        &mut self,
        _call: AsyncCallName,
        result: Result<Vec<u8>, UserError>,
        context: Context<'_>,
    ) -> Result<(), UserError> {
        let described = match result {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::debug!(%error, "a look has failed");
                return Ok(());
            }
        };
        let described: Vec<PartitionOffsets> = postcard::from_bytes(&described).map_err(StateError::from)?;
        let known = self.state.discovered;
        self.take_described(&described, context);
        if self.state.discovered > known {
            for subtask in context.registered_readers() {
                self.hand_out(subtask, context)?;
            }
        }
        Ok(())
    }
}
