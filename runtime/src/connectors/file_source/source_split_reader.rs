//! Reads splits one after the other in a fetcher's thread; each chunk of a file is asked of the outside.

use super::source::FileSplit;
use super::split_reader::FileSplitReader;
use crate::api::file_io::FileAnswer;
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::source::{PauseError, UserError};
use crate::config::FileReaderConfig;
use crate::ids::SplitId;
use crate::reader_base::{Fetch, PausedSplits, RecordsBySplits, SplitReader, SplitsChange};
use crate::records::Record;
use std::collections::VecDeque;

/// The split that is being read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Current {
    split: SplitId,
    reader: FileSplitReader,
    /// The number of its next record.
    next: u64,
}

/// Flink's `FileSourceSplitReader`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileSourceSplitReader {
    config: FileReaderConfig,
    waiting: VecDeque<FileSplit>,
    current: Option<Current>,
    paused: PausedSplits,
    /// An answer is on its way: a read cannot be taken back, whatever becomes of its split.
    asked: Option<SplitId>,
    answer: Option<(SplitId, FileAnswer)>,
    woken: bool,
}

impl FileSourceSplitReader {
    /// A split reader without splits.
    #[must_use]
    pub const fn new(config: FileReaderConfig) -> Self {
        debug_assert!(config.chunk_bytes > 0, "nothing is read otherwise");
        Self {
            config,
            waiting: VecDeque::new(),
            current: None,
            paused: PausedSplits::new(),
            asked: None,
            answer: None,
            woken: false,
        }
    }

    /// The split that is read now: the one before, or the first that is not paused.
    fn current(&mut self) -> Option<&mut Current> {
        let paused = &self.paused;
        if self.current.is_none() {
            let next = self.waiting.iter().position(|split| !paused.contains(&split.id))?;
            let FileSplit { id, part, records } = self.waiting.remove(next)?;
            let reader = FileSplitReader::new(part, self.config.format, self.config.chunk_bytes);
            self.current = Some(Current { split: id, reader, next: records });
        }
        self.current.as_mut().filter(|current| !paused.contains(&current.split))
    }

    /// Hands the answer that came to the split that it is for.
    fn take_answer(&mut self) -> Result<(), UserError> {
        let Some((split, answer)) = self.answer.take() else { return Ok(()) };
        match &mut self.current {
            Some(current) if current.split == split => {
                current.reader.answered(answer).map_err(|error| UserError::new(error.to_string()))
            }
            // It was taken away meanwhile.
            _ => Ok(()),
        }
    }
}

impl Current {
    /// Takes up to so many records out of what was read.
    fn take_records(&mut self, records_max: u32) -> Result<Vec<Record>, UserError> {
        let mut records = Vec::new();
        while records.len() < records_max as usize {
            let record = self.reader.next_record().map_err(|error| UserError::new(error.to_string()))?;
            let Some(record) = record else { break };
            records.push(Record {
                split: self.split,
                offset: self.next,
                event_time_ms: 0,
                key: record.end,
                payload: record.bytes,
            });
            self.next += 1;
        }
        Ok(records)
    }
}

impl SplitReader for FileSourceSplitReader {
    type Split = FileSplit;

    fn fetch(&mut self, records_max: u32) -> Result<Fetch, UserError> {
        debug_assert!(records_max >= 1, "a fetch may bring a record");
        let mut batch = RecordsBySplits::default();
        if std::mem::take(&mut self.woken) {
            return Ok(Fetch::Records(batch));
        }
        self.take_answer()?;
        if self.asked.is_some() {
            return Ok(Fetch::Blocked { for_ns: None });
        }
        let Some(current) = self.current() else { return Ok(Fetch::Blocked { for_ns: None }) };
        let split = current.split;
        let records = current.take_records(records_max)?;
        let is_finished = current.reader.is_finished();
        if records.is_empty() && !is_finished {
            let operation = current.reader.next_operation().expect("an unfinished split has more to read");
            self.asked = Some(split);
            return Ok(Fetch::Asks(InputOperation::File(operation)));
        }
        batch.add(split, records);
        if is_finished {
            batch.add_finished(split);
            self.current = None;
        }
        Ok(Fetch::Records(batch))
    }

    fn handle_splits_changes(&mut self, change: SplitsChange<FileSplit>) -> Result<(), UserError> {
        match change {
            SplitsChange::Addition(splits) => self.waiting.extend(splits),
            SplitsChange::Removal(removed) => {
                self.waiting.retain(|split| !removed.contains(&split.id));
                self.paused.forget(&removed);
                self.current.take_if(|current| removed.contains(&current.split));
            }
        }
        Ok(())
    }

    fn answered(&mut self, answer: InputAnswer) {
        debug_assert!(self.asked.is_some(), "only what was asked for is answered");
        let InputAnswer::File(answer) = answer else {
            unreachable!("a file was asked for: {answer:?}");
        };
        self.answer = self.asked.take().map(|split| (split, answer));
    }

    fn wake_up(&mut self) {
        self.woken = true;
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        self.paused.pause_or_resume(pause, resume);
        Ok(())
    }
}
