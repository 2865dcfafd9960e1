//! What connectors ask of a database that knows prepared transactions, and what they are told: one vocabulary for the
//! simulated one and for PostgreSQL.
//!
//! A client has at most one connection for the transaction that it writes, its *session*. An open transaction dies with it;
//! a prepared one survives client and server, and anybody may end it (`COMMIT PREPARED`, `ROLLBACK PREPARED`). Nothing
//! refuses an older life of a client. A committed transaction leaves no trace of itself in the database's own catalogue, so
//! each writes a row with its name, the *proof*, in the same transaction.
//!
//! A session has a number, counted by its client: what was sent on an earlier connection and arrives late must not act on
//! a later one. Refused: to let a client ask an insert or a prepare again on a new session. What was in the old session is
//! lost with it, and only whoever holds the records can write them again.

use crate::ids::{OperatorUid, TransactionName};
use crate::records::Record;
use serde::{Deserialize, Serialize};

/// One thing asked of the database.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TableOperation {
    /// Open this client's session; any earlier one of it is closed, and its open transaction is lost.
    Connect {
        /// The how-manieth of this client.
        session: u32,
    },
    /// `BEGIN`.
    Begin {
        /// In which session.
        session: u32,
        /// What the transaction will be prepared as. The database does not know it yet; its rows carry it.
        transaction: TransactionName,
    },
    /// `INSERT` into the session's open transaction.
    Insert {
        /// In which session.
        session: u32,
        /// The rows.
        records: Vec<Record>,
    },
    /// Insert the proof and `PREPARE TRANSACTION`: from here on only a commit or a rollback by name ends it.
    Prepare {
        /// In which session.
        session: u32,
    },
    /// Which transactions of this vertex are prepared (`pg_prepared_xacts`).
    ListPrepared {
        /// The vertex.
        vertex: OperatorUid,
    },
    /// `ROLLBACK PREPARED`.
    RollbackPrepared {
        /// Which.
        transaction: TransactionName,
    },
    /// `COMMIT PREPARED`.
    CommitPrepared {
        /// Which.
        transaction: TransactionName,
    },
    /// Whether the transaction's proof is visible.
    LookForProof {
        /// Which.
        transaction: TransactionName,
    },
}

impl TableOperation {
    /// In which session it goes; `None` for what a client asks on a connection of its own.
    #[must_use]
    pub const fn session(&self) -> Option<u32> {
        match self {
            Self::Connect { session }
            | Self::Begin { session, .. }
            | Self::Insert { session, .. }
            | Self::Prepare { session } => Some(*session),
            Self::ListPrepared { .. }
            | Self::RollbackPrepared { .. }
            | Self::CommitPrepared { .. }
            | Self::LookForProof { .. } => None,
        }
    }

    /// What is asked, as a sentence's end.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Connect { session } => format!("open session {session}"),
            Self::Begin { transaction, .. } => format!("begin {transaction}"),
            Self::Insert { session, records } => {
                format!("insert {} rows in session {session}", records.len())
            }
            Self::Prepare { session } => format!("prepare what session {session} holds"),
            Self::ListPrepared { vertex } => format!("list what {vertex} has prepared"),
            Self::RollbackPrepared { transaction } => format!("roll back prepared {transaction}"),
            Self::CommitPrepared { transaction } => format!("commit prepared {transaction}"),
            Self::LookForProof { transaction } => format!("look for the proof of {transaction}"),
        }
    }
}

/// What became of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TableAnswer {
    /// It is done.
    Done,
    /// That session is closed, or was never opened: nothing was done.
    NoSession,
    /// No transaction is open in the session: nothing was done.
    NoTransaction,
    /// A transaction is open in the session already: nothing was done.
    InTransaction,
    /// A transaction of that name is prepared already. The open one is rolled back.
    NameInUse,
    /// No transaction of that name is prepared (`42704 undefined_object`): committed, rolled back, or never prepared.
    DoesNotExist,
    /// Whether the proof is visible.
    Proof(bool),
    /// What is prepared, in the order of the names.
    Prepared(Vec<TransactionName>),
    /// The database refused for another reason, in its words: nothing was done, and an open transaction is aborted.
    Failed(String),
    /// The connection broke before an answer came: whether it was done is unknown. Only a host with a real connection can
    /// tell; in the simulated world nothing comes, and the caller's time-out says the same.
    ConnectionLost,
}
