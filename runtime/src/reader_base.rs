//! Readers that fetch in threads of their own: Flink's `SourceReaderBase` with its split fetchers.
//!
//! ```text
//!  task thread                                  fetcher threads (one for all splits, or one per split)
//!  SourceReaderBase ── add splits, pause ─────▶ SplitFetcher: tasks first, then fetch ─▶ SplitReader (user code, blocks)
//!    split states   ◀── HandOverQueue (bounded) ── one batch in hand while the queue is full
//! ```
//! Threads share memory, so all of this is one value: a fetcher's turn and a task's turn each change it at once and as a
//! whole, as under a lock, and a host decides which comes next. What a blocked thread waits for is a state that
//! [`SplitFetcher::is_runnable`] reads; nothing blocks here.
//!
//! Where a split stands is known on the task's side alone, and it moves when a record is emitted. So a snapshot knows
//! nothing of what lies in the queue or in a fetcher's hand, and a restored reader fetches that again.
//!
//! Refused: fetchers as actors of their own that are told by mail (a full queue would then be learnt late, and 'at most
//! so many batches' would not hold), and fetchers inside the reader's poll (nothing could interleave).

mod hand_over_queue;
mod idle_flag;
mod paused_splits;
mod source_reader_base;
mod split_fetcher;
mod split_fetcher_manager;
mod split_reader;
#[cfg(test)]
mod tests;

pub use hand_over_queue::{HandOverQueue, PutOutcome};
pub use paused_splits::PausedSplits;
pub use source_reader_base::{ReaderOptions, RecordEmitter, SourceReaderBase};
pub use split_fetcher::{FetcherContext, FetcherTask, SplitFetcher};
pub use split_fetcher_manager::SplitFetcherManager;
pub use split_reader::{Fetch, RecordsBySplits, SplitReader, SplitsChange};
