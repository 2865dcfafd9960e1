//! The simulated table with prepared transactions against a real PostgreSQL server: the same operations, lost connections
//! and kills of the server included, get the same answers and leave the same rows.

#[path = "support/postgres_server.rs"]
mod postgres_server;

use libtest_mimic::Failed;
use postgres_server::{PostgresServer, ServerTest};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use splitrace::real_table::{RealTable, TableClient, TableName, VisibleRow};
use splitrace_runtime::api::table_io::{TableAnswer, TableOperation};
use splitrace_runtime::ids::*;
use splitrace_runtime::records::Record;
use splitrace_sim::outside::PreparedTable;
use std::path::PathBuf;
use std::process::ExitCode;

/// What happens in a sequence.
#[derive(Clone, Debug)]
enum Step {
    /// A client asks.
    Ask(u32, TableOperation),
    /// A client's connection breaks.
    Disconnect(u32),
    /// The server is killed, and comes back.
    Kill,
}

fn client(number: u32) -> TableClient {
    let attempt = AttemptNumber(number);
    (ExecutionAttemptId { vertex: OperatorUid(0), subtask: SubtaskIndex(0), attempt }, LeaderEpoch(1))
}

fn table() -> TableName {
    "lines".parse().expect("a valid name")
}

fn open(server: &PostgresServer) -> RealTable {
    let mut table = RealTable::connect(server.config(), table()).expect("the server takes connections");
    table.make().expect("the server lets it be made");
    table
}

fn transaction(number: u64) -> TransactionName {
    TransactionName::new(SubtaskId::default(), CheckpointId(number))
}

fn record(offset: u64) -> Record {
    Record { split: SplitId::default(), offset, event_time_ms: 0, key: 0, payload: vec![7; 3] }
}

fn operation() -> impl Strategy<Value = TableOperation> {
    let session = 0_u32..3;
    let name = (0_u64..4).prop_map(transaction);
    prop_oneof![
        3 => session.clone().prop_map(|session| TableOperation::Connect { session }),
        4 => (session.clone(), name.clone())
            .prop_map(|(session, transaction)| TableOperation::Begin { session, transaction }),
        4 => (session.clone(), prop::collection::vec((0_u64..20).prop_map(record), 0..3))
            .prop_map(|(session, records)| TableOperation::Insert { session, records }),
        4 => session.prop_map(|session| TableOperation::Prepare { session }),
        1 => Just(TableOperation::ListPrepared { vertex: OperatorUid(0) }),
        1 => name.clone().prop_map(|transaction| TableOperation::RollbackPrepared { transaction }),
        3 => name.clone().prop_map(|transaction| TableOperation::CommitPrepared { transaction }),
        2 => name.prop_map(|transaction| TableOperation::LookForProof { transaction }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        60 => (0_u32..2, operation()).prop_map(|(client, operation)| Step::Ask(client, operation)),
        4 => (0_u32..2).prop_map(Step::Disconnect),
        1 => Just(Step::Kill),
    ]
}

/// A whole life of a transaction, so that each sequence commits something, with other steps between.
fn life() -> impl Strategy<Value = Vec<Step>> {
    let between = || prop::collection::vec(step(), 0..6);
    (between(), between(), between()).prop_map(|(first, second, third)| {
        let ask = |operation| Step::Ask(2, operation);
        let session = 9;
        let open = [
            ask(TableOperation::Connect { session }),
            ask(TableOperation::Begin { session, transaction: transaction(9) }),
            ask(TableOperation::Insert { session, records: vec![record(1), record(2)] }),
        ];
        let prepare = [ask(TableOperation::Prepare { session })];
        let commit = [ask(TableOperation::CommitPrepared { transaction: transaction(9) })];
        first.into_iter().chain(open).chain(second).chain(prepare).chain(third).chain(commit).collect()
    })
}

/// Both systems, side by side.
struct Pair {
    server: PostgresServer,
    real: RealTable,
    simulated: PreparedTable,
}

impl Pair {
    fn new(programs: PathBuf) -> Self {
        let server = PostgresServer::start(programs);
        let real = open(&server);
        Self { server, real, simulated: PreparedTable::default() }
    }

    /// Empties both.
    fn reset(&mut self) {
        self.simulated = PreparedTable::default();
        self.real.reconnect();
        let list = TableOperation::ListPrepared { vertex: OperatorUid(0) };
        let TableAnswer::Prepared(names) = self.real.perform(client(0), &list) else { panic!("a list") };
        for transaction in names {
            self.real.perform(client(0), &TableOperation::RollbackPrepared { transaction });
        }
        let mut admin = self.server.config().connect(postgres::NoTls).expect("the server takes connections");
        admin.batch_execute("TRUNCATE lines, lines_proofs").expect("nobody holds them");
        self.real = open(&self.server);
    }

    fn take(&mut self, step: &Step) -> Option<(TableAnswer, TableAnswer)> {
        match step {
            Step::Ask(number, operation) => {
                let (attempt, epoch) = client(*number);
                let simulated = self.simulated.perform(attempt, epoch, operation.clone());
                return Some((self.real.perform((attempt, epoch), operation), simulated));
            }
            Step::Disconnect(number) => {
                let (attempt, epoch) = client(*number);
                self.real.disconnect((attempt, epoch));
                self.simulated.disconnect(attempt, epoch, &mut Vec::new());
            }
            Step::Kill => {
                self.server.kill_and_resume();
                self.real.reconnect();
                self.simulated.crash(&mut Vec::new());
            }
        }
        None
    }

    fn rows(&mut self) -> (Vec<VisibleRow>, Vec<VisibleRow>) {
        let mut simulated = Vec::new();
        for entry in self.simulated.visible().entries() {
            for range in entry.records.ranges() {
                let rows = (range.start..range.end)
                    .map(|number| (table().global_id(entry.name), range.split.index, number));
                simulated.extend(rows);
            }
        }
        simulated.sort();
        let mut real = self.real.visible().expect("the server answers");
        real.sort();
        (real, simulated)
    }
}

fn both_answer_alike(programs: PathBuf) -> Result<(), Failed> {
    let mut pair = Pair::new(programs);
    let pair = std::cell::RefCell::new(&mut pair);
    let config = Config { cases: 24, failure_persistence: None, max_shrink_iters: 64, ..Config::default() };
    TestRunner::new(config).run(&life(), |steps| {
        let pair = &mut **pair.borrow_mut();
        pair.reset();
        for (at, step) in steps.iter().enumerate() {
            if let Some((real, simulated)) = pair.take(step) {
                prop_assert_eq!(real, simulated, "step {}: {:?}", at, step);
            }
        }
        let (real, simulated) = pair.rows();
        prop_assert_eq!(real, simulated);
        Ok(())
    })?;
    Ok(())
}

/// The one sequence that the whole sink rests on.
fn a_prepared_transaction_survives_a_kill(programs: PathBuf) -> Result<(), Failed> {
    let mut pair = Pair::new(programs);
    let (session, first, second) = (0, transaction(1), transaction(2));
    let asked = [
        TableOperation::Connect { session },
        TableOperation::Begin { session, transaction: first },
        TableOperation::Insert { session, records: vec![record(1)] },
        TableOperation::Prepare { session },
        TableOperation::Begin { session, transaction: second },
        TableOperation::Insert { session, records: vec![record(2)] },
    ];
    let mut steps: Vec<Step> = asked.map(|operation| Step::Ask(0, operation)).into();
    steps.push(Step::Kill);
    let expected = [
        (TableOperation::Prepare { session }, TableAnswer::NoSession),
        (TableOperation::ListPrepared { vertex: OperatorUid(0) }, TableAnswer::Prepared(vec![first])),
        (TableOperation::CommitPrepared { transaction: first }, TableAnswer::Done),
        (TableOperation::CommitPrepared { transaction: first }, TableAnswer::DoesNotExist),
        (TableOperation::LookForProof { transaction: first }, TableAnswer::Proof(true)),
        (TableOperation::LookForProof { transaction: second }, TableAnswer::Proof(false)),
    ];
    for step in &steps {
        let answers = pair.take(step);
        if answers.is_some_and(|answers| answers != (TableAnswer::Done, TableAnswer::Done)) {
            return Err(format!("{step:?} was not done").into());
        }
    }
    for (operation, answer) in expected {
        let answers = pair.take(&Step::Ask(0, operation.clone())).expect("an operation is answered");
        if answers != (answer.clone(), answer) {
            return Err(format!("{operation:?} got {answers:?}").into());
        }
    }
    let (real, simulated) = pair.rows();
    if real != simulated || real.len() != 1 {
        return Err(format!("{real:?} is visible, {simulated:?} in the simulation").into());
    }
    Ok(())
}

fn main() -> ExitCode {
    let tests: [(&str, ServerTest); 2] = [
        ("both_answer_alike", both_answer_alike),
        ("a_prepared_transaction_survives_a_kill", a_prepared_transaction_survives_a_kill),
    ];
    postgres_server::run_tests(&tests, &[])
}
