//! The source that reads a partitioned log, in the manner of Flink's `KafkaSource`.
//!
//! ```text
//!   worker: DescribeTopic ──▶ LogEnumerator: new partitions, each to its owner ──▶ reader
//!   fetcher: LogSplitReader ── Fetch ──▶ the outside ── records with offsets ──▶ SourceReaderBase
//! ```
//! A split is a partition, and its reading position an offset. Offsets have gaps: the markers of transactions, and what was
//! aborted. Reading is `read_committed`, that is, up to the first transaction that is still open, so a transaction that
//! lingers holds back all that was committed behind it.
//!
//! Partitions are pushed: the owner of each follows from the topic and its number alone, so that no two splits of a topic
//! meet in one reader as long as there are readers enough. A split that comes back goes to whoever lost it, since after a
//! change of parallelism that need not be its owner, and the owner may have ended. What was refused: to give the positions
//! back to the log as Flink does on each completed checkpoint. Nothing is restored from them; they are for monitoring.

mod defective;
mod enumerator;
mod source;
mod split_reader;

pub use enumerator::{LogEnumerator, LogEnumeratorState};
pub use source::{LogRecordEmitter, LogSource, LogSplit, log_enumerators, log_reader};
pub use split_reader::LogSplitReader;

#[cfg(test)]
mod tests;
