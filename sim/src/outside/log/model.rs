//! The log against a small model: whatever is asked in whatever order, by living producers and by fenced ones, what is
//! committed and readable is what the model says.
//!
//! The model knows no epochs, sequences or offsets. It has for each id the number of the life that may write, and one list
//! per partition of lines with what became of them.

use super::super::store::tests_support::{execution, name};
use super::*;
use proptest::prelude::*;
use splitrace_runtime::ids::{LeaderEpoch, SplitId};

const IDS: u64 = 3;
const PARTITIONS: u32 = 2;
const TIMEOUT_NS: u64 = 8;

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A new life of the id.
    Initialise(u64),
    /// A life of the id, counted back from the newest, writes a record.
    Write { id: u64, back: usize, partition: u32, acknowledged: bool, repeated: bool },
    /// It ends its transaction.
    End { id: u64, back: usize, result: TransactionResult },
    /// Time goes by.
    Wait(u64),
    /// The leader dies.
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let back = prop_oneof![4 => Just(0usize), 1 => Just(1)];
    let write = (0..IDS, back.clone(), 0..PARTITIONS, prop::bool::weighted(0.8), any::<bool>()).prop_map(
        |(id, back, partition, acknowledged, repeated)| Step::Write {
            id,
            back,
            partition,
            acknowledged,
            repeated,
        },
    );
    let result = prop_oneof![Just(TransactionResult::Commit), Just(TransactionResult::Abort)];
    let end = (0..IDS, back, result).prop_map(|(id, back, result)| Step::End { id, back, result });
    let step = prop_oneof![
        2 => (0..IDS).prop_map(Step::Initialise),
        6 => write,
        3 => end,
        1 => (1..6u64).prop_map(Step::Wait),
        1 => Just(Step::Crash),
    ];
    prop::collection::vec(step, 0..60)
}

/// What became of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Open(u64),
    Committed,
    Aborted,
}

/// A life of an id.
#[derive(Clone, Debug)]
struct Life {
    producer: ProducerIdAndEpoch,
    /// Appends to each partition that were answered, or are under way.
    sequences: [u32; PARTITIONS as usize],
    /// Since when its transaction is open.
    since_ns: Option<u64>,
    /// Whether it has ended a transaction, or has had one ended.
    is_over: bool,
}

#[derive(Debug, Default)]
struct Model {
    log: TransactionalLog,
    now_ns: u64,
    lives: BTreeMap<u64, Vec<Life>>,
    partitions: [Vec<(u64, Fate)>; PARTITIONS as usize],
    /// Lines that nobody was told of.
    untold: Vec<(usize, u64, u64)>,
    lines: u64,
}

impl Model {
    fn ask(&mut self, operation: LogOperation, acknowledged: bool) -> LogAnswer {
        let caller = Caller { attempt: execution(0, 0), epoch: LeaderEpoch(1) };
        let moment = Moment { now_ns: self.now_ns, acknowledged };
        self.log.execute(caller, operation, moment, &mut Vec::new())
    }

    /// Whatever was written under the id and is open ends so.
    fn settle(&mut self, id: u64, fate: Fate) {
        for (_, held) in self.partitions.iter_mut().flatten() {
            if *held == Fate::Open(id) {
                *held = fate;
            }
        }
        if let Some(life) = self.lives.get_mut(&id).and_then(|lives| lives.last_mut()) {
            life.is_over |= life.since_ns.take().is_some();
        }
    }

    fn told(&mut self) {
        for (partition, id, line) in std::mem::take(&mut self.untold) {
            self.partitions[partition].push((line, Fate::Open(id)));
        }
    }

    fn expire(&mut self) {
        for id in 0..IDS {
            let life = self.lives.get(&id).and_then(|lives| lives.last());
            if life.and_then(|life| life.since_ns).is_some_and(|since| self.now_ns - since > TIMEOUT_NS) {
                self.told();
                self.settle(id, Fate::Aborted);
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Wait(ns) => {
                self.now_ns += ns;
                self.ask(LogOperation::ListTransactions { vertex: OperatorUid(0) }, true);
                self.told();
                self.expire();
            }
            Step::Crash => {
                for (partition, id, _) in std::mem::take(&mut self.untold) {
                    let life = self.lives.get_mut(&id).and_then(|lives| lives.last_mut());
                    life.expect("somebody wrote it").sequences[partition] -= 1;
                }
                self.log.crash();
            }
            Step::Initialise(id) => self.initialise(id),
            Step::Write { id, back, partition, acknowledged, repeated } => {
                self.write(id, back, partition, acknowledged, repeated);
            }
            Step::End { id, back, result } => self.end(id, back, result),
        }
    }

    fn initialise(&mut self, id: u64) {
        let answer = self.ask(LogOperation::InitProducer { id: name(0, id), timeout_ns: TIMEOUT_NS }, true);
        let LogAnswer::Producer(producer) = answer else { panic!("a producer: {answer:?}") };
        self.told();
        self.settle(id, Fate::Aborted);
        let life = Life { producer, sequences: Default::default(), since_ns: None, is_over: false };
        self.lives.entry(id).or_default().push(life);
    }

    /// The life, and whether it is the newest and has not ended a transaction.
    fn life(&self, id: u64, back: usize) -> Option<(Life, bool)> {
        let lives = self.lives.get(&id)?;
        let life = lives.iter().rev().nth(back)?;
        Some((life.clone(), back == 0 && !life.is_over))
    }

    fn write(&mut self, id: u64, back: usize, partition: u32, acknowledged: bool, repeated: bool) {
        let Some((life, may_write)) = self.life(id, back) else { return };
        let (producer, index) = (life.producer, partition as usize);
        let add = LogOperation::AddPartitions { id: name(0, id), producer, partitions: vec![partition] };
        let added = self.ask(add, true);
        assert_eq!(added == LogAnswer::Done, may_write, "{added:?}");
        self.told();
        let line = self.lines;
        self.lines += 1;
        let split = SplitId::default();
        let records = vec![Record { split, offset: line, event_time_ms: 0, key: 0, payload: Vec::new() }];
        let sequence = life.sequences[index];
        let append = LogOperation::Append { id: name(0, id), producer, partition, sequence, records };
        for acknowledged in [acknowledged, true].into_iter().take(1 + usize::from(repeated)) {
            let answer = self.ask(append.clone(), acknowledged);
            assert_eq!(answer == LogAnswer::Done, may_write, "{answer:?}");
        }
        if !may_write {
            return;
        }
        self.untold.push((index, id, line));
        if acknowledged || repeated {
            self.told();
        }
        let now_ns = self.now_ns;
        let newest = self.lives.get_mut(&id).and_then(|lives| lives.last_mut()).expect("it writes");
        newest.since_ns.get_or_insert(now_ns);
        newest.sequences[index] += 1;
    }

    fn end(&mut self, id: u64, back: usize, result: TransactionResult) {
        let Some((life, may_write)) = self.life(id, back) else { return };
        let answer =
            self.ask(LogOperation::EndTransaction { id: name(0, id), producer: life.producer, result }, true);
        self.told();
        if may_write && life.since_ns.is_some() {
            assert_eq!(answer, LogAnswer::Done);
            let is_commit = result == TransactionResult::Commit;
            self.settle(id, if is_commit { Fate::Committed } else { Fate::Aborted });
        } else if may_write {
            assert_eq!(answer, LogAnswer::InvalidTransactionState, "nothing is open");
        } else if back > 0 {
            assert_eq!(answer, LogAnswer::ProducerFenced);
        }
    }

    /// What a reader of committed records sees: up to the first line that is open.
    fn readable(&self, partition: usize) -> Vec<u64> {
        let stable = self.partitions[partition].iter().take_while(|(_, fate)| !matches!(fate, Fate::Open(_)));
        stable.filter(|(_, fate)| *fate == Fate::Committed).map(|(line, _)| *line).collect()
    }
}

proptest! {
    #[test]
    fn the_log_reads_as_its_model(steps in steps()) {
        let mut model = Model::default();
        for step in steps {
            model.step(step);
            for partition in 0..PARTITIONS {
                let read = model.log.partitions.get(&partition).map(|held| held.read_committed(0));
                let read: Vec<u64> = read.unwrap_or_default().iter().map(|(_, record)| record.offset).collect();
                prop_assert_eq!(read, model.readable(partition as usize));
            }
            let committed = model.partitions.iter().flatten().filter(|(_, fate)| *fate == Fate::Committed);
            prop_assert_eq!(model.log.visible().total(), committed.count() as u64);
            prop_assert_eq!(model.log.visible().duplicates(), 0);
        }
    }
}
