//! The command line, as clap reads it. Help texts teach: what it does, then examples that can be pasted.

mod demo;

pub use demo::{DemoArguments, Moment};

use crate::parse::{self, SeedRange};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use splitrace_runtime::defects::{Defect, DefectSet, Profile};
use splitrace_sim::scenario::Maker;
use std::path::PathBuf;
use std::time::Duration;

/// Deterministic simulation testing for exactly-once sources and sinks.
///
/// splitrace runs the checkpoint, split-assignment and two-phase-commit protocol of a streaming engine on a
/// virtual clock and a simulated network, breaks it in every way a cluster can break, and checks after each
/// step that every split is in exactly one place and every record is committed exactly once. One number, the
/// seed, decides all: the same seed is the same run, on every machine.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "splitrace",
    version,
    propagate_version = true,
    after_help = "\
Where to begin:
  splitrace demo normal                 watch an honest job, step by step
  splitrace demo fail                   the same job with a failure: read twice, committed once
  splitrace demo fail-naive             the same failure with a careless sink: a violation
  splitrace campaign --seeds 0..2000    two thousand runs full of faults
  splitrace replay --seed 7             the story of one of them

Exit code: 0 clean, 1 a violation was found, 2 wrong usage or input, or the answer could not be written; 130 a campaign
that Ctrl-C stopped before it found anything."
)]
pub struct CommandLine {
    /// How to print the results
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT", display_order = 900)]
    pub format: OutputFormat,
    /// Trace every protocol step to stderr, with its virtual time (a run takes far longer)
    #[arg(long, global = true, value_enum, value_name = "LEVEL", display_order = 901)]
    pub trace: Option<TraceLevel>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How much is traced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TraceLevel {
    /// Violations only
    Error,
    /// Every event of a run and what the roles say of their steps
    Debug,
    /// That, and what happens once per record
    Trace,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

const ORACLE_HELP: &str = r#"Example:
  echo '{"c":"tracker","op":"assign","assign":{"0":["a"]}}' | splitrace oracle

`c` names the component, `inst` one of several instances of it, `op` the operation, and `i` is repeated in the answer.
Empty lines and lines that begin with '#' have no answer. docs/conformance.md lists components and operations."#;

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Run one small job and print its time line
    Demo(DemoArguments),
    /// Run one seed and print its verdict
    Run(RunArguments),
    /// Run many seeds, print what was exercised and each distinct failure
    Campaign(CampaignArguments),
    /// Run a recorded run or a seed again and tell its story
    Replay(ReplayArguments),
    /// List the defects that can be switched on to prove the checkers
    Defects,
    /// List the named points of the protocol, and what may be made to happen there
    Points,
    /// Answer recorded operations from this protocol, one JSON line each on standard input and output
    #[command(after_help = ORACLE_HELP)]
    Oracle(OracleArguments),
    /// Measure events and seeds per second, beside a bare event loop
    Bench(BenchArguments),
    /// Score the search: how soon it finds each bug of the registry
    Benchmark(BenchmarkArguments),
    /// Print or check scenarios
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// Run a real job: files in, files out, each record once
    #[command(subcommand)]
    Job(JobCommand),
}

/// Arguments of `benchmark`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  splitrace benchmark > benchmark.md
  splitrace benchmark --budget 5s --campaigns 1 --defect gateway-never-closes")]
pub struct BenchmarkArguments {
    /// How long one campaign looks for one defect at most
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = parse::duration,
        allow_hyphen_values = true
    )]
    pub budget: Duration,
    /// How many campaigns look for each defect, with base seeds far apart
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub campaigns: u32,
    /// How many worker threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse::jobs, allow_hyphen_values = true)]
    pub jobs: Option<u32>,
    /// Only this defect; may be given several times [default: all but Flink's quirks]
    #[arg(long = "defect", value_name = "ID", value_parser = parse::defect)]
    pub defects: Vec<Defect>,
}

/// Arguments of `oracle`.
#[derive(Clone, Copy, Debug, Args)]
pub struct OracleArguments {
    /// Read nothing: answer so many random operations and print how many it answers in a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub measure: Option<u64>,
}

/// What runs otherwise than in an honest protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Switches {
    /// Which quirks are on: 'hardened' has none, 'flink-2.3.0' all of Flink 2.3.0's, on a network that keeps the order of
    /// each connection as Flink takes for granted (a scenario file says for itself what its network does)
    #[arg(long, value_name = "PROFILE", default_value_t, value_parser = parse::profile)]
    pub profile: Profile,
    /// What a seed makes: 'swarm' draws features and faults, 'lite' a small job with few faults (short stories), 'perf' a
    /// big one without faults (to measure)
    #[arg(long, value_name = "MAKER", default_value_t, value_parser = parse::maker)]
    pub maker: Maker,
    /// Switch on a defect; may be given several times
    #[arg(long = "defect", value_name = "ID", value_parser = parse::defect)]
    pub defects: Vec<Defect>,
}

impl Switches {
    /// Everything that is on.
    #[must_use]
    pub fn all(&self) -> DefectSet {
        self.profile.quirks().union(self.defects.iter().copied().collect())
    }

    /// The options that say the same, each with a space in front.
    #[must_use]
    pub fn options(&self) -> String {
        let profile = match self.profile {
            Profile::Hardened => String::new(),
            other => format!(" --profile {other}"),
        };
        let maker = match self.maker {
            Maker::Swarm => String::new(),
            other => format!(" --maker {other}"),
        };
        self.defects.iter().fold(profile + &maker, |text, defect| text + " --defect " + defect.entry().id)
    }
}

/// Arguments of `run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  splitrace run --seed 7
  splitrace run --seed 7 --scenario my.toml
  splitrace run --seed 7 --defect final-batch-dropped")]
pub struct RunArguments {
    /// The seed: it draws the scenario (unless one is given) and every choice of the run
    #[arg(long, value_name = "N", value_parser = parse::seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// Run this scenario instead of the one that the seed draws
    #[arg(long, value_name = "FILE", conflicts_with = "maker")]
    pub scenario: Option<PathBuf>,
    /// What is switched on.
    #[command(flatten)]
    pub switches: Switches,
}

/// Arguments of `campaign`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  splitrace campaign                                      seeds 0..2000
  splitrace campaign --seeds 0..20000 --jobs 8 --out failures
  splitrace campaign --time 15m --first-seed 1000000      as many seeds as fit
  splitrace campaign --maker lite                         small jobs with few faults
  splitrace campaign --defect gateway-never-closes        does a checker see this bug?

Every kind of fault, window of the protocol, event and recovery path is a probe. The campaign tells which never fired;
with --require-probes one that is not rare and never fired is a failure (exit code 1).

A campaign of 2000 seeds or more on the default draw also asserts that the draw is not tame: that failovers, second
faults, leader losses, each kind of fault and each window of the protocol really occurred.

events/s counts messages that processes took and inputs that roles handled. 'judged' says which invariants had something to
judge, in how many seeds, and why the others were not judged.

When --time is up no further seed is begun, and those that were begun have a second to end. At least one is begun.

The files in --out are named seed-7.json or, when another run of seed 7 has that name already, seed-7-TRACEHASH.json.
Nothing is overwritten, and the same run is not written twice.

Ctrl-C stops the runs where they are, prints what was found and then writes it to --out; a second Ctrl-C leaves out the
files that are not written yet, a third one ends the process.")]
pub struct CampaignArguments {
    /// Which seeds, the end not included [default: 0..2000]
    #[arg(long, value_name = "A..B", conflicts_with = "time", allow_hyphen_values = true)]
    pub seeds: Option<SeedRange>,
    /// Run for this time instead: 60s, 15m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub time: Option<Duration>,
    /// With --time: begin at this seed [default: 0]
    #[arg(
        long,
        value_name = "N",
        requires = "time",
        conflicts_with = "seeds",
        value_parser = parse::seed,
        allow_hyphen_values = true
    )]
    pub first_seed: Option<u64>,
    /// How many worker threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse::jobs, allow_hyphen_values = true)]
    pub jobs: Option<u32>,
    /// Run this scenario under every seed instead of drawing one
    #[arg(long, value_name = "FILE", conflicts_with = "maker")]
    pub scenario: Option<PathBuf>,
    /// What is switched on.
    #[command(flatten)]
    pub switches: Switches,
    /// Fail when a probe that is not rare never fired: for campaigns of some thousand seeds
    #[arg(long)]
    pub require_probes: bool,
    /// Write the failing seeds as replay files into this folder; nothing in it is overwritten
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// With --out: at most so many replay files for each distinct failure, and at least 1
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        requires = "out",
        value_parser = parse::keep,
        allow_hyphen_values = true
    )]
    pub keep: u64,
}

/// Arguments of `replay`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("run").required(true).args(["file", "seed"])), after_help = "\
Examples:
  splitrace replay failures/seed-7.json
  splitrace replay --seed 7
  splitrace replay --seed 7 --all | less

The story is told in virtual time; faults are marked '!!!'. Quieter lines are left out where there are too many.")]
pub struct ReplayArguments {
    /// A replay file that a campaign wrote
    #[arg(value_name = "FILE", conflicts_with_all = ["scenario", "profile", "maker", "defects"])]
    pub file: Option<PathBuf>,
    /// Run this seed instead
    #[arg(long, value_name = "N", value_parser = parse::seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// With --seed: run this scenario instead of the one that the seed draws
    #[arg(long, value_name = "FILE", requires = "seed", conflicts_with = "maker")]
    pub scenario: Option<PathBuf>,
    /// What is switched on, with --seed.
    #[command(flatten)]
    pub switches: Switches,
    /// Leave nothing out
    #[arg(long)]
    pub all: bool,
}

/// Arguments of `bench`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cargo run --profile sim -- bench
  cargo run --release -- bench --time 10s
  valgrind --tool=callgrind target/release/splitrace bench --runs 100")]
pub struct BenchArguments {
    /// How long each part runs
    #[arg(
        long,
        value_name = "TIME",
        default_value = "3s",
        value_parser = parse::duration,
        allow_hyphen_values = true
    )]
    pub time: Duration,
    /// Runs of each part, whatever time they take: the same work each time, for profilers that count instructions
    #[arg(long, value_name = "N", conflicts_with = "time", value_parser = clap::value_parser!(u64).range(1..))]
    pub runs: Option<u64>,
}

/// What `scenario` does.
#[derive(Clone, Debug, Subcommand)]
pub enum ScenarioCommand {
    /// Print the scenario that a seed draws, as TOML, with what it promises
    #[command(after_help = "Example:\n  splitrace scenario show --seed 7 > my.toml")]
    Show(ScenarioShowArguments),
    /// Check a scenario file
    #[command(after_help = "Example:\n  splitrace scenario check my.toml")]
    Check(ScenarioCheckArguments),
    /// Print the scenario that was written by hand to show a defect, with what happens in it
    #[command(after_help = "Example:\n  splitrace scenario demonstrate given-back-at-failure > bug.toml")]
    Demonstrate(ScenarioDemonstrateArguments),
}

/// Arguments of `scenario show`.
#[derive(Clone, Debug, Args)]
pub struct ScenarioShowArguments {
    /// The seed
    #[arg(long, value_name = "N", value_parser = parse::seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// What is switched on.
    #[command(flatten)]
    pub switches: Switches,
}

/// Arguments of `scenario check`.
#[derive(Clone, Debug, Args)]
pub struct ScenarioCheckArguments {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `scenario demonstrate`.
#[derive(Clone, Copy, Debug, Args)]
pub struct ScenarioDemonstrateArguments {
    /// The defect; `splitrace defects` lists them
    #[arg(value_name = "DEFECT", value_parser = parse::defect)]
    pub defect: Defect,
}

/// What `job` does.
#[derive(Clone, Debug, Subcommand)]
pub enum JobCommand {
    /// Run a job, or go on with one that was stopped or killed
    #[command(after_help = "\
Example:
  splitrace job run job.toml

docs/jobs.md has a job file with every setting. The same command goes on from the last completed checkpoint, however the
run before ended; a job that has finished stays so.

Ctrl-C (or SIGTERM) stops the job with a last checkpoint; a second one ends the process at once, as kill -9 does, which
costs no record either.

Exit code: 0 finished or stopped, 1 the job failed, 2 its file, its folders or its state are wrong, 130 a second Ctrl-C.")]
    Run(JobArguments),
    /// Check a job file, its folders and its state
    #[command(after_help = "Example:\n  splitrace job check job.toml")]
    Check(JobArguments),
}

/// Arguments of `job run` and `job check`.
#[derive(Clone, Debug, Args)]
pub struct JobArguments {
    /// The job file
    #[arg(value_name = "JOB.toml")]
    pub file: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }
}
