//! The job file: TOML, read and checked as a whole before anything is touched.
//!
//! What is wrong is told with the line of the value and what would be right there. Folders are relative to the folder of
//! the file, so that a job means the same wherever it is started from.

mod sink;

pub use sink::{FilesSink, JobSink, TableSink};

use super::error::JobError;
use crate::parse;
use serde::Deserialize;
use sink::SinkTable;
use splitrace_runtime::connectors::file_source::RecordFormat;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// A job, with every setting that its file leaves out.
#[derive(Clone, Debug)]
pub struct Job {
    /// How many subtasks.
    pub parallelism: u32,
    /// Where its state is.
    pub state_folder: PathBuf,
    /// Where its input is.
    pub source_folder: PathBuf,
    /// How records lie in the input.
    pub format: RecordFormat,
    /// The bytes of a split, at most.
    pub block_bytes: u64,
    /// How often the source looks for new files; `None`: the job ends behind what is there when it starts.
    pub discover_every: Option<Duration>,
    /// Where its output goes.
    pub sink: JobSink,
    /// Time between two checkpoints.
    pub checkpoint_interval: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobFile {
    state_folder: Spanned<PathBuf>,
    parallelism: Option<Spanned<u64>>,
    source: SourceTable,
    sink: Spanned<SinkTable>,
    #[serde(default)]
    checkpointing: CheckpointingTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    folder: Spanned<PathBuf>,
    #[serde(default = "text_lines")]
    format: RecordFormat,
    block_bytes: Option<Spanned<u64>>,
    discover_every: Option<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct CheckpointingTable {
    interval: Option<Spanned<String>>,
}

const fn text_lines() -> RecordFormat {
    RecordFormat::TextLines
}

const BLOCK_BYTES: u64 = 1 << 20;
const SECOND: Duration = Duration::from_secs(1);
const TIME_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Beyond any disk, and far from overflow.
const BYTES_MAX: u64 = 1 << 50;
/// A subtask is a thread.
const PARALLELISM_MAX: u64 = 64;

impl Job {
    /// Reads and checks a job file.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        let unreadable = |source| JobError::Unreadable { path: path.to_owned(), source };
        let text = splitrace_sim::input_file::read(path).map_err(unreadable)?;
        let reader = Reader { path, text: &text };
        let file: JobFile = toml::from_str(&text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            reader.wrong(span.start, error.message())
        })?;
        reader.job(file)
    }
}

/// Checks values, and knows where they stand.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, at: usize, message: impl Display) -> JobError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        JobError::Invalid { path: self.path.to_owned(), line, message: message.to_string() }
    }

    fn job(&self, file: JobFile) -> Result<Job, JobError> {
        let JobFile { state_folder, parallelism, source, sink, checkpointing } = file;
        let source_folder = self.folder(&source.folder);
        if !source_folder.is_dir() {
            let message = format!(
                "source.folder: there is no folder '{}'; it holds the input",
                source_folder.display()
            );
            return Err(self.wrong(source.folder.span().start, message));
        }
        if state_folder.get_ref().as_os_str().is_empty() {
            let message =
                "state_folder: it names a folder of the job's own, which is made when it is not there";
            return Err(self.wrong(state_folder.span().start, message));
        }
        let state = self.folder(&state_folder);
        self.apart("state_folder", (&state_folder, &state), ("source.folder", &source_folder))?;
        if let Some(folder) = &sink.get_ref().folder {
            let path = self.folder(folder);
            self.apart("sink.folder", (folder, &path), ("source.folder", &source_folder))?;
            self.apart("state_folder", (&state_folder, &state), ("sink.folder", &path))?;
        }
        let parallelism = self.number("parallelism", parallelism, 1..=PARALLELISM_MAX, 1)?;
        Ok(Job {
            parallelism: u32::try_from(parallelism).expect("it is at most 64"),
            state_folder: state,
            source_folder,
            format: source.format,
            block_bytes: self.number("source.block_bytes", source.block_bytes, 1..=BYTES_MAX, BLOCK_BYTES)?,
            discover_every: source
                .discover_every
                .map(|every| self.time("source.discover_every", Some(every), SECOND))
                .transpose()?,
            sink: self.sink(sink)?,
            checkpoint_interval: self.time("checkpointing.interval", checkpointing.interval, SECOND)?,
        })
    }

    fn folder(&self, folder: &Spanned<PathBuf>) -> PathBuf {
        let base = self.path.parent().unwrap_or(Path::new(""));
        let path = base.join(folder.get_ref());
        resolved(&std::path::absolute(&path).unwrap_or(path))
    }

    /// One folder must not lie in the other, or be it.
    fn apart(
        &self,
        name: &str,
        (inner, inner_path): (&Spanned<PathBuf>, &Path),
        (outer, outer_path): (&str, &Path),
    ) -> Result<(), JobError> {
        if !inner_path.starts_with(outer_path) {
            return Ok(());
        }
        let message = format!(
            "{name}: '{}' lies in {outer}, '{}', so the job would take it for its own; put it beside that folder",
            inner.get_ref().display(),
            outer_path.display()
        );
        Err(self.wrong(inner.span().start, message))
    }

    fn number(
        &self,
        name: &str,
        value: Option<Spanned<u64>>,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, JobError> {
        let Some(value) = value else { return Ok(default) };
        if range.contains(value.get_ref()) {
            return Ok(value.into_inner());
        }
        let (least, most) = (range.start(), range.end());
        Err(self.wrong(value.span().start, format!("{name}: it lies between {least} and {most}")))
    }

    fn time(
        &self,
        name: &str,
        value: Option<Spanned<String>>,
        default: Duration,
    ) -> Result<Duration, JobError> {
        let Some(value) = value else { return Ok(default) };
        let time = parse::duration(value.get_ref()).and_then(|time| match time {
            time if time <= TIME_MAX => Ok(time),
            _ => Err("no time is longer than 8760h, a year".to_owned()),
        });
        time.map_err(|message| self.wrong(value.span().start, format!("{name}: {message}")))
    }
}

/// A path as the system names it, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            part => {
                resolved.push(part);
                resolved = resolved.canonicalize().unwrap_or(resolved);
            }
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a job file with this text; its folder holds the folder `in`.
    fn said(text: &str) -> String {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(folder.path().join("in")).expect("it is writable");
        let path = folder.path().join("job.toml");
        std::fs::write(&path, text).expect("it is writable");
        match Job::read(&path) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string().split_once("is no valid job: ").map_or_else(
                || error.to_string(),
                |(_, said)| said.replace(&folder.path().display().to_string(), ""),
            ),
        }
    }

    const JOB: &str = "state_folder = 'state'\n[source]\nfolder = 'in'\n[sink]\nfolder = 'out'\n";

    #[test]
    fn what_is_left_out_has_a_default() {
        assert_eq!(said(JOB), "accepted");
        let whole = "state_folder = 'state'\nparallelism = 4\n[source]\nfolder = './in'\nformat = 'frames'\n\
                     block_bytes = 4096\ndiscover_every = '10s'\n[sink]\nfolder = 'out'\npolicy = 'default'\nbuckets = 3\n\
                     part_bytes = 1\nrollover = '1s'\ninactivity = '2s'\nbucket_check = '500ms'\n\
                     [checkpointing]\ninterval = '100ms'\n";
        assert_eq!(said(whole), "accepted");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_would_be_right() {
        let with = |from: &str, to: &str| said(&JOB.replace(from, to));
        let unknown = with("[sink]\n", "[sink]\nfoldre = 'out'\n");
        assert!(unknown.starts_with("line 5: unknown field `foldre`, expected one of `folder`"), "{unknown}");
        let missing = with("folder = 'out'\n", "");
        assert!(missing.starts_with("line 4: sink: 'folder' says where part files go"), "{missing}");
        let no_input = with("folder = 'in'", "folder = 'inn'");
        assert!(no_input.starts_with("line 3: source.folder: there is no folder"), "{no_input}");
        let inside = with("'out'", "'in/out'");
        assert!(inside.starts_with("line 5: sink.folder: 'in/out' lies in source.folder, "), "{inside}");
        let same = with("'out'", "'x/../in'");
        assert!(same.contains("lies in source.folder"), "{same}");
        let state = with("'state'", "'out/state'");
        assert!(state.starts_with("line 1: state_folder: 'out/state' lies in sink.folder"), "{state}");
        let nowhere = with("'state'", "''");
        assert!(nowhere.starts_with("line 1: state_folder: it names a folder of the job's own"), "{nowhere}");
        let zero = said(&format!("{JOB}[checkpointing]\ninterval = '0s'\n"));
        assert_eq!(zero, "line 7: checkpointing.interval: the time must be longer than zero");
        let unit = said(&format!("{JOB}[checkpointing]\ninterval = '5'\n"));
        assert!(unit.contains("a time looks like 500ms, 60s, 15m or 2h, not '5'"), "{unit}");
        let long = said(&format!("{JOB}[checkpointing]\ninterval = '9000h'\n"));
        assert_eq!(long, "line 7: checkpointing.interval: no time is longer than 8760h, a year");
        let none = with("state_folder", "parallelism = 0\nstate_folder");
        assert_eq!(none, "line 1: parallelism: it lies between 1 and 64");
        let unused = said(&format!("{JOB}rollover = '1s'\n"));
        assert!(unused.starts_with("line 6: the policy 'on-checkpoint' looks at neither"), "{unused}");
        assert!(said("folder = [").starts_with("line 1: "));
    }

    #[test]
    fn a_sink_is_a_folder_or_a_table() {
        let with = |sink: &str| said(&JOB.replace("folder = 'out'\n", sink));
        let server = "postgres = 'host=/run/x user=me password=secret'\n";
        assert_eq!(with(&format!("{server}table = 'lines'\n")), "accepted");
        let none = with("");
        assert!(none.starts_with("line 4: sink: 'folder' says where"), "{none}");
        let both = with(&format!("folder = 'out'\n{server}"));
        assert!(both.starts_with("line 6: sink.postgres: the output goes into a folder or"), "{both}");
        let no_table = with(server);
        assert!(no_table.starts_with("line 4: sink.table: it names the table"), "{no_table}");
        let name = with(&format!("{server}table = 'a b'\n"));
        assert!(name.starts_with("line 6: sink.table: 'a b' is no table's name"), "{name}");
        let of_files = with(&format!("{server}table = 'lines'\nbuckets = 2\n"));
        assert!(of_files.starts_with("line 7: this is about part files"), "{of_files}");
        let port = with("postgres = 'host=x user=me port=much'\ntable = 'lines'\n");
        assert!(
            port.starts_with("line 5: sink.postgres: ") && port.contains("a server looks like"),
            "{port}"
        );
        let no_user = with("postgres = 'host=x'\ntable = 'lines'\n");
        assert!(no_user.starts_with("line 5: sink.postgres: it says host and user"), "{no_user}");
        let objects = with("folder = 'out'\nmedium = 'object-store'\n");
        assert_eq!(objects, "accepted");
        let open = with("folder = 'out'\nmedium = 'object-store'\npolicy = 'default'\n");
        assert!(open.starts_with("line 7: sink.policy: an object is never changed"), "{open}");
        let of_folder = said(&format!("{JOB}table = 'lines'\n"));
        assert!(of_folder.starts_with("line 6: sink.table: a folder has none"), "{of_folder}");
    }
}
