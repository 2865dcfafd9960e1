//! The sink of a job file: part files below a folder, or rows of a table in PostgreSQL.

use super::super::error::JobError;
use super::Reader;
use crate::real_table::TableName;
use serde::Deserialize;
use splitrace_runtime::config::FileMedium;
use splitrace_runtime::connectors::file_sink::RollingPolicy;
use std::fmt::{self, Display};
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;

/// Where the output goes, and how.
#[derive(Clone, Debug)]
pub enum JobSink {
    /// Part files.
    Files(FilesSink),
    /// Rows, by prepared transactions.
    Table(TableSink),
}

/// Part files below a folder that is the job's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilesSink {
    /// The folder.
    pub folder: PathBuf,
    /// What the folder is taken for.
    pub medium: FileMedium,
    /// When a part file is closed.
    pub policy: RollingPolicy,
    /// Into how many folders records are parted.
    pub buckets: u32,
    /// How often the age of part files is looked at.
    pub bucket_check: Duration,
}

/// Rows of a table that is the job's own.
#[derive(Clone, Debug)]
pub struct TableSink {
    /// How to reach the server.
    pub server: Box<postgres::Config>,
    /// The table.
    pub table: TableName,
}

/// The place, as people name it: without passwords.
impl Display for JobSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(FilesSink { folder, medium, .. }) => match medium {
                FileMedium::FileSystem => write!(formatter, "{}", folder.display()),
                FileMedium::ObjectStore => write!(formatter, "the object store {}", folder.display()),
            },
            Self::Table(TableSink { server, table }) => {
                let database = server.get_dbname().or(server.get_user()).unwrap_or_default();
                write!(formatter, "table {table} of the database {database}")
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SinkTable {
    pub(super) folder: Option<Spanned<PathBuf>>,
    medium: Option<Spanned<FileMedium>>,
    policy: Option<Spanned<PolicyName>>,
    part_bytes: Option<Spanned<u64>>,
    rollover: Option<Spanned<String>>,
    inactivity: Option<Spanned<String>>,
    bucket_check: Option<Spanned<String>>,
    buckets: Option<Spanned<u64>>,
    postgres: Option<Spanned<String>>,
    table: Option<Spanned<String>>,
}

/// Flink's two rolling policies.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "kebab-case")]
enum PolicyName {
    /// Every part file is closed at the next checkpoint.
    #[default]
    OnCheckpoint,
    /// By size and by age.
    Default,
}

const PART_BYTES: u64 = 128 << 20;
const MINUTE: Duration = Duration::from_secs(60);
/// Each writer may have a file open in each.
const BUCKETS_MAX: u64 = 1_000;

impl Reader<'_> {
    pub(super) fn sink(&self, sink: Spanned<SinkTable>) -> Result<JobSink, JobError> {
        let begins = sink.span().start;
        let sink = sink.into_inner();
        match (&sink.folder, &sink.postgres) {
            (Some(folder), None) => self.files(self.folder(folder), &sink).map(JobSink::Files),
            (None, Some(server)) => self.table(server, &sink, begins).map(JobSink::Table),
            (Some(_), Some(server)) => {
                let message = "sink.postgres: the output goes into a folder or into a table, not into both";
                Err(self.wrong(server.span().start, message))
            }
            (None, None) => {
                let message =
                    "sink: 'folder' says where part files go, or 'postgres' on which server the table is";
                Err(self.wrong(begins, message))
            }
        }
    }

    fn files(&self, folder: PathBuf, sink: &SinkTable) -> Result<FilesSink, JobError> {
        if let Some(table) = &sink.table {
            let message =
                "sink.table: a folder has none; leave this out, or set sink.postgres instead of sink.folder";
            return Err(self.wrong(table.span().start, message));
        }
        let buckets = self.number("sink.buckets", sink.buckets.clone(), 1..=BUCKETS_MAX, 1)?;
        let (policy, medium) = (self.policy(sink)?, sink.medium.as_ref().map(|medium| *medium.get_ref()));
        let medium = medium.unwrap_or_default();
        if let Some(named) = sink.policy.as_ref().filter(|_| medium == FileMedium::ObjectStore)
            && policy != RollingPolicy::OnCheckpoint
        {
            let message = "sink.policy: an object is never changed, so none stays open over a checkpoint: it is 'on-checkpoint' \
                           with the medium 'object-store'";
            return Err(self.wrong(named.span().start, message));
        }
        Ok(FilesSink {
            folder,
            medium,
            policy,
            buckets: u32::try_from(buckets).expect("there are at most 1000"),
            bucket_check: self.time("sink.bucket_check", sink.bucket_check.clone(), MINUTE)?,
        })
    }

    fn policy(&self, sink: &SinkTable) -> Result<RollingPolicy, JobError> {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let rollover = self.time("sink.rollover", sink.rollover.clone(), MINUTE)?;
        let inactivity = self.time("sink.inactivity", sink.inactivity.clone(), MINUTE)?;
        let part_size_max_bytes =
            self.number("sink.part_bytes", sink.part_bytes.clone(), 1..=super::BYTES_MAX, PART_BYTES)?;
        let name = sink.policy.as_ref().map_or_else(PolicyName::default, |name| *name.get_ref());
        if name == PolicyName::Default {
            return Ok(RollingPolicy::Default {
                part_size_max_bytes,
                rollover_interval_ms: milliseconds(rollover),
                inactivity_interval_ms: milliseconds(inactivity),
            });
        }
        if let Some(at) = sink.ages().chain(start(&sink.part_bytes)).min() {
            let message = "the policy 'on-checkpoint' looks at neither size nor age: leave this out, or set sink.policy to \
                           'default'";
            return Err(self.wrong(at, message));
        }
        Ok(RollingPolicy::OnCheckpoint)
    }

    fn table(
        &self,
        server: &Spanned<String>,
        sink: &SinkTable,
        begins: usize,
    ) -> Result<TableSink, JobError> {
        let of_files = sink.ages().chain(start(&sink.part_bytes));
        let of_files =
            of_files.chain(start(&sink.medium)).chain(start(&sink.policy)).chain(start(&sink.buckets)).min();
        if let Some(at) = of_files {
            let message = "this is about part files, and a table has none: leave it out";
            return Err(self.wrong(at, message));
        }
        let config: postgres::Config = server.get_ref().parse().map_err(|error: postgres::Error| {
            // The crate's own words end with the cause, which says what is wrong.
            let cause =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            let message = format!(
                "sink.postgres: {cause}; a server looks like 'host=/run/postgresql user=me dbname=shop' or \
                 'postgresql://me@localhost/shop'"
            );
            self.wrong(server.span().start, message)
        })?;
        if config.get_hosts().is_empty() || config.get_user().is_none() {
            let message =
                "sink.postgres: it says host and user, as in 'host=/run/postgresql user=me dbname=shop'";
            return Err(self.wrong(server.span().start, message));
        }
        let Some(table) = &sink.table else {
            return Err(
                self.wrong(begins, "sink.table: it names the table, which is made when it is not there")
            );
        };
        let name = table
            .get_ref()
            .parse()
            .map_err(|message| self.wrong(table.span().start, format!("sink.table: {message}")))?;
        Ok(TableSink { server: Box::new(config), table: name })
    }
}

impl SinkTable {
    /// Where the settings about the age of files stand.
    fn ages(&self) -> impl Iterator<Item = usize> {
        [&self.rollover, &self.inactivity, &self.bucket_check].into_iter().flat_map(start)
    }
}

fn start<T>(value: &Option<Spanned<T>>) -> Option<usize> {
    value.as_ref().map(|value| value.span().start)
}
