//! Table operations on a real PostgreSQL server.
//!
//! The answers are those of the simulated table, and a test holds that. Each client has one connection for its session, and
//! one of its own for what it asks outside of it: `COMMIT PREPARED` must not run inside a transaction block. What the
//! server refuses beyond the known answers is told as [`TableAnswer::Failed`] with its words.
//!
//! Nothing is kept here that a crash must survive: what counts lies in the server.

use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use splitrace_runtime::api::table_io::{TableAnswer, TableOperation};
use splitrace_runtime::ids::*;
use splitrace_runtime::records::Record;
use std::collections::BTreeMap;
use std::time::Duration;

/// Who is connected: one execution.
pub type TableClient = (ExecutionAttemptId, LeaderEpoch);

/// So long a statement waits for another transaction's lock at most; nothing here waits for one unless something is wrong.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '5s'";

/// What a client needs; a committed transaction leaves its name in `splitrace_proofs`.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS splitrace_rows (
        name text NOT NULL, operator int NOT NULL, split bigint NOT NULL, number bigint NOT NULL, payload bytea NOT NULL);
    CREATE TABLE IF NOT EXISTS splitrace_proofs (name text NOT NULL);
    CREATE INDEX IF NOT EXISTS splitrace_proofs_name ON splitrace_proofs (name);";

/// A client's session.
struct Session {
    number: u32,
    /// `None` once the connection is gone.
    connection: Option<Client>,
    /// What is open in it.
    transaction: Option<TransactionName>,
}

/// See the module.
pub struct RealTable {
    config: Config,
    /// For what is asked outside of sessions.
    shared: Option<Client>,
    sessions: BTreeMap<TableClient, Session>,
}

impl std::fmt::Debug for RealTable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RealTable").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

/// One visible row: under which name, of which split, with which number.
pub type VisibleRow = (String, u32, u64);

impl RealTable {
    /// A table on the server that this configuration names; its schema is made when it is not there.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub fn open(mut config: Config) -> Result<Self, postgres::Error> {
        config.connect_timeout(Duration::from_secs(10));
        let mut shared = config.connect(NoTls)?;
        shared.batch_execute(SCHEMA)?;
        shared.batch_execute(LOCK_TIMEOUT)?;
        Ok(Self { config, shared: Some(shared), sessions: BTreeMap::new() })
    }

    /// Carries an operation out for a client.
    pub fn perform(&mut self, client: TableClient, operation: &TableOperation) -> TableAnswer {
        let done = match operation {
            TableOperation::Connect { session } => self.connect(client, *session),
            TableOperation::Begin { session, transaction } => self.begin(client, *session, *transaction),
            TableOperation::Insert { session, records } => self.insert(client, *session, records),
            TableOperation::Prepare { session } => self.prepare(client, *session),
            TableOperation::ListPrepared { vertex } => self.list(*vertex),
            TableOperation::RollbackPrepared { transaction } => {
                self.end_prepared(&format!("ROLLBACK PREPARED '{}'", global_id(*transaction)))
            }
            TableOperation::CommitPrepared { transaction } => {
                self.end_prepared(&format!("COMMIT PREPARED '{}'", global_id(*transaction)))
            }
            TableOperation::LookForProof { transaction } => self.look_for_proof(*transaction),
        };
        done.unwrap_or_else(|error| TableAnswer::Failed(error.to_string()))
    }

    /// Closes a client's connection, as its death does.
    pub fn disconnect(&mut self, client: TableClient) {
        if let Some(session) = self.sessions.get_mut(&client) {
            session.close();
        }
    }

    /// Drops every connection: the server is gone, or has come back.
    pub fn reconnect(&mut self) {
        self.shared = None;
        self.sessions.values_mut().for_each(Session::close);
    }

    /// All committed rows, in the order of name, split and number.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub fn visible(&mut self) -> Result<Vec<VisibleRow>, postgres::Error> {
        let rows = self
            .shared()?
            .query("SELECT name, split, number FROM splitrace_rows ORDER BY name, split, number", &[])?;
        let of = |row: &postgres::Row| {
            let (split, number): (i64, i64) = (row.get(1), row.get(2));
            (row.get(0), split as u32, number as u64)
        };
        Ok(rows.iter().map(of).collect())
    }

    fn shared(&mut self) -> Result<&mut Client, postgres::Error> {
        if self.shared.as_ref().is_none_or(Client::is_closed) {
            let mut client = self.config.connect(NoTls)?;
            client.batch_execute(LOCK_TIMEOUT)?;
            self.shared = Some(client);
        }
        Ok(self.shared.as_mut().expect("it was made when it was not there"))
    }

    fn connect(&mut self, client: TableClient, number: u32) -> Result<TableAnswer, postgres::Error> {
        match self.sessions.get_mut(&client) {
            Some(held) if held.number > number || (held.number == number && !held.is_open()) => {
                return Ok(TableAnswer::NoSession);
            }
            Some(held) if held.number == number => return Ok(TableAnswer::Done),
            Some(held) => held.close(),
            None => {}
        }
        let mut connection = self.config.connect(NoTls)?;
        connection.batch_execute(LOCK_TIMEOUT)?;
        let session = Session { number, connection: Some(connection), transaction: None };
        self.sessions.insert(client, session);
        Ok(TableAnswer::Done)
    }

    fn begin(
        &mut self,
        client: TableClient,
        number: u32,
        name: TransactionName,
    ) -> Result<TableAnswer, postgres::Error> {
        let Some(session) = self.session(client, number) else { return Ok(TableAnswer::NoSession) };
        if session.transaction.is_some() {
            return Ok(TableAnswer::InTransaction);
        }
        session.run(|connection| connection.batch_execute("BEGIN"))?;
        session.transaction = Some(name);
        Ok(TableAnswer::Done)
    }

    fn insert(
        &mut self,
        client: TableClient,
        number: u32,
        records: &[Record],
    ) -> Result<TableAnswer, postgres::Error> {
        let Some(session) = self.session(client, number) else { return Ok(TableAnswer::NoSession) };
        let Some(name) = session.transaction else { return Ok(TableAnswer::NoTransaction) };
        let name = global_id(name);
        session.run(|connection| {
            let insert = connection.prepare("INSERT INTO splitrace_rows VALUES ($1, $2, $3, $4, $5)")?;
            for record in records {
                let operator = i32::from(record.split.operator.0);
                let (split, offset) = (i64::from(record.split.index), record.offset as i64);
                connection.execute(&insert, &[&name, &operator, &split, &offset, &record.payload])?;
            }
            Ok(())
        })?;
        Ok(TableAnswer::Done)
    }

    fn prepare(&mut self, client: TableClient, number: u32) -> Result<TableAnswer, postgres::Error> {
        let Some(session) = self.session(client, number) else { return Ok(TableAnswer::NoSession) };
        let Some(name) = session.transaction.take() else { return Ok(TableAnswer::NoTransaction) };
        let name = global_id(name);
        let prepared = session.run(|connection| {
            connection.execute("INSERT INTO splitrace_proofs VALUES ($1)", &[&name])?;
            connection.batch_execute(&format!("PREPARE TRANSACTION '{name}'"))
        });
        match prepared {
            Err(error) if error.code() == Some(&SqlState::DUPLICATE_OBJECT) => Ok(TableAnswer::NameInUse),
            done => done.map(|()| TableAnswer::Done),
        }
    }

    fn list(&mut self, vertex: OperatorUid) -> Result<TableAnswer, postgres::Error> {
        let rows = self.shared()?.query(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND gid LIKE 'splitrace-%'",
            &[],
        )?;
        let names = rows.iter().filter_map(|row| name_of(row.get(0)));
        let mut names: Vec<_> = names.filter(|name| name.writer.vertex == vertex).collect();
        names.sort_unstable();
        Ok(TableAnswer::Prepared(names))
    }

    fn end_prepared(&mut self, statement: &str) -> Result<TableAnswer, postgres::Error> {
        match self.shared()?.batch_execute(statement) {
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => Ok(TableAnswer::DoesNotExist),
            done => done.map(|()| TableAnswer::Done),
        }
    }

    fn look_for_proof(&mut self, name: TransactionName) -> Result<TableAnswer, postgres::Error> {
        let proofs = self
            .shared()?
            .query("SELECT 1 FROM splitrace_proofs WHERE name = $1 LIMIT 1", &[&global_id(name)])?;
        Ok(TableAnswer::Proof(!proofs.is_empty()))
    }

    fn session(&mut self, client: TableClient, number: u32) -> Option<&mut Session> {
        self.sessions.get_mut(&client).filter(|session| session.number == number && session.is_open())
    }
}

impl Session {
    fn is_open(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| !connection.is_closed())
    }

    fn close(&mut self) {
        self.transaction = None;
        if let Some(connection) = self.connection.take() {
            // What the server says of a connection that is given up anyway tells nobody anything.
            let _ = connection.close();
        }
    }

    /// Does something on the connection. One that fails is given up: its transaction is aborted, and nobody goes on with
    /// it.
    fn run(
        &mut self,
        act: impl FnOnce(&mut Client) -> Result<(), postgres::Error>,
    ) -> Result<(), postgres::Error> {
        let connection = self.connection.as_mut().expect("an open session has its connection");
        let done = act(connection);
        let is_refused_name = |error: &postgres::Error| error.code() == Some(&SqlState::DUPLICATE_OBJECT);
        if done.as_ref().is_err_and(|error| !is_refused_name(error)) {
            self.close();
        }
        done
    }
}

/// The name under which the server keeps a prepared transaction: less than 200 bytes, and nothing that needs quoting.
#[must_use]
pub fn global_id(name: TransactionName) -> String {
    let TransactionName { writer, number, part } = name;
    let part = part.map_or_else(String::new, |part| {
        format!("-{}-{}-{}", part.fence.leader_epoch.0, part.fence.attempt.0, part.counter)
    });
    format!("splitrace-{}-{}-{}{part}", writer.vertex.0, writer.subtask.0, number.0)
}

/// The name in a global id; `None` for one that nobody here has made.
fn name_of(global_id: &str) -> Option<TransactionName> {
    let numbers: Option<Vec<u64>> =
        global_id.strip_prefix("splitrace-")?.split('-').map(|number| number.parse().ok()).collect();
    let (vertex, subtask, number, part) = match numbers?[..] {
        [vertex, subtask, number] => (vertex, subtask, number, None),
        [vertex, subtask, number, epoch, attempt, counter] => {
            let fence = Fence {
                leader_epoch: LeaderEpoch(u32::try_from(epoch).ok()?),
                attempt: AttemptNumber(u32::try_from(attempt).ok()?),
            };
            let counter = u32::try_from(counter).ok()?;
            (vertex, subtask, number, Some(TransactionPart { fence, counter }))
        }
        _ => return None,
    };
    let writer = SubtaskId {
        vertex: OperatorUid(u16::try_from(vertex).ok()?),
        subtask: SubtaskIndex(u32::try_from(subtask).ok()?),
    };
    Some(TransactionName { writer, number: CheckpointId(number), part })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_from_its_global_id() {
        let writer = SubtaskId { vertex: OperatorUid(2049), subtask: SubtaskIndex(7) };
        let fence = Fence { leader_epoch: LeaderEpoch(3), attempt: AttemptNumber(4) };
        let part = Some(TransactionPart { fence, counter: 5 });
        for part in [None, part] {
            let name = TransactionName { writer, number: CheckpointId(6), part };
            assert_eq!(name_of(&global_id(name)), Some(name));
        }
        for foreign in
            ["", "splitrace-", "splitrace-1-2", "splitrace-1-2-x", "other-1-2-3", "splitrace-99999-0-0"]
        {
            assert_eq!(name_of(foreign), None, "{foreign}");
        }
    }
}
