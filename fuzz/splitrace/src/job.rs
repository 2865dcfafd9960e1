//! A real job: text files in, the protocol of the simulated world on the real clock, part files out.
//!
//! ```text
//!   one thread each (node)                                             durable
//!   job manager ─────────┐
//!   task manager 0, 1, … ┼─ frames through channels ─┬─ service: HighAvailability ─▶ state folder
//!   (fetchers read the   ┘                           └─ store: what the sink asks ─▶ output folder or table
//!    input folder)
//! ```
//! All of it is one process of the system: what SIGKILL takes is all of it, and what is left is what was made durable: the
//! state file and the files. The same command goes on from there. Sources, sinks and everything between them are the code
//! that the simulated world runs, faults and all; here is only what carries it. Refused: a process for each role with
//! sockets between them. It would show nothing that the simulated network does not show better, and one process is what
//! somebody with a folder of files wants to start.

mod clock;
mod error;
mod file;
mod input;
mod life;
mod node;
mod place;
mod plan;
mod progress;
mod service;
mod state_folder;
mod store;
mod table_store;
mod watch;

pub use error::JobError;
pub use file::{FilesSink, Job, JobSink, TableSink};
pub use life::{Ending, JobEnd, Stopper, check, run};
pub use watch::Tally;
