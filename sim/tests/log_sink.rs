//! What a transaction time-out costs that is shorter than an outage. The default draw has none.

use splitrace_invariants::{Code, Level, Outcome};
use splitrace_runtime::config::{LogSinkConfig, NANOS_PER_MILLI, SinkKind};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_sim::run::{RunReport, run_seed};
use splitrace_sim::scenario::{Scenario, ScenarioError};

/// The job of a seed, with a sink into a log that aborts what is open for so long.
fn expiring(seed: u64, transaction_timeout_ns: u64) -> Scenario {
    let mut scenario = Scenario::draw(seed);
    scenario.job.sink = SinkKind::Log(LogSinkConfig { partitions: 2, transaction_timeout_ns });
    scenario
}

/// The runs of some seeds with a time-out that checkpoints mostly keep.
fn reports(defects: DefectSet) -> Vec<RunReport> {
    let report = |seed| {
        let mut scenario = expiring(seed, 200 * NANOS_PER_MILLI);
        scenario.job.defects = defects;
        run_seed(&scenario, seed)
    };
    (0..200).map(report).collect()
}

fn is_lost_for_a_known_reason(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::JobFailed { cause } if cause.contains("transaction time-out"))
}

#[test]
fn what_expires_is_told_and_no_false_alarm() {
    let reports = reports(DefectSet::NONE);
    for (seed, report) in reports.iter().enumerate() {
        assert!(report.is_success(), "seed {seed}: {}", report.outcome);
    }
    let lost = reports.iter().filter(|report| is_lost_for_a_known_reason(&report.outcome)).count();
    let passed = reports.iter().filter(|report| matches!(report.outcome, Outcome::Passed)).count();
    assert!(lost >= 5 && passed >= 100, "{lost} lost by contract, {passed} passed");
}

/// Flink drops a committable that failed for a known reason (FACT 73): what expired is gone in silence.
#[test]
fn what_expires_in_silence_is_a_loss() {
    let reports = reports(DefectSet::NONE.with(Defect::KnownReasonDropped));
    let is_loss = |report: &&RunReport| match &report.outcome {
        Outcome::Violated(violation) => matches!(violation.code, Code::C2 | Code::R1 | Code::C5),
        _ => false,
    };
    assert!(reports.iter().filter(is_loss).count() >= 5);
    assert!(!reports.iter().any(|report| is_lost_for_a_known_reason(&report.outcome)), "nobody was told");
}

#[test]
fn the_promise_says_so() {
    let level = |timeout_ns| expiring(0, timeout_ns).promise().level(Code::S3);
    assert!(matches!(level(NANOS_PER_MILLI), Level::Weaker(why) if why.contains("longer than its time-out")));
    assert_eq!(level(LogSinkConfig::DEFAULT.transaction_timeout_ns), Level::Full);
}

#[test]
fn a_log_sink_is_read_from_toml_and_checked() {
    let scenario = expiring(0, 5_000_000);
    assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario.clone()));
    let mut wrong = scenario;
    wrong.job.sink = SinkKind::Log(LogSinkConfig { partitions: 0, ..LogSinkConfig::DEFAULT });
    let error = Scenario::from_toml(&wrong.to_toml()).unwrap_err();
    let ScenarioError::Value { place, message, .. } = error else { panic!("{error}") };
    assert_eq!(
        (place.as_str(), message.as_str()),
        ("job.sink.log", "partitions and transaction_timeout_ns are at least 1")
    );
}
