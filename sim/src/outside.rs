//! The outside systems, each with its own ledger.
//!
//! They are the only witnesses of what was really made visible and of which checkpoint is really complete: checkers
//! believe them and never the runtime. Each is one process with one durable life; a call is handled in one step, and
//! the events that it causes are its ledger. What can go wrong with a call is decided by the world and handed in as an
//! [`OutsideDecision`]; what can go wrong on the way is the network's business.

mod append_store;
mod content;
mod file_store;
mod file_system;
mod high_availability;
pub mod input;
mod log;
mod object_space;
mod prepared_table;
mod snapshot_table;
mod store;
mod transactional_store;
mod visible_ledger;

pub use append_store::AppendStore;
pub use file_store::FileStore;
pub use file_system::FileSystem;
pub use high_availability::{DurableState, HighAvailability};
pub use log::TransactionalLog;
pub use object_space::ObjectSpace;
pub use prepared_table::PreparedTable;
pub use snapshot_table::SnapshotTable;
pub use store::{OpenTransaction, Store};
pub use transactional_store::TransactionalStore;
pub use visible_ledger::{VisibleEntry, VisibleLedger};

use serde::{Deserialize, Serialize};

/// What the world does to one call. The default does nothing to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct OutsideDecision {
    /// The call has no effect. A store says so; the high-availability service is silent.
    pub unavailable: bool,
    /// The call has its effect and its event, and the reply is lost.
    pub lose_reply: bool,
}
