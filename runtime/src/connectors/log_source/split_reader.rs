//! Reads all its partitions by one fetch after the other, in a fetcher's thread.

use super::source::LogSplit;
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::log_io::{FetchedPartition, LogReadAnswer, LogReadOperation};
use crate::api::source::{PauseError, UserError};
use crate::config::LogReaderConfig;
use crate::ids::SplitId;
use crate::reader_base::{Fetch, PausedSplits, RecordsBySplits, SplitReader, SplitsChange};
use crate::records::Record;
use std::collections::VecDeque;

/// A partition that is read: its split at the offset that is fetched next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reading {
    split: LogSplit,
    /// What was fetched and not handed on.
    buffer: VecDeque<(u64, Vec<u8>)>,
}

/// Flink's `KafkaPartitionSplitReader`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LogSplitReader {
    config: LogReaderConfig,
    readings: Vec<Reading>,
    paused: PausedSplits,
    /// An answer is on its way: a fetch cannot be taken back, whatever becomes of its splits.
    asked: bool,
    answer: Option<Vec<FetchedPartition>>,
    /// The last answer brought nothing.
    is_idle: bool,
    woken: bool,
}

impl LogSplitReader {
    /// A split reader without splits.
    #[must_use]
    pub const fn new(config: LogReaderConfig) -> Self {
        debug_assert!(config.fetch_records_max > 0 && config.poll_ns > 0, "nothing is read otherwise");
        Self {
            config,
            readings: Vec::new(),
            paused: PausedSplits::new(),
            asked: false,
            answer: None,
            is_idle: false,
            woken: false,
        }
    }

    /// Takes what was fetched for partitions that are still read from there.
    fn take_answer(&mut self) {
        let Some(fetched) = self.answer.take() else { return };
        self.is_idle = true;
        for FetchedPartition { partition, from, records, next_offset } in fetched {
            let is_same = |held: &&mut Reading| held.split.id.index == partition && held.split.offset == from;
            let Some(reading) = self.readings.iter_mut().find(is_same) else { continue };
            let stop = reading.split.stop;
            reading.buffer.extend(records.into_iter().filter(|(offset, _)| *offset < stop));
            reading.split.offset = next_offset.min(stop);
            debug_assert!(reading.split.offset >= from, "a log is read forwards");
            self.is_idle &= reading.split.offset == from;
        }
    }

    /// The next records of a partition that is not paused.
    fn take_records(&mut self, records_max: u32, batch: &mut RecordsBySplits) {
        let paused = &self.paused;
        let has_records = |held: &&mut Reading| !held.buffer.is_empty() && !paused.contains(&held.split.id);
        let Some(reading) = self.readings.iter_mut().find(has_records) else { return };
        let split = reading.split.id;
        let count = reading.buffer.len().min(records_max as usize);
        let record = |(offset, payload)| Record { split, offset, event_time_ms: 0, key: offset, payload };
        batch.add(split, reading.buffer.drain(..count).map(record));
    }

    /// Partitions behind whose records in the batch nothing is read.
    fn take_finished(&mut self, batch: &mut RecordsBySplits) {
        let paused = &self.paused;
        self.readings.retain(|Reading { split, buffer }| {
            let is_finished = buffer.is_empty() && split.offset >= split.stop && !paused.contains(&split.id);
            if is_finished {
                batch.add_finished(split.id);
            }
            !is_finished
        });
    }

    /// Where to read on, for a fetch of all that is not paused.
    fn positions(&self) -> Vec<(u32, u64)> {
        let read = self.readings.iter().filter(|held| !self.paused.contains(&held.split.id));
        read.map(|held| (held.split.id.index, held.split.offset)).collect()
    }
}

impl SplitReader for LogSplitReader {
    type Split = LogSplit;

    fn fetch(&mut self, records_max: u32) -> Result<Fetch, UserError> {
        debug_assert!(records_max >= 1, "a fetch may bring a record");
        let mut batch = RecordsBySplits::default();
        if std::mem::take(&mut self.woken) {
            return Ok(Fetch::Records(batch));
        }
        self.take_answer();
        self.take_records(records_max, &mut batch);
        self.take_finished(&mut batch);
        if batch.record_count() > 0 || !batch.finished().is_empty() {
            return Ok(Fetch::Records(batch));
        }
        let positions = self.positions();
        if self.asked || positions.is_empty() {
            return Ok(Fetch::Blocked { for_ns: None });
        }
        if std::mem::take(&mut self.is_idle) {
            return Ok(Fetch::Blocked { for_ns: Some(self.config.poll_ns) });
        }
        self.asked = true;
        let LogReaderConfig { topic, fetch_records_max: records_max, isolation, .. } = self.config;
        let fetch = LogReadOperation::Fetch { topic, positions, records_max, isolation };
        Ok(Fetch::Asks(InputOperation::Log(fetch)))
    }

    fn handle_splits_changes(&mut self, change: SplitsChange<LogSplit>) -> Result<(), UserError> {
        match change {
            SplitsChange::Addition(splits) => {
                let reading = |split| Reading { split, buffer: VecDeque::new() };
                self.readings.extend(splits.into_iter().map(reading));
            }
            SplitsChange::Removal(removed) => {
                self.readings.retain(|held| !removed.contains(&held.split.id));
                self.paused.forget(&removed);
            }
        }
        Ok(())
    }

    fn answered(&mut self, answer: InputAnswer) {
        debug_assert!(self.asked, "only what was asked for is answered");
        let InputAnswer::Log(LogReadAnswer::Fetched(fetched)) = answer else {
            unreachable!("a fetch was asked for: {answer:?}");
        };
        self.asked = false;
        self.answer = Some(fetched);
    }

    fn wake_up(&mut self) {
        self.woken = true;
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        self.paused.pause_or_resume(pause, resume);
        Ok(())
    }
}
