//! The store of a real job's sink: table operations on a PostgreSQL server.
//!
//! What an answer means is the sink's to judge, as in the simulated world. But a server that is away is waited for here:
//! the sink would ask again and again, and each failure of a task counts as one. When it stays away the program ends and
//! says so; what was not answered does not count, and the same command goes on.

use super::clock::Clock;
use super::error::JobError;
use super::file::TableSink;
use super::watch::{Notice, Watch};
use crate::real_table::{RealTable, TableSight};
use splitrace_node::host::OutsideSystem;
use splitrace_runtime::actor::Outbox;
use splitrace_runtime::api::table_io::{TableAnswer, TableOperation};
use splitrace_runtime::ids::{ActorId, ProcessAddress};
use splitrace_runtime::message::{Message, StoreReply, StoreRequest, Stream, TaskMessage};
use std::time::Duration;

/// So long the server may be away: less than a task waits for its answer.
const ABSENCE_MAX: Duration = Duration::from_secs(30);
/// So long the connections of a program that was killed may take to go. Its statements end first.
const FAREWELL_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);
/// What one subtask has prepared at a time: for the checkpoint that is under way, and for the one whose commits are.
const PREPARED_PER_SUBTASK: u32 = 2;

/// See the module.
#[derive(Debug)]
pub(super) struct TableStore {
    table: RealTable,
    watch: Watch,
    is_broken: bool,
}

impl TableStore {
    /// Takes the table of a sink for this run alone, and makes it if it is not there.
    pub(super) fn open(
        sink: &TableSink,
        parallelism: u32,
        goes_on: bool,
        watch: Watch,
    ) -> Result<Self, JobError> {
        let mut table = connected(sink, parallelism, goes_on)?;
        let is_claimed = wait_for(FAREWELL_MAX, || table.claim().map(|is_alone| is_alone.then_some(())))
            .map_err(|error| refused(sink, &error))?;
        if is_claimed.is_none() {
            return Err(JobError::TableInUse { table: sink.table.clone() });
        }
        table.make().map_err(|error| refused(sink, &error))?;
        Ok(Self { table, watch, is_broken: false })
    }

    /// Waits until the server is back; answers whether it is.
    fn waits_for_server(&mut self) -> bool {
        let mut why = String::new();
        let is_back = wait_for(ABSENCE_MAX, || -> Result<_, std::convert::Infallible> {
            Ok(self.table.reach().map_err(|error| why = in_words(&error)).ok())
        });
        if is_back == Ok(Some(())) {
            return true;
        }
        self.is_broken = true;
        self.watch.notify(Notice::Broken(format!("its database has been away for too long ({why})")));
        false
    }
}

/// Connects for a table and looks whether it and its server can serve so many subtasks; takes and makes nothing.
pub(super) fn connected(sink: &TableSink, parallelism: u32, goes_on: bool) -> Result<RealTable, JobError> {
    let refused = |error: postgres::Error| refused(sink, &error);
    let mut table = RealTable::connect((*sink.server).clone(), sink.table.clone()).map_err(refused)?;
    let (allowed, needed) = (table.prepared_max().map_err(refused)?, PREPARED_PER_SUBTASK * parallelism);
    if allowed < needed {
        let what = format!(
            "the server lets {allowed} transactions be prepared at a time, and this job needs {needed}: set \
             max_prepared_transactions in its configuration and start it again"
        );
        return Err(unusable(sink, what));
    }
    match table.look().map_err(refused)? {
        TableSight::Own => Ok(table),
        TableSight::Absent if !goes_on => Ok(table),
        TableSight::Absent => {
            let what = "it is gone, and this job has written to it: restore it, or remove the job's state to begin anew";
            Err(unusable(sink, what.to_owned()))
        }
        TableSight::Foreign(what) => Err(unusable(sink, format!("{what}: name one that is not there yet"))),
    }
}

fn refused(sink: &TableSink, error: &postgres::Error) -> JobError {
    unusable(sink, in_words(error))
}

fn unusable(sink: &TableSink, what: String) -> JobError {
    JobError::Table { table: sink.table.clone(), what }
}

/// What the server said, or why nothing came of it, without the crate's name for the kind of error.
fn in_words(error: &postgres::Error) -> String {
    let cause = std::error::Error::source(error);
    error.as_db_error().map_or_else(
        || {
            format!(
                "no word from the server: {}",
                cause.map_or_else(|| error.to_string(), ToString::to_string)
            )
        },
        |said| said.message().to_owned(),
    )
}

/// Tries until something comes of it, for so long.
#[allow(
    clippy::disallowed_methods,
    reason = "a real job lives in real time, and a server tells nobody when it is back"
)]
fn wait_for<T, E>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let clock = Clock::start();
    loop {
        let came = attempt()?;
        if came.is_some() || clock.elapsed() > patience {
            return Ok(came);
        }
        std::thread::sleep(PAUSE);
    }
}

impl OutsideSystem for TableStore {
    fn actor(&self) -> ActorId {
        ActorId::Store
    }

    fn handle(&mut self, from: ProcessAddress, message: Message, _now_ns: u64, outbox: &mut Outbox) {
        let Message::Store { attempt, epoch, call, request: StoreRequest::Table(operation) } = message else {
            unreachable!("a table's sink asks for nothing but table operations: {message:?}")
        };
        if self.is_broken {
            return;
        }
        if matches!(operation, TableOperation::Connect { .. }) {
            // Nobody tells that an attempt is over; its successor shows it.
            self.table.disconnect_earlier((attempt, epoch));
        }
        let answer = self.table.perform((attempt, epoch), &operation);
        if answer == TableAnswer::ConnectionLost && !self.waits_for_server() {
            return;
        }
        let reply = StoreReply::Table(answer);
        let message = Message::Task { epoch, attempt, message: TaskMessage::StoreReply { call, reply } };
        outbox.send(from, Stream::StoreReplies(attempt), message);
    }
}
