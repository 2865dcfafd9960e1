//! A whole run: a fresh thread, a madsim runtime, nodes, faults, healing, and a verdict.

use crate::court::{Court, FIRST_TASK_MANAGER, Setup};
use crate::faults::Faults;
use crate::node::{address_of, live, now_ns};
use madsim::runtime::{Handle, Runtime};
use madsim::task::NodeId;
use splitrace_invariants::{Exercised, Outcome, PanicPlace, RunEnd, RunStop};
use splitrace_runtime::config::NANOS_PER_MILLI;
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::ids::ProcessId;
use splitrace_runtime::message::JobResult;
use splitrace_sim::judge::RecordTotals;
use splitrace_sim::scenario::Scenario;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

/// A run that takes longer by the wall clock hangs in a loop without time, which madsim does not see.
const WALL_TIME_MAX: Duration = Duration::from_secs(120);
/// How often the harness looks.
const TICK: Duration = Duration::from_millis(1);
/// Long enough for every pending timer of a killed node to fire.
const DRAIN: Duration = Duration::from_secs(10);

/// What a run left.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// How it ended.
    pub outcome: Outcome,
    /// Whether that is a success under the scenario's promise.
    pub is_success: bool,
    /// The hash over all its events.
    pub trace_hash: u64,
    /// Turns taken.
    pub turns: u64,
    /// Events told.
    pub event_count: u64,
    /// Records read and made visible.
    pub records: RecordTotals,
    /// What was exercised.
    pub exercised: Exercised,
    /// Virtual time at its end in nanoseconds.
    pub virtual_time_ns: u64,
    /// Nodes killed.
    pub crash_count: u32,
    /// Directed links clogged.
    pub clog_count: u32,
}

/// The scenario of a seed: the job of the default draw, with patience for a network on which each send and each receive
/// takes a millisecond, and with this host's own faults.
#[must_use]
pub fn scenario_of(seed: u64, defects: DefectSet) -> Scenario {
    let mut scenario = Scenario::draw(seed);
    scenario.job.defects = defects;
    // Nobody cancels, stops or submits again here: a job without an end would only run into its limit.
    scenario.cancel_after_ns = None;
    scenario.resubmission = None;
    scenario.savepoint_after_checkpoints = None;
    scenario.job.vertices.iter_mut().for_each(|vertex| vertex.source.bounded = true);
    // The plan is drawn for a faster network; here the same job takes about twice the time.
    scenario.faults.plan_until_ns *= 2;
    scenario.faults.heal_after_ns = scenario.faults.plan_until_ns + 200 * NANOS_PER_MILLI;
    // Honest runs end within a few seconds, and heartbeats alone would use the turns up in the time of the default.
    scenario.limits.virtual_time_max_ns = 60_000 * NANOS_PER_MILLI;
    // This host's faults are its own; what the promise reads is whether there are any.
    scenario.faults.task_manager_crashes_max = scenario.faults.task_manager_crashes_max.max(1);
    scenario
}

/// Runs a scenario with a seed on a thread of its own.
///
/// # Panics
/// When the run does not end within two minutes by the wall clock.
#[must_use]
pub fn run_seed(scenario: &Scenario, seed: u64) -> Exhibit {
    let (sender, receiver) = mpsc::channel();
    let setup = Arc::new(Setup::new(scenario));
    let shared = Arc::clone(&setup);
    // A fresh thread per seed: hash maps inside madsim take their seeds from its generator once per thread.
    let thread = std::thread::Builder::new().name(format!("seed-{seed}")).spawn(move || {
        let counts = simulate(&shared, seed);
        // Nobody listens any more when the watchdog has barked.
        let _ = sender.send(counts);
    });
    let thread = thread.expect("the system has room for a thread");
    match receiver.recv_timeout(WALL_TIME_MAX) {
        Ok(counts) => {
            thread.join().expect("it had sent its last word");
            verdict(scenario, &mut setup.court(), counts)
        }
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("seed {seed} hangs in a loop without time"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = thread.join().expect_err("a thread without a last word panicked");
            panicked(&panic_message(&*panic), seed)
        }
    }
}

/// What only the runtime knows.
#[derive(Clone, Copy, Debug)]
struct Counts {
    virtual_time_ns: u64,
    crash_count: u32,
    clog_count: u32,
}

fn simulate(setup: &Arc<Setup>, seed: u64) -> Counts {
    let mut config = madsim::Config::default();
    config.net.packet_loss_rate = if seed.is_multiple_of(2) { 0.01 } else { 0.0 };
    config.net.send_latency = Duration::from_micros(200)..Duration::from_millis(2 + seed % 4);
    let mut runtime = Runtime::with_seed_and_config(seed, config);
    // The bound inside is exact and comes first; this one is for a bug in the harness.
    runtime.set_time_limit(Duration::from_nanos(2 * setup.scenario.limits.virtual_time_max_ns));
    runtime.block_on(drive(Arc::clone(setup)))
}

async fn drive(setup: Arc<Setup>) -> Counts {
    let handle = Handle::current();
    let nodes: Vec<NodeId> =
        (0..setup.court().process_count()).map(|index| build_node(&handle, &setup, index)).collect();
    let faults = setup.scenario.faults;
    let mut faults = Faults::plan(&setup, nodes, faults.plan_until_ns, faults.heal_after_ns);
    let mut ends_at_ns = u64::MAX;
    loop {
        madsim::time::sleep(TICK).await;
        faults.tick(&setup);
        if is_over(&setup, now_ns(), &mut ends_at_ns) {
            break;
        }
    }
    let virtual_time_ns = now_ns();
    setup.court().close();
    faults.kill_all();
    madsim::time::sleep(DRAIN).await;
    Counts { virtual_time_ns, crash_count: faults.crash_count(), clog_count: faults.clog_count() }
}

fn build_node(handle: &Handle, setup: &Arc<Setup>, index: usize) -> NodeId {
    let name = match index.checked_sub(FIRST_TASK_MANAGER) {
        Some(number) => ProcessId::TaskManager(number as u32),
        None => [ProcessId::JobManager, ProcessId::HighAvailability, ProcessId::Store][index],
    };
    let setup = Arc::clone(setup);
    let builder = handle.create_node().name(name.to_string()).ip(address_of(index));
    builder.init(move || live(Arc::clone(&setup), index)).build().id()
}

/// Whether the run has an outcome.
fn is_over(setup: &Setup, now_ns: u64, ends_at_ns: &mut u64) -> bool {
    let limits = setup.scenario.limits;
    let court = setup.court();
    if court.is_closed() {
        return true;
    }
    let judge = court.judge();
    if judge.job_result().is_some() {
        *ends_at_ns = (*ends_at_ns).min(now_ns + limits.settle_ns);
        return now_ns > *ends_at_ns;
    }
    now_ns > limits.virtual_time_max_ns || court.looks_deadlocked(now_ns)
}

fn verdict(scenario: &Scenario, court: &mut Court, counts: Counts) -> Exhibit {
    let outcome = outcome(scenario, court, counts);
    let judge = court.judge();
    Exhibit {
        is_success: outcome.is_success(&scenario.promise()),
        outcome,
        trace_hash: judge.trace_hash(),
        turns: court.turns(),
        event_count: judge.event_count(),
        records: judge.totals(scenario.expected_records()),
        exercised: judge.exercised(),
        virtual_time_ns: counts.virtual_time_ns,
        crash_count: counts.crash_count,
        clog_count: counts.clog_count,
    }
}

fn outcome(scenario: &Scenario, court: &mut Court, counts: Counts) -> Outcome {
    if let Some(violation) = court.judge().violation() {
        return Outcome::Violated(violation.clone());
    }
    let result = court.judge().job_result().cloned();
    let stop = if court.is_out_of_turns() {
        RunStop::StepLimit
    } else if result.is_none() && counts.virtual_time_ns > scenario.limits.virtual_time_max_ns {
        RunStop::VirtualTimeout
    } else {
        RunStop::Quiescent
    };
    let waiting = court.waiting();
    let Some(at) = court.judge().last() else {
        return Outcome::Deadlocked { waiting };
    };
    let now_ns = counts.virtual_time_ns.max(at.virtual_time_ns);
    let end = RunEnd { job_ended: result.clone(), stop, at, now_ns };
    court.judge_mut().finish(&end);
    if let Some(violation) = court.judge().violation() {
        return Outcome::Violated(violation.clone());
    }
    match result {
        _ if stop == RunStop::StepLimit => Outcome::StepLimit { world_steps: court.turns() },
        None if stop == RunStop::VirtualTimeout => Outcome::VirtualTimeout { at_ns: counts.virtual_time_ns },
        None => Outcome::Deadlocked { waiting },
        Some(JobResult::Finished) => Outcome::Passed,
        Some(JobResult::Failed(cause)) => Outcome::JobFailed { cause },
        Some(JobResult::Cancelled | JobResult::Stopped(_)) => Outcome::Cancelled,
    }
}

/// The court of a run that panicked may be half told: only the panic counts.
fn panicked(message: &str, seed: u64) -> Exhibit {
    Exhibit {
        outcome: Outcome::Panicked {
            place: PanicPlace::Protocol,
            message: format!("seed {seed}: {message}"),
        },
        is_success: false,
        trace_hash: 0,
        turns: 0,
        event_count: 0,
        records: RecordTotals::default(),
        exercised: Exercised::default(),
        virtual_time_ns: 0,
        crash_count: 0,
        clog_count: 0,
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
