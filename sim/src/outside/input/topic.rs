//! The topics that the sources of a simulated job read.
//!
//! ```text
//! partition i, made at i * partition_interval:  [r r r M][r r r M][x x x M] ...   r: record, M: marker, x: aborted
//!                                               transaction j is open from j to j + 1 times transaction_ns
//! ```
//! A producer fills each partition with one transaction behind the other. What is where, and since when, follows from the
//! configuration and the time alone: nothing of a topic is kept, forked or hashed.
//!
//! Offsets that hold no input (markers, aborted records) are known to the outside and to nobody else before they are read.
//! So the outside declares them filtered, at the beginning of a run, and a reader that takes one for a record shows.

use splitrace_runtime::api::log_io::{
    FetchedPartition, IsolationLevel, LogReadAnswer, LogReadOperation, PartitionOffsets,
};
use splitrace_runtime::config::{JobConfig, LogSourceConfig, StartPosition, UpstreamConfig};
use splitrace_runtime::ids::{OperatorUid, SplitId};
use splitrace_runtime::records::OffsetRange;

/// A topic in the course of time.
#[derive(Clone, Copy, Debug)]
struct Topic {
    partitions: u32,
    /// Records of each partition, aborted ones included.
    records: u64,
    upstream: UpstreamConfig,
}

impl Topic {
    const fn transactions(&self) -> u64 {
        self.records.div_ceil(self.upstream.transaction_records)
    }

    /// The offset behind the last marker.
    const fn end(&self) -> u64 {
        self.records + self.transactions()
    }

    /// Offsets of a transaction that is not the last.
    const fn width(&self) -> u64 {
        self.upstream.transaction_records + 1
    }

    /// How many transactions of a partition have ended.
    fn ended(&self, partition: u32, now_ns: u64) -> u64 {
        let age_ns = now_ns.saturating_sub(self.made_at_ns(partition));
        (age_ns / self.upstream.transaction_ns).min(self.transactions())
    }

    const fn made_at_ns(&self, partition: u32) -> u64 {
        self.upstream.partition_interval_ns.saturating_mul(partition as u64)
    }

    fn last_stable_offset(&self, partition: u32, now_ns: u64) -> u64 {
        (self.ended(partition, now_ns) * self.width()).min(self.end())
    }

    /// How far a reader sees: all records of a transaction are there as soon as it is open, and no marker yet.
    fn readable_end(&self, partition: u32, now_ns: u64, isolation: IsolationLevel) -> u64 {
        let stable = self.last_stable_offset(partition, now_ns);
        match isolation {
            IsolationLevel::ReadCommitted => stable,
            IsolationLevel::ReadUncommitted => (stable + self.upstream.transaction_records).min(self.end()),
        }
    }

    const fn is_marker(&self, offset: u64) -> bool {
        offset % self.width() == self.upstream.transaction_records || offset + 1 == self.end()
    }

    const fn is_aborted(&self, offset: u64) -> bool {
        let every = self.upstream.aborted_every;
        every > 0 && (offset / self.width() + 1).is_multiple_of(every)
    }

    /// Whether the offset holds a record that counts.
    const fn is_input(&self, offset: u64) -> bool {
        !self.is_marker(offset) && !self.is_aborted(offset)
    }

    fn fetch(
        &self,
        (partition, from): (u32, u64),
        records_max: u32,
        isolation: IsolationLevel,
        now_ns: u64,
    ) -> FetchedPartition {
        let end = self.readable_end(partition, now_ns, isolation).max(from);
        let is_shown = |offset: &u64| match isolation {
            IsolationLevel::ReadCommitted => self.is_input(*offset),
            IsolationLevel::ReadUncommitted => !self.is_marker(*offset),
        };
        let mut shown = (from..end).filter(is_shown);
        let records: Vec<(u64, Vec<u8>)> =
            shown.by_ref().take(records_max as usize).map(|offset| (offset, Vec::new())).collect();
        // What is left over begins with a record.
        let next_offset = shown.next().unwrap_or(end);
        debug_assert!(records.iter().all(|(offset, _)| (from..next_offset).contains(offset)));
        FetchedPartition { partition, from, records, next_offset }
    }
}

fn topics(job: &JobConfig) -> impl Iterator<Item = (OperatorUid, LogSourceConfig, Topic)> {
    job.vertices.iter().filter_map(|vertex| {
        let config = vertex.log?;
        let (partitions, records) = (vertex.source.split_count, vertex.source.records_per_split);
        Some((vertex.operator, config, Topic { partitions, records, upstream: config.upstream }))
    })
}

/// Answers what a source asks of its topic.
///
/// # Panics
/// When no source of the job reads this topic.
#[must_use]
pub fn answer(job: &JobConfig, operation: &LogReadOperation, now_ns: u64) -> LogReadAnswer {
    let (LogReadOperation::DescribeTopic { topic: number } | LogReadOperation::Fetch { topic: number, .. }) =
        operation;
    let topic = topics(job).find(|(_, config, _)| config.reader.topic == *number);
    let (.., topic) = topic.expect("a source asks for its own topic");
    match operation {
        LogReadOperation::DescribeTopic { .. } => {
            let there = (0..topic.partitions).take_while(|index| topic.made_at_ns(*index) <= now_ns);
            let describe = |index| PartitionOffsets {
                last_stable_offset: topic.last_stable_offset(index, now_ns),
                committed: topic.upstream.committed,
            };
            LogReadAnswer::Partitions(there.map(describe).collect())
        }
        LogReadOperation::Fetch { positions, records_max, isolation, .. } => LogReadAnswer::Fetched(
            positions.iter().map(|at| topic.fetch(*at, *records_max, *isolation, now_ns)).collect(),
        ),
    }
}

/// The offset behind everything that is ever written into each partition.
#[must_use]
pub fn end_offset(records: u64, upstream: UpstreamConfig) -> u64 {
    Topic { partitions: 0, records, upstream }.end()
}

/// The offsets of all topics that hold no input.
#[must_use]
pub fn without_input(job: &JobConfig) -> Vec<OffsetRange> {
    let mut ranges: Vec<OffsetRange> = Vec::new();
    for (operator, _, topic) in topics(job) {
        for index in 0..topic.partitions {
            let split = SplitId { operator, index };
            for start in (0..topic.end()).filter(|offset| !topic.is_input(*offset)) {
                match ranges.last_mut() {
                    Some(last) if last.split == split && last.end == start => last.end += 1,
                    _ => ranges.push(OffsetRange { split, start, end: start + 1 }),
                }
            }
        }
    }
    ranges
}

/// How many records a source reads, of which the user function keeps those that it is asked about; `None` where it depends
/// on the time.
#[must_use]
pub fn expected_records(
    records: u64,
    partitions: u32,
    config: LogSourceConfig,
    keeps: impl Fn(u64) -> bool,
) -> Option<u64> {
    let topic = Topic { partitions, records, upstream: config.upstream };
    let start = match config.start {
        StartPosition::Earliest => 0,
        StartPosition::Offset(offset) => offset,
        StartPosition::Committed => config.upstream.committed.unwrap_or(0),
        StartPosition::Latest => return None,
    };
    let end = topic.end().min(config.stop_offset.unwrap_or(u64::MAX));
    let of_partition = (start..end).filter(|offset| topic.is_input(*offset) && keeps(*offset)).count();
    Some(of_partition as u64 * u64::from(partitions))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPSTREAM: UpstreamConfig = UpstreamConfig {
        transaction_records: 2,
        transaction_ns: 10,
        aborted_every: 2,
        partition_interval_ns: 100,
        committed: Some(3),
    };

    /// `[r r M][x x M][r M]`
    const TOPIC: Topic = Topic { partitions: 2, records: 5, upstream: UPSTREAM };

    fn offsets(fetched: &FetchedPartition) -> Vec<u64> {
        fetched.records.iter().map(|(offset, _)| *offset).collect()
    }

    #[test]
    fn an_open_transaction_holds_readers_back_and_an_aborted_one_is_passed_over() {
        assert_eq!((TOPIC.end(), TOPIC.transactions()), (8, 3));
        let read = |from, now_ns| {
            let fetched = TOPIC.fetch((0, from), 9, IsolationLevel::ReadCommitted, now_ns);
            (offsets(&fetched), fetched.next_offset)
        };
        assert_eq!(read(0, 9), (vec![], 0));
        assert_eq!(read(0, 10), (vec![0, 1], 3));
        assert_eq!(read(3, 20), (vec![], 6));
        assert_eq!(read(0, 30), (vec![0, 1, 6], 8));
        assert_eq!(read(8, 99), (vec![], 8));
        let few = TOPIC.fetch((0, 0), 1, IsolationLevel::ReadCommitted, 30);
        assert_eq!((offsets(&few), few.next_offset), (vec![0], 1));
    }

    #[test]
    fn whoever_reads_what_is_not_committed_sees_more() {
        let read = |now_ns| offsets(&TOPIC.fetch((0, 0), 9, IsolationLevel::ReadUncommitted, now_ns));
        assert_eq!((read(0), read(10), read(30)), (vec![0, 1], vec![0, 1, 3, 4], vec![0, 1, 3, 4, 6]));
    }

    #[test]
    fn partitions_are_made_one_after_the_other() {
        assert_eq!(TOPIC.last_stable_offset(1, 100), 0);
        assert_eq!(TOPIC.last_stable_offset(1, 110), 3);
        assert_eq!(TOPIC.last_stable_offset(0, 110), 8);
    }
}
