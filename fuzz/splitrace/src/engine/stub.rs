//! Stands in until the simulator lands. NOT to be merged.
#![allow(missing_docs, missing_debug_implementations)]

use serde::{Deserialize, Serialize};
use splitrace_runtime::config::*;
use splitrace_runtime::defects::*;
use splitrace_runtime::event::*;
use splitrace_runtime::ids::*;
use splitrace_runtime::records::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    pub job: JobConfig,
    pub cancel_after_ns: Option<u64>,
}
#[derive(Clone, Copy, Debug)]
pub enum DemoMode {
    Normal,
    Push,
    Fail,
    FailNaive,
    Nockpt,
    NockptUnbounded,
    CommitEarly,
    FailNaiveIdsIdempotent,
    NockptFail,
}
#[derive(Clone, Copy, Debug)]
pub struct DemoOptions {
    pub fail_at_record: u64,
    pub moment: FailureMoment,
}
impl Default for DemoOptions {
    fn default() -> Self {
        Self { fail_at_record: 80, moment: FailureMoment::Read }
    }
}
#[derive(Debug)]
pub struct ScenarioError(pub String);
impl std::fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise(String);
impl std::fmt::Display for Promise {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}
impl Scenario {
    pub fn draw(_seed: u64) -> Self {
        let task = TaskConfig {
            record_interval_ns: 80_000_000,
            filter_every: 0,
            user_failure: None,
            write_buffer_records: 1,
            commit_retries_max: 10,
            store_timeout_ns: 1,
        };
        let source = SourceConfig {
            split_count: 4,
            records_per_split: 40,
            policy: AssignmentPolicy::Pull,
            bounded: true,
        };
        Self {
            job: JobConfig {
                job: JobId(0),
                lineage: LineageId(0),
                vertices: vec![VertexConfig {
                    operator: OperatorUid(0),
                    parallelism: 2,
                    source,
                    task,
                    coordinated: None,
                }],
                checkpointing: None,
                restart: RestartConfig { delay_ns: 1, attempts_max: 3 },
                region: RegionScope::Subtask,
                task_managers: 2,
                heartbeat: HeartbeatConfig { interval_ns: 1, timeout_ns: 2 },
                sink: SinkKind::Append,
                defects: DefectSet::NONE,
            },
            cancel_after_ns: None,
        }
    }
    pub fn demo(mode: DemoMode, options: DemoOptions) -> Self {
        let mut scenario = Self::draw(0);
        if matches!(mode, DemoMode::Fail | DemoMode::FailNaive) {
            scenario.job.vertices[0].task.user_failure = Some(UserFailure {
                record: options.fail_at_record,
                attempts_below: 1,
                moment: options.moment,
            });
        }
        scenario
    }
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|error| ScenarioError(error.to_string()))
    }
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
    pub fn promise(&self) -> Promise {
        Promise("exactly-once".into())
    }
    pub fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }
}
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub code: String,
    pub sentence: String,
    pub records: RecordRanges,
}
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Passed,
    Violated(Violation),
}
#[derive(Clone, Debug, Default)]
pub struct Exercised {
    pub events: BTreeMap<&'static str, u64>,
}
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordTotals {
    pub total: u64,
    pub distinct: u64,
    pub expected: u64,
    pub duplicates: u64,
    pub missing: u64,
    pub read: u64,
    pub re_read: u64,
}
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedChoices(pub Vec<u64>);
pub struct RunReport {
    pub outcome: Outcome,
    pub trace_hash: u64,
    pub steps: u64,
    pub event_count: u64,
    pub virtual_time_ns: u64,
    pub exercised: Exercised,
    pub records: RecordTotals,
    pub choices: RecordedChoices,
    pub promise: Promise,
}
pub fn run_seed(scenario: &Scenario, seed: u64) -> RunReport {
    run_with(scenario, RecordedChoices(vec![seed]), &mut |_| ())
}
pub fn run_recorded(scenario: &Scenario, choices: &RecordedChoices) -> RunReport {
    run_with(scenario, choices.clone(), &mut |_| ())
}
pub fn seed_choices(seed: u64) -> RecordedChoices {
    RecordedChoices(vec![seed])
}
pub fn run_with(scenario: &Scenario, choices: RecordedChoices, _: &mut dyn FnMut(&Event)) -> RunReport {
    let seed = choices.0[0];
    let hash = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17);
    let outcome = match scenario.job.defects.iter().next() {
        Some(defect) if hash.is_multiple_of(7) => Outcome::Violated(Violation {
            code: defect.entry().invariants[0].into(),
            sentence: format!("split-{} is in 2 places", hash % 4),
            records: RecordRanges::new(),
        }),
        _ => Outcome::Passed,
    };
    let records =
        RecordTotals { total: 160, distinct: 160, expected: 160, read: 160, ..RecordTotals::default() };
    RunReport {
        outcome,
        trace_hash: hash,
        steps: 100,
        event_count: 100,
        virtual_time_ns: 1,
        exercised: Exercised::default(),
        records,
        choices,
        promise: scenario.promise(),
    }
}
#[derive(Serialize, Deserialize)]
pub struct ReplayFile {
    pub version: u32,
    pub splitrace: String,
    pub seed: Option<u64>,
    pub scenario: Scenario,
    pub choices: RecordedChoices,
    pub outcome: Outcome,
    pub trace_hash: u64,
}
#[derive(Debug)]
pub struct ReplayError(pub String);
impl std::fmt::Display for ReplayError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}
impl ReplayFile {
    pub const VERSION: u32 = 1;
    pub fn read(path: &std::path::Path) -> Result<Self, ReplayError> {
        let text = std::fs::read_to_string(path).map_err(|error| ReplayError(error.to_string()))?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| ReplayError(format!("it is no JSON: {error}")))?;
        if value["version"] != 1 {
            return Err(ReplayError(format!("it has version {}, and this is version 1", value["version"])));
        }
        serde_json::from_value(value).map_err(|error| ReplayError(error.to_string()))
    }
    pub fn write_new(&self, path: &std::path::Path) -> Result<(), ReplayError> {
        use std::io::Write;
        let mut file = std::fs::File::create_new(path).map_err(|error| ReplayError(error.to_string()))?;
        writeln!(file, "{}", serde_json::to_string(self).unwrap_or_default())
            .map_err(|error| ReplayError(error.to_string()))
    }
}
