//! Reads one split: asks for its bytes chunk by chunk, and cuts records out of them.

use super::split::{FileSourceSplit, RecordFormat};
use crate::api::file_io::{FileAnswer, FileOperation};

/// The bytes of a frame's length.
const FRAME_HEAD: usize = 4;

/// A record of a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileRecord {
    /// Where it begins in its file.
    pub offset: u64,
    /// The byte behind it, where the next one begins.
    pub end: u64,
    /// Its bytes, without what ends or begins it.
    pub bytes: Vec<u8>,
}

/// Why a split cannot be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum FileSourceError {
    /// The file was there when it was found.
    #[error("{0} is gone")]
    Gone(String),
    /// The file ends inside a frame.
    #[error("{path} ends inside the frame that begins at byte {offset}")]
    TornFrame {
        /// The file.
        path: String,
        /// Where the frame begins.
        offset: u64,
    },
    /// The file has lost what it had when it was found.
    #[error(
        "{path} has {found} bytes, and had {expected} at least when it was found: what is missing would be lost"
    )]
    Shorter {
        /// The file.
        path: String,
        /// Its length.
        found: u64,
        /// Where the split ends.
        expected: u64,
    },
    /// The file system failed.
    #[error("{path}: {cause}")]
    Failed {
        /// The file.
        path: String,
        /// How.
        cause: String,
    },
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileSplitReader {
    split: FileSourceSplit,
    format: RecordFormat,
    chunk: u64,
    /// What was read; `cut` bytes of it were cut into records, and the rest begins at byte `from`.
    buffer: Vec<u8>,
    cut: usize,
    from: u64,
    /// The file ends behind the buffer.
    at_end_of_file: bool,
    /// It began inside a line, whose rest belongs to the split before.
    passes_over: bool,
    /// So many bytes behind `from` hold no end of a line.
    searched: usize,
}

impl FileSplitReader {
    /// From the split's position on; `chunk` bytes, at least 1, are asked for at a time.
    #[must_use]
    pub fn new(split: FileSourceSplit, format: RecordFormat, chunk: u64) -> Self {
        debug_assert!(chunk > 0, "nothing is read otherwise");
        debug_assert!(split.position >= split.offset, "a split is read from its beginning on");
        // Whether a line begins at the first byte, only the byte before can tell.
        let is_inside = split.offset > 0 && split.position == split.offset;
        let passes_over = is_inside && format == RecordFormat::TextLines;
        let from = split.position - u64::from(passes_over);
        Self {
            split,
            format,
            chunk,
            buffer: Vec::new(),
            cut: 0,
            from,
            at_end_of_file: false,
            passes_over,
            searched: 0,
        }
    }

    /// What to ask for next; nothing once all is read.
    #[must_use]
    pub fn next_operation(&self) -> Option<FileOperation> {
        let at = self.from + self.rest().len() as u64;
        let wants = !self.at_end_of_file && !self.is_behind_end();
        wants.then(|| FileOperation::Read { path: self.split.path.clone(), at, length: self.chunk })
    }

    /// Takes the answer to what was asked for.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn answered(&mut self, answer: FileAnswer) -> Result<(), FileSourceError> {
        let path = self.split.path.clone();
        match answer {
            FileAnswer::Bytes(bytes) => {
                self.at_end_of_file = (bytes.len() as u64) < self.chunk;
                self.buffer.drain(..std::mem::take(&mut self.cut));
                self.buffer.extend_from_slice(&bytes);
                self.pass_over();
                let found = self.from + self.rest().len() as u64;
                if self.at_end_of_file && found < self.split.end() {
                    return Err(FileSourceError::Shorter { path, found, expected: self.split.end() });
                }
                Ok(())
            }
            FileAnswer::NotFound => Err(FileSourceError::Gone(path)),
            FileAnswer::Failed(cause) => Err(FileSourceError::Failed { path, cause }),
            other => unreachable!("no answer to a read: {other:?}"),
        }
    }

    /// The next record of what has been read so far. `None`: ask for more, or the split is finished.
    ///
    /// # Errors
    /// When the file ends inside a frame.
    pub fn next_record(&mut self) -> Result<Option<FileRecord>, FileSourceError> {
        if self.passes_over || self.is_behind_end() {
            return Ok(None);
        }
        let found = match self.format {
            RecordFormat::TextLines => self.line(),
            RecordFormat::Frames => self.frame()?,
        };
        let Some((bytes, taken)) = found else { return Ok(None) };
        let record = FileRecord { offset: self.from, end: self.from + taken as u64, bytes };
        self.advance(taken);
        Ok(Some(record))
    }

    /// The split with the position behind the records that were handed on: what a checkpoint holds of it.
    #[must_use]
    pub fn snapshot(&self) -> FileSourceSplit {
        let position = if self.passes_over { self.split.offset } else { self.from };
        FileSourceSplit { position: position.max(self.split.offset), ..self.split.clone() }
    }

    /// Whether every record of it was handed on.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_behind_end() || (self.at_end_of_file && self.rest().is_empty())
    }

    /// What was read and is not cut yet.
    fn rest(&self) -> &[u8] {
        &self.buffer[self.cut..]
    }

    const fn is_behind_end(&self) -> bool {
        !self.passes_over && self.from >= self.split.end()
    }

    /// A line that ends in the buffer, or the last one of a file, and how many bytes it takes.
    fn line(&mut self) -> Option<(Vec<u8>, usize)> {
        let searched = std::mem::take(&mut self.searched);
        let rest = self.rest();
        let (line, taken) = match rest[searched..].iter().position(|byte| *byte == b'\n') {
            Some(more) => (&rest[..searched + more], searched + more + 1),
            None if self.at_end_of_file && !rest.is_empty() => (rest, rest.len()),
            None => {
                self.searched = rest.len();
                return None;
            }
        };
        Some((line.strip_suffix(b"\r").unwrap_or(line).to_vec(), taken))
    }

    fn frame(&self) -> Result<Option<(Vec<u8>, usize)>, FileSourceError> {
        let rest = self.rest();
        let head = rest.first_chunk::<FRAME_HEAD>();
        let length = head.map(|head| FRAME_HEAD + u32::from_le_bytes(*head) as usize);
        match length.and_then(|length| rest.get(FRAME_HEAD..length)) {
            Some(bytes) => Ok(Some((bytes.to_vec(), FRAME_HEAD + bytes.len()))),
            None if self.at_end_of_file && !rest.is_empty() => {
                Err(FileSourceError::TornFrame { path: self.split.path.clone(), offset: self.from })
            }
            None => Ok(None),
        }
    }

    /// Drops the rest of a line that began before the split.
    fn pass_over(&mut self) {
        if !self.passes_over {
            return;
        }
        match self.rest().iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                self.passes_over = false;
                self.advance(at + 1);
            }
            None => self.advance(self.rest().len()),
        }
        // A line that reaches beyond the split leaves nothing of it.
        self.passes_over &= !self.at_end_of_file && self.from < self.split.end();
    }

    fn advance(&mut self, taken: usize) {
        debug_assert!(taken <= self.rest().len());
        self.cut += taken;
        self.from += taken as u64;
    }
}
