//! Table operations on a real PostgreSQL server.
//!
//! The answers are those of the simulated table, and a test holds that. Each client has one connection for its session, and
//! one of its own for what it asks outside of it: `COMMIT PREPARED` must not run inside a transaction block. What the
//! server refuses beyond the known answers is told as [`TableAnswer::Failed`] with its words.
//!
//! Nothing is kept here that a crash must survive: what counts lies in the server.

mod names;
mod schema;
mod session;

pub use names::TableName;
pub use schema::TableSight;

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls};
use session::Session;
use splitrace_runtime::api::table_io::{TableAnswer, TableOperation};
use splitrace_runtime::ids::*;
use splitrace_runtime::records::Record;
use std::collections::BTreeMap;
use std::time::Duration;

/// Who is connected: one execution.
pub type TableClient = (ExecutionAttemptId, LeaderEpoch);

/// So long a statement waits for another transaction's lock at most; nothing here waits for one unless something is wrong.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '5s'";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// See the module.
pub struct RealTable {
    config: Config,
    table: TableName,
    /// For what is asked outside of sessions.
    shared: Option<Client>,
    /// Whether [`Self::claim`] has taken the table, so that a new connection must hold the lock too.
    is_claimed: bool,
    sessions: BTreeMap<TableClient, Session>,
}

impl std::fmt::Debug for RealTable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { table, sessions, .. } = self;
        formatter
            .debug_struct("RealTable")
            .field("table", table)
            .field("sessions", &sessions.len())
            .finish_non_exhaustive()
    }
}

/// One visible row: under which name, of which split, with which number.
pub type VisibleRow = (String, u32, u64);

impl RealTable {
    /// Connects to the server that this configuration names, for a table that may not be there yet.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub fn connect(mut config: Config, table: TableName) -> Result<Self, postgres::Error> {
        config.connect_timeout(CONNECT_TIMEOUT).application_name(&table.application());
        let mut connected =
            Self { config, table, shared: None, is_claimed: false, sessions: BTreeMap::new() };
        connected.shared()?;
        Ok(connected)
    }

    /// Looks whether the table is there and is one that [`Self::make`] has made. Locks nothing.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub fn look(&mut self) -> Result<TableSight, postgres::Error> {
        schema::look(&self.table.clone(), self.shared()?)
    }

    /// Makes what is not there.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub fn make(&mut self) -> Result<(), postgres::Error> {
        schema::make(&self.table.clone(), self.shared()?)
    }

    /// Takes the table for this program, unless a connection of another one is left: every connection holds a lock shared,
    /// and this asks for it alone. What a dead program has sent is over once its connections are gone, so nothing of it can
    /// come later than this.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub fn claim(&mut self) -> Result<bool, postgres::Error> {
        let key = self.lock_key();
        let shared = self.shared()?;
        let is_alone: bool = shared.query_one(&format!("SELECT pg_try_advisory_lock({key})"), &[])?.get(0);
        if is_alone {
            shared.batch_execute(&format!(
                "SELECT pg_advisory_lock_shared({key}), pg_advisory_unlock({key})"
            ))?;
        }
        Ok(is_alone)
    }

    /// How many transactions the server lets be prepared at a time.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub fn prepared_max(&mut self) -> Result<u32, postgres::Error> {
        let said: String = self.shared()?.query_one("SHOW max_prepared_transactions", &[])?.get(0);
        Ok(said.parse().expect("the setting is a number"))
    }

    /// Whether the server takes connections.
    ///
    /// # Errors
    /// Why it does not.
    pub fn reach(&mut self) -> Result<(), postgres::Error> {
        self.shared()?.batch_execute("SELECT 1")
    }

    /// Carries an operation out for a client.
    pub fn perform(&mut self, client: TableClient, operation: &TableOperation) -> TableAnswer {
        let done = match operation {
            TableOperation::Connect { session } => self.open_session(client, *session),
            TableOperation::Begin { session, transaction } => self.begin(client, *session, *transaction),
            TableOperation::Insert { session, records } => self.insert(client, *session, records),
            TableOperation::Prepare { session } => self.prepare(client, *session),
            TableOperation::ListPrepared { vertex } => self.list(*vertex),
            TableOperation::RollbackPrepared { transaction } => {
                self.end_prepared(&format!("ROLLBACK PREPARED '{}'", self.table.global_id(*transaction)))
            }
            TableOperation::CommitPrepared { transaction } => {
                self.end_prepared(&format!("COMMIT PREPARED '{}'", self.table.global_id(*transaction)))
            }
            TableOperation::LookForProof { transaction } => self.look_for_proof(*transaction),
        };
        done.unwrap_or_else(|error| match error.as_db_error() {
            Some(said) if !is_farewell(said.code()) => TableAnswer::Failed(said.to_string()),
            _ => TableAnswer::ConnectionLost,
        })
    }

    /// Closes a client's connection, as its death does.
    pub fn disconnect(&mut self, client: TableClient) {
        if let Some(session) = self.sessions.get_mut(&client) {
            session.close();
        }
    }

    /// Closes the connections of all earlier lives of the subtask that this client lives for.
    pub fn disconnect_earlier(&mut self, (attempt, epoch): TableClient) {
        let is_earlier = |(held, in_epoch): &TableClient| {
            (held.vertex, held.subtask) == (attempt.vertex, attempt.subtask)
                && (*in_epoch, held.attempt) < (epoch, attempt.attempt)
        };
        self.sessions.retain(|client, session| {
            let is_kept = !is_earlier(client);
            if !is_kept {
                session.close();
            }
            is_kept
        });
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
        let query =
            format!("SELECT name, split, number FROM {} ORDER BY name, split, number", self.table.rows());
        let rows = self.shared()?.query(&query, &[])?;
        let of = |row: &postgres::Row| {
            let (split, number): (i64, i64) = (row.get(1), row.get(2));
            (row.get(0), split as u32, number as u64)
        };
        Ok(rows.iter().map(of).collect())
    }

    /// A connection for this table.
    fn connection(&self) -> Result<Client, postgres::Error> {
        let mut client = self.config.connect(NoTls)?;
        client.batch_execute(LOCK_TIMEOUT)?;
        Ok(client)
    }

    fn locked_connection(&self) -> Result<Client, postgres::Error> {
        let mut client = self.connection()?;
        client.batch_execute(&format!("SELECT pg_advisory_lock_shared({})", self.lock_key()))?;
        Ok(client)
    }

    fn lock_key(&self) -> String {
        format!("hashtextextended('{}', 0)", self.table.application())
    }

    fn shared(&mut self) -> Result<&mut Client, postgres::Error> {
        if self.shared.as_ref().is_none_or(Client::is_closed) {
            let connection = if self.is_claimed { self.locked_connection() } else { self.connection() };
            self.shared = Some(connection?);
        }
        Ok(self.shared.as_mut().expect("it was made when it was not there"))
    }

    fn open_session(&mut self, client: TableClient, number: u32) -> Result<TableAnswer, postgres::Error> {
        match self.sessions.get_mut(&client) {
            Some(held) if held.number > number || (held.number == number && !held.is_open()) => {
                return Ok(TableAnswer::NoSession);
            }
            Some(held) if held.number == number => return Ok(TableAnswer::Done),
            Some(held) => held.close(),
            None => {}
        }
        let session = Session::new(number, self.locked_connection()?);
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
        let insert = format!(
            "INSERT INTO {} (name, operator, split, number, payload) SELECT $1, * FROM unnest($2::int[], $3::bigint[], $4::bigint[], $5::bytea[])",
            self.table.rows()
        );
        let table = self.table.clone();
        let Some(session) = self.session(client, number) else { return Ok(TableAnswer::NoSession) };
        let Some(name) = session.transaction else { return Ok(TableAnswer::NoTransaction) };
        let name = table.global_id(name);
        let operators: Vec<i32> = records.iter().map(|record| i32::from(record.split.operator.0)).collect();
        let splits: Vec<i64> = records.iter().map(|record| i64::from(record.split.index)).collect();
        let numbers: Vec<i64> = records.iter().map(|record| record.offset as i64).collect();
        let payloads: Vec<&[u8]> = records.iter().map(|record| &record.payload[..]).collect();
        session.run(|connection| {
            let values: [&(dyn ToSql + Sync); 5] = [&name, &operators, &splits, &numbers, &payloads];
            connection.execute(&insert, &values).map(drop)
        })?;
        Ok(TableAnswer::Done)
    }

    fn prepare(&mut self, client: TableClient, number: u32) -> Result<TableAnswer, postgres::Error> {
        let prove = format!("INSERT INTO {} (name) VALUES ($1)", self.table.proofs());
        let table = self.table.clone();
        let Some(session) = self.session(client, number) else { return Ok(TableAnswer::NoSession) };
        let Some(name) = session.transaction.take() else { return Ok(TableAnswer::NoTransaction) };
        let name = table.global_id(name);
        let prepared = session.run(|connection| {
            connection.execute(&prove, &[&name])?;
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
        let names = rows.iter().filter_map(|row| self.table.transaction(row.get(0)));
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
        let query = format!("SELECT 1 FROM {} WHERE name = $1 LIMIT 1", self.table.proofs());
        let name = self.table.global_id(name);
        let proofs = self.shared()?.query(&query, &[&name])?;
        Ok(TableAnswer::Proof(!proofs.is_empty()))
    }

    fn session(&mut self, client: TableClient, number: u32) -> Option<&mut Session> {
        self.sessions.get_mut(&client).filter(|session| session.number == number && session.is_open())
    }
}

/// Whether the server says this because it goes away: then nobody knows what became of the statement.
fn is_farewell(code: &SqlState) -> bool {
    let class = |prefix| code.code().starts_with(prefix);
    class("08") || class("57P")
}
