//! A client's session: its connection and what is open in it.

use postgres::Client;
use postgres::error::SqlState;
use splitrace_runtime::ids::TransactionName;

/// See the module.
pub(super) struct Session {
    pub(super) number: u32,
    /// `None` once the connection is gone.
    connection: Option<Client>,
    /// What is open in it.
    pub(super) transaction: Option<TransactionName>,
}

impl Session {
    /// A session without a transaction.
    pub(super) const fn new(number: u32, connection: Client) -> Self {
        Self { number, connection: Some(connection), transaction: None }
    }

    /// Whether its connection is there, as far as one can tell.
    pub(super) fn is_open(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| !connection.is_closed())
    }

    /// Gives up the connection, and what is open in it.
    pub(super) fn close(&mut self) {
        self.transaction = None;
        if let Some(connection) = self.connection.take() {
            // What the server says of a connection that is given up anyway tells nobody anything.
            let _ = connection.close();
        }
    }

    /// Does something on the connection. One that fails is given up: its transaction is aborted, and nobody goes on with
    /// it.
    pub(super) fn run(
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
