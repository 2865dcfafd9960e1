//! One file per command. Each takes its arguments and answers a report or says what is wrong with its input.

mod bench;
mod benchmark;
mod campaign;
mod defects;
mod demo;
mod interrupts;
mod job;
mod judgements;
mod oracle;
mod points;
mod replay;
mod run;
mod scenario;
mod stopwatch;

use crate::arguments::{Command, CommandLine};
use crate::engine::{self, RunReport, StepReport, Verdict};
use crate::error::CommandError;
use crate::report::Report;
use judgements::JudgementResult;
use serde::Serialize;
use splitrace_sim::trace_hash_text;

/// Runs a command.
///
/// # Errors
/// When the command or its input is wrong.
pub fn execute(command_line: &CommandLine) -> Result<Report, CommandError> {
    match &command_line.command {
        Command::Demo(arguments) => demo::execute(arguments),
        Command::Run(arguments) => run::execute(arguments),
        Command::Campaign(arguments) => campaign::execute(arguments),
        Command::Replay(arguments) => replay::execute(arguments),
        Command::Defects => Ok(defects::execute()),
        Command::Points => Ok(points::execute()),
        Command::Oracle(arguments) => oracle::execute(*arguments),
        Command::Bench(arguments) => Ok(bench::execute(arguments)),
        Command::Benchmark(arguments) => benchmark::execute(arguments),
        Command::Scenario(command) => scenario::execute(command),
        Command::Job(command) => job::execute(command),
    }
}

/// What became visible and what was read, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct RecordCounts {
    total: u64,
    distinct: u64,
    expected: u64,
    duplicates: u64,
    missing: u64,
    read: u64,
    re_read: u64,
}

impl RecordCounts {
    const fn of(report: &RunReport) -> Self {
        let records = &report.records;
        Self {
            total: records.total,
            distinct: records.distinct,
            expected: records.expected,
            duplicates: records.duplicates,
            missing: records.missing,
            read: records.read,
            re_read: records.re_read,
        }
    }

    /// The line that the demo job ends with.
    fn line(&self) -> String {
        format!(
            "committed records: total={} distinct={} expected={} duplicates={} missing={}",
            self.total, self.distinct, self.expected, self.duplicates, self.missing
        )
    }
}

/// A line for each step of a plan: a step that was not reached shows nothing.
fn plan_lines(plan: &[StepReport]) -> String {
    plan.iter().fold(String::new(), |text, StepReport { step, reached_at_ns }| match reached_at_ns {
        Some(at_ns) => {
            format!("{text}plan: {step}: at {}.{:03} ms\n", at_ns / 1_000_000, at_ns / 1_000 % 1_000)
        }
        None => format!("{text}plan: {step}: NOT REACHED\n"),
    })
}

/// One run in JSON.
#[derive(Clone, Debug, Serialize)]
struct RunResult {
    seed: Option<u64>,
    verdict: Verdict,
    promise: String,
    trace_hash: String,
    /// What events/s counts: messages that living processes took, and role steps.
    events: u64,
    /// Inputs handled by a role.
    role_steps: u64,
    /// Whatever happened: turns, frames, timers, faults; what `limits.steps_max` bounds.
    world_steps: u64,
    /// Events told to the checkers and the trace hash.
    events_told: u64,
    virtual_time_ns: u64,
    records: RecordCounts,
    judgements: Vec<JudgementResult>,
    /// What became of each step of the scenario's plan.
    plan: Vec<StepReport>,
}

impl RunResult {
    /// Of a run that was compared with another of the same choices, or of one that was not.
    fn of(seed: Option<u64>, report: &RunReport, is_compared: bool) -> Self {
        Self {
            seed,
            verdict: Verdict::of(report),
            promise: engine::promise_line(report),
            trace_hash: trace_hash_text::text(report.trace_hash),
            events: report.events,
            role_steps: report.role_steps,
            world_steps: report.world_steps,
            events_told: report.event_count,
            virtual_time_ns: report.virtual_time_ns,
            records: RecordCounts::of(report),
            judgements: JudgementResult::all(&engine::judgements(report, is_compared)),
            plan: report.plan.clone(),
        }
    }

    /// The lines under a run's verdict.
    fn text(&self) -> String {
        let millis = self.virtual_time_ns / 1_000_000;
        format!(
            "verdict: {}\npromise: {}\n{}{}{}\nrecords read={} re-read={}\n{} role steps, {} world steps, {} events told \
             in {}.{:03} s of virtual time, trace hash {}\n",
            self.verdict.line(),
            self.promise,
            judgements::lines(&self.judgements),
            plan_lines(&self.plan),
            self.records.line(),
            self.records.read,
            self.records.re_read,
            self.role_steps,
            self.world_steps,
            self.events_told,
            millis / 1_000,
            millis % 1_000,
            self.trace_hash
        )
    }
}
