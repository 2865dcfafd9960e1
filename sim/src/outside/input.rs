//! What the sources of a simulated job read: files, or the [`topic`] of a log.
//!
//! Every line of a file is empty. So a part of a file has as many records as bytes, wherever it is cut, and its census
//! needs no table; that lines of other lengths are read rightly, the source's own tests and real jobs show. The files
//! follow from the job's configuration and never change: nothing of them is kept, forked or hashed.

pub mod topic;

use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use splitrace_runtime::api::input_io::{InputAnswer, InputOperation};
use splitrace_runtime::config::{JobConfig, SourceConfig};

/// The line of every record.
const LINE: u8 = b'\n';

/// Answers what a source asks of what it reads.
#[must_use]
pub fn answer(job: &JobConfig, operation: &InputOperation, now_ns: u64) -> InputAnswer {
    match operation {
        InputOperation::File(operation) => InputAnswer::File(answer_of_file(job, operation)),
        InputOperation::Log(operation) => InputAnswer::Log(topic::answer(job, operation, now_ns)),
    }
}

fn answer_of_file(job: &JobConfig, operation: &FileOperation) -> FileAnswer {
    match operation {
        FileOperation::List { folder } => {
            let Some(source) = source_of(job, folder) else { return FileAnswer::Listed(Vec::new()) };
            let file = |index| (format!("{folder}/{index:05}"), source.records_per_split);
            FileAnswer::Listed((0..source.split_count).map(file).collect())
        }
        FileOperation::Read { path, at, length } => {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let Some(source) = source_of(job, folder) else { return FileAnswer::NotFound };
            let left = source.records_per_split.saturating_sub(*at);
            FileAnswer::Bytes(vec![LINE; left.min(*length) as usize])
        }
        other => FileAnswer::Failed(format!("no source writes: {}", other.sentence())),
    }
}

/// The source that reads this folder: one file for each of its splits, of as many bytes as that has records.
fn source_of(job: &JobConfig, folder: &str) -> Option<SourceConfig> {
    let reads = |files: &splitrace_runtime::config::FileSourceConfig| files.folder == folder;
    let vertex = job.vertices.iter().find(|vertex| vertex.files.as_ref().is_some_and(reads))?;
    Some(vertex.source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use splitrace_runtime::config::{FileReaderConfig, FileSourceConfig};
    use splitrace_runtime::connectors::file_source::RecordFormat;

    #[test]
    fn what_is_listed_is_there_to_its_end() {
        let mut job = Scenario::draw(7).job;
        job.vertices[0].source.split_count = 2;
        job.vertices[0].source.records_per_split = 5;
        let reader = FileReaderConfig { format: RecordFormat::TextLines, chunk_bytes: 4 };
        let folder = "a".to_owned();
        job.vertices[0].files =
            Some(FileSourceConfig { folder, block_bytes: 3, reader, discovery_period_ns: None });
        let listed = answer_of_file(&job, &FileOperation::List { folder: "a".to_owned() });
        let file = |name: &str| (name.to_owned(), 5);
        assert_eq!(listed, FileAnswer::Listed(vec![file("a/00000"), file("a/00001")]));
        let read =
            |at| answer_of_file(&job, &FileOperation::Read { path: "a/00001".to_owned(), at, length: 4 });
        assert_eq!(read(0), FileAnswer::Bytes(b"\n\n\n\n".to_vec()));
        assert_eq!(read(4), FileAnswer::Bytes(b"\n".to_vec()));
        assert_eq!(read(5), FileAnswer::Bytes(Vec::new()));
        let elsewhere = FileOperation::Read { path: "b/00001".to_owned(), at: 0, length: 4 };
        assert_eq!(answer_of_file(&job, &elsewhere), FileAnswer::NotFound);
    }
}
