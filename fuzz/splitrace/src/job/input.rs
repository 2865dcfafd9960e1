//! How much a job has to read, and how much of it is read for good: for the progress bar, nothing else.

use super::error::JobError;
use super::file::Job;
use crate::real_files::RealFiles;
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use splitrace_runtime::api::source::SimpleVersionedSerializer;
use splitrace_runtime::api::source_state::{
    EnumeratorState, StateError, decode_enumerator_state, decode_reader_state,
};
use splitrace_runtime::connectors::file_source::{FileEnumeratorState, FileSplit, is_input};
use splitrace_runtime::connectors::postcard_serializer::PostcardSerializer;
use splitrace_runtime::message::{CompletedCheckpoint, SplitPayload};

/// The bytes of all input files; `None` for a source without an end, as more may come.
///
/// # Errors
/// When the folder, or what lies in it, cannot be listed or named.
pub(super) fn total_bytes(job: &Job) -> Result<Option<u64>, JobError> {
    let all = FileOperation::List { folder: String::new() };
    match RealFiles::new(job.source_folder.clone()).perform(&all) {
        FileAnswer::Listed(files) => {
            let bytes = files.iter().filter(|(path, _)| is_input(path)).map(|(_, bytes)| bytes).sum();
            Ok(job.discover_every.is_none().then_some(bytes))
        }
        FileAnswer::Failed(what) => Err(JobError::Input { path: job.source_folder.clone(), what }),
        other => unreachable!("a list lists or fails: {other:?}"),
    }
}

/// How many of `total` bytes lie before the positions of a checkpoint; 0 when that cannot be told.
pub(super) fn bytes_before(checkpoint: &CompletedCheckpoint, total: u64) -> u64 {
    bytes_left(checkpoint).ok().flatten().map_or(0, |left| total.saturating_sub(left))
}

/// How many bytes a checkpoint's splits have yet to be read; `None` when it was taken before the input was looked at.
fn bytes_left(checkpoint: &CompletedCheckpoint) -> Result<Option<u64>, StateError> {
    let mut left = 0;
    for (_, state) in &checkpoint.coordinators {
        let EnumeratorState { pending, extra } = decode_enumerator_state(state)?;
        let Some((version, extra)) = extra.split_first() else { return Ok(None) };
        let state: FileEnumeratorState = PostcardSerializer.deserialize(u32::from(*version), extra)?;
        if !state.has_looked {
            return Ok(None);
        }
        left += bytes_of(&pending)?;
    }
    for subtask in &checkpoint.subtasks {
        left += bytes_of(&decode_reader_state(&subtask.snapshot.reader)?)?;
    }
    Ok(Some(left))
}

fn bytes_of(splits: &[SplitPayload]) -> Result<u64, StateError> {
    let left = |split: &SplitPayload| {
        let FileSplit { part, .. } = PostcardSerializer.deserialize(split.version, &split.bytes)?;
        Ok(part.end().saturating_sub(part.position))
    };
    splits.iter().map(left).sum()
}
