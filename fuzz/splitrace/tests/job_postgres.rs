//! A real job that writes to a real PostgreSQL: whatever is killed at whatever moment, job or server, each input line is in
//! the table exactly once, and nothing is left prepared.

#[path = "support/postgres_server.rs"]
mod postgres_server;
#[path = "support/workshop.rs"]
mod workshop;

use libtest_mimic::Failed;
use postgres_server::{PostgresServer, ServerTest};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use workshop::{MEGABYTE, Workshop, said};

/// So many changes of the state at most until something is killed.
const CHANGES_MAX: u64 = 20;

/// A job and its server.
struct Plant {
    workshop: Workshop,
    server: PostgresServer,
}

impl Plant {
    fn new(seed: u64, bytes: usize, programs: PathBuf) -> Self {
        let server = PostgresServer::start(programs);
        let sink = format!("postgres = \"{}\"\ntable = 'lines'", server.words());
        let mut workshop = Workshop::new(seed, &sink);
        workshop.make_text(bytes);
        Self { workshop, server }
    }

    fn connect(&self) -> postgres::Client {
        self.server.config().connect(postgres::NoTls).expect("the server takes connections")
    }

    /// A life in which the server dies and comes back; the job goes on.
    fn life_with_a_dead_server(&mut self) {
        let changes = 1 + self.workshop.draw(4);
        let mut child = self.workshop.run().spawn().expect("the binary starts");
        let was_alive = self.workshop.watch(&mut child, changes);
        self.server.kill_and_resume();
        assert!(was_alive, "a server that dies after the job proves nothing");
        let output = child.wait_with_output().expect("it is over");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }

    /// What a run says that does not begin.
    fn refused(&self) -> String {
        let output = self.workshop.run().output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(2));
        let text = said(&output);
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    }

    fn check_each_line_once(&self) {
        let mut client = self.connect();
        let mut found = BTreeMap::new();
        for row in client.query("SELECT payload FROM lines", &[]).expect("the table is there") {
            *found.entry(row.get::<_, Vec<u8>>(0)).or_insert(0) += 1;
        }
        self.workshop.check(&found);
        let left = client.query("SELECT gid FROM pg_prepared_xacts", &[]).expect("the server answers");
        let left: Vec<String> = left.iter().map(|row| row.get(0)).collect();
        assert_eq!(left, Vec::<String>::new(), "left in doubt");
    }
}

/// Kills the job three times, then the server under it, and counts.
fn survive(seed: u64, bytes: usize, programs: PathBuf) -> Result<(), Failed> {
    let mut plant = Plant::new(seed, bytes, programs);
    plant.workshop.has_no_end();
    let kills = (0..3).filter(|_| plant.workshop.killed_life(CHANGES_MAX)).count();
    assert_eq!(kills, 3, "a job without an end goes on until it is killed");
    plant.workshop.has_an_end();
    plant.life_with_a_dead_server();
    plant.check_each_line_once();
    Ok(())
}

fn kills_of_job_and_server_lose_and_double_no_line(programs: PathBuf) -> Result<(), Failed> {
    survive(1, 5 * MEGABYTE, programs)
}

fn ten_jobs_of_fifty_megabytes(programs: PathBuf) -> Result<(), Failed> {
    (100..110).try_for_each(|seed| survive(seed, 50 * MEGABYTE, programs.clone()))
}

/// The table belongs to one job: a second one, with a state of its own, must not roll back what the first has prepared.
fn a_second_job_on_the_same_table_is_refused(programs: PathBuf) -> Result<(), Failed> {
    let plant = Plant::new(2, MEGABYTE / 10, programs);
    plant.workshop.has_no_end();
    let mut child = plant.workshop.run().spawn().expect("the binary starts");
    assert!(plant.workshop.watch(&mut child, 3), "it has no end");
    plant.workshop.set("state_folder = 'state'", "state_folder = 'other'");
    let output = plant.workshop.run().output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.starts_with("error: another run writes to the table 'lines'"), "{text}");
    workshop::interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    assert!(said(&output).starts_with("stopped with a last checkpoint"), "{}", said(&output));
    Ok(())
}

fn what_is_wrong_with_a_server_is_one_sentence(programs: PathBuf) -> Result<(), Failed> {
    let mut plant = Plant::new(3, MEGABYTE / 10, programs);
    plant.workshop.set("parallelism = 2", "parallelism = 64");
    let too_few = plant.refused();
    assert!(
        too_few.contains("the server lets 64 transactions be prepared at a time, and this job needs 128"),
        "{too_few}"
    );
    plant.server.kill();
    let gone = plant.refused();
    assert!(gone.starts_with("error: cannot use the table 'lines': "), "{gone}");
    assert_eq!(plant.workshop.sight().len(), 1, "there is the lock, and no state of a job that never ran");
    Ok(())
}

/// Nobody's rows are written to, and lost ones are no clean beginning.
fn a_table_that_is_foreign_or_gone_is_refused(programs: PathBuf) -> Result<(), Failed> {
    let plant = Plant::new(5, MEGABYTE / 10, programs);
    let mut client = plant.connect();
    let foreign = "CREATE TABLE people (name text, operator int, number bigint, split bigint, payload bytea)";
    client.batch_execute(foreign).expect("the server takes it");
    plant.workshop.set("table = 'lines'", "table = 'people'");
    let text = plant.refused();
    assert!(
        text.starts_with(
            "error: cannot use the table 'people': \"people\" has the columns (name text, operator integer,"
        ),
        "{text}"
    );
    plant.workshop.set("table = 'people'", "table = 'lines'");
    plant.workshop.has_no_end();
    let mut child = plant.workshop.run().spawn().expect("the binary starts");
    assert!(plant.workshop.watch(&mut child, 4), "it has no end");
    workshop::interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    client.batch_execute("DROP TABLE lines").expect("nothing is prepared");
    let text = plant.refused();
    assert!(text.contains("it is gone, and this job has written to it"), "{text}");
    Ok(())
}

/// The server does not come back: the job ends, and nothing that was not answered counts.
fn a_server_that_stays_away_ends_the_run(programs: PathBuf) -> Result<(), Failed> {
    let mut plant = Plant::new(4, 5 * MEGABYTE, programs);
    plant.workshop.has_no_end();
    let mut child = plant.workshop.run().spawn().expect("the binary starts");
    assert!(plant.workshop.watch(&mut child, 5), "it has no end");
    plant.server.kill();
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("its database has been away for too long"), "{}", said(&output));
    plant.server.resume();
    plant.workshop.has_an_end();
    plant.workshop.last_life();
    plant.check_each_line_once();
    Ok(())
}

fn main() -> ExitCode {
    let tests: [(&str, ServerTest); 4] = [
        ("kills_of_job_and_server_lose_and_double_no_line", kills_of_job_and_server_lose_and_double_no_line),
        ("a_second_job_on_the_same_table_is_refused", a_second_job_on_the_same_table_is_refused),
        ("a_table_that_is_foreign_or_gone_is_refused", a_table_that_is_foreign_or_gone_is_refused),
        ("what_is_wrong_with_a_server_is_one_sentence", what_is_wrong_with_a_server_is_one_sentence),
    ];
    let long: [(&str, ServerTest); 2] = [
        ("ten_jobs_of_fifty_megabytes", ten_jobs_of_fifty_megabytes),
        ("a_server_that_stays_away_ends_the_run", a_server_that_stays_away_ends_the_run),
    ];
    postgres_server::run_tests(&tests, &long)
}
