//! Scenarios as TOML files, checked when they are read.

use super::Scenario;
use super::input::validate_input;
use super::legality::Illegality;
use super::place::line_of;
use splitrace_runtime::config::{EdgeKind, EventTime, ReaderKind, SinkKind, StartPosition, VertexConfig};
use splitrace_runtime::ids::OperatorUid;
use std::collections::BTreeSet;
use thiserror::Error;

/// What is wrong with a scenario.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ScenarioError {
    /// It is no TOML, or not of this shape.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// A value makes no sense.
    #[error("{}{place}: {message}", in_line(*line))]
    Value {
        /// From 1, where the scenario comes from a file.
        line: Option<usize>,
        /// The key.
        place: String,
        /// What would be right.
        message: String,
    },
    /// No protocol could keep what the scenario promises.
    #[error("{}{}: no protocol could survive this: {why}", in_line(*line), why.place())]
    Unsurvivable {
        /// From 1, where the scenario comes from a file.
        line: Option<usize>,
        /// Why.
        why: Illegality,
    },
}

fn in_line(line: Option<usize>) -> String {
    line.map(|line| format!("line {line}, ")).unwrap_or_default()
}

impl ScenarioError {
    pub(super) fn value(place: &str, message: &str) -> Self {
        Self::Value { line: None, place: place.to_owned(), message: message.to_owned() }
    }

    /// The same, with the vertex that it is about.
    fn of_vertex(mut self, index: usize) -> Self {
        if let Self::Value { place, .. } = &mut self {
            *place = place.replacen("job.vertices.", &format!("job.vertices[{index}]."), 1);
        }
        self
    }

    /// The same, with the line of the value in its file.
    fn in_file(mut self, text: &str) -> Self {
        match &mut self {
            Self::Value { line, place, .. } => *line = line_of(text, place),
            Self::Unsurvivable { line, why } => *line = line_of(text, why.place()),
            Self::Syntax { .. } => {}
        }
        self
    }
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column or its key.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text[..offset];
            ScenarioError::Syntax {
                line: before.matches('\n').count() + 1,
                column: before.chars().rev().take_while(|character| *character != '\n').count() + 1,
                message: error.message().to_owned(),
            }
        })?;
        scenario.validate().map_err(|error| error.in_file(text))?;
        Ok(scenario)
    }

    /// Writes it.
    ///
    /// # Panics
    /// Never for a scenario that [`Self::validate`] accepts.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a valid scenario has only tables, integers, strings and flags")
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let wrong = |place: &str, message: &str| Err(ScenarioError::value(place, message));
        check_bounds("", &serde_json::to_value(self).expect("a scenario has only plain data"))?;
        let job = &self.job;
        if job.vertices.is_empty() || job.vertices.len() > 4 {
            return wrong("job.vertices", "a job has one to four of them");
        }
        let mut operators = BTreeSet::<OperatorUid>::new();
        for (index, vertex) in job.vertices.iter().enumerate() {
            let coordinated = vertex.coordinated.map(|coordinated| coordinated.operator);
            for operator in [Some(vertex.operator), coordinated].into_iter().flatten() {
                if !operators.insert(operator) {
                    return Err(ScenarioError::value(
                        "job.vertices.operator",
                        "every operator uid is used once",
                    )
                    .of_vertex(index));
                }
            }
            validate_vertex(vertex).map_err(|error| error.of_vertex(index))?;
        }
        if !(1..=64).contains(&job.task_managers) {
            return wrong("job.task_managers", "it lies between 1 and 64");
        }
        let widest = self.widest();
        if let Some(slots) = job.slots_per_task_manager
            && u64::from(slots) * u64::from(job.task_managers) < u64::from(widest)
        {
            let message =
                format!("{} task managers have too few slots for {widest} subtasks", job.task_managers);
            return wrong("job.slots_per_task_manager", &message);
        }
        if job.heartbeat.interval_ns == 0 || job.heartbeat.timeout_ns <= job.heartbeat.interval_ns {
            return wrong("job.heartbeat", "the timeout is longer than the interval, and neither is 0");
        }
        if !job.restart.is_valid() {
            let message = "delays, limits and intervals are at least 1, the longest delay is not below the first, and \
                           multiplier_percent is above 100";
            return wrong("job.restart", message);
        }
        if let Some(checkpointing) = job.checkpointing
            && (checkpointing.interval_ns == 0
                || checkpointing.timeout_ns == 0
                || checkpointing.concurrent_max == 0
                || checkpointing.retained_max == 0
                || checkpointing.blocked_events_max == Some(0))
        {
            let message =
                "interval, timeout, concurrent_max, retained_max and blocked_events_max are at least 1";
            return wrong("job.checkpointing", message);
        }
        if job.checkpointing.is_some_and(|held| held.concurrent_max > 1) && job.has_unaligned_exchange() {
            return wrong("job.checkpointing.concurrent_max", "it is 1 where barriers overtake buffers");
        }
        let least_ns = self.network.trip_ns().saturating_mul(CHECKPOINT_TRIPS);
        if let Some(checkpointing) = job.checkpointing.filter(|held| held.timeout_ns < least_ns) {
            let message = format!(
                "{} ns, but the messages of a checkpoint alone may take {least_ns} ns, so that none would complete",
                checkpointing.timeout_ns
            );
            return wrong("job.checkpointing.timeout_ns", &message);
        }
        self.validate_parts()?;
        self.check_legality().map_err(|why| ScenarioError::Unsurvivable { line: None, why })
    }

    fn validate_parts(&self) -> Result<(), ScenarioError> {
        self.validate_sink()?;
        self.validate_calls()?;
        self.validate_resubmission()?;
        self.validate_starts()?;
        self.validate_surroundings()?;
        self.validate_plan()
    }

    fn validate_sink(&self) -> Result<(), ScenarioError> {
        match self.job.sink {
            SinkKind::Files(files) if !files.is_valid() => Err(ScenarioError::value(
                "job.sink.files",
                "bucket_check_interval_ms and buckets are at least 1, and a bulk format or an object store rolls on \
                 checkpoints; \
                 compaction.every_checkpoints is at least 1, and files of a bulk format are not compacted",
            )),
            SinkKind::Log(log) if !log.is_valid() => Err(ScenarioError::value(
                "job.sink.log",
                "partitions and transaction_timeout_ns are at least 1",
            )),
            _ => Ok(()),
        }
    }

    /// A call to an outside system must be able to come back before whoever made it gives it up.
    fn validate_calls(&self) -> Result<(), ScenarioError> {
        let call_ns = self.network.trip_ns().saturating_mul(2).saturating_add(self.network.service_jitter_ns);
        let timeout_ns = self.job.high_availability_timeout_ns;
        if call_ns > timeout_ns {
            let message = format!(
                "a call there and back may take {call_ns} ns, and a job master gives one up after {timeout_ns} ns: \
                 nobody would lead the job"
            );
            return Err(ScenarioError::value("network", &message));
        }
        let gives_up = |vertex: &VertexConfig| vertex.task.store_timeout_ns < call_ns;
        if let Some(index) = self.job.vertices.iter().position(gives_up) {
            let message = format!("a call to the store may take {call_ns} ns: nothing would be committed");
            return Err(ScenarioError::value("job.vertices.task.store_timeout_ns", &message).of_vertex(index));
        }
        Ok(())
    }

    /// Before the first checkpoint a restart begins a topic at what is latest then: nobody can say what was owed.
    fn validate_starts(&self) -> Result<(), ScenarioError> {
        let starts_latest =
            |vertex: &VertexConfig| vertex.log.is_some_and(|log| log.start == StartPosition::Latest);
        match self.job.vertices.iter().position(starts_latest) {
            Some(index) if self.promise().input.failover_possible => Err(ScenarioError::value(
                "job.vertices.log.start",
                "a topic is begun at its latest record only where nothing can fail",
            )
            .of_vertex(index)),
            _ => Ok(()),
        }
    }

    fn validate_resubmission(&self) -> Result<(), ScenarioError> {
        let wrong = |message: &str| Err(ScenarioError::value("resubmission", message));
        let Some(resubmission) = self.resubmission else { return Ok(()) };
        if self.job.checkpointing.is_none() {
            return wrong("it restores a checkpoint, so the job needs checkpoints");
        }
        if resubmission.after_checkpoints == 0 || !(1..=64).contains(&resubmission.parallelism) {
            return wrong("after_checkpoints is at least 1, and parallelism lies between 1 and 64");
        }
        if resubmission.older_by > 0 && matches!(self.job.sink, SinkKind::Files(_)) {
            return wrong(
                "older_by is 0 where the sink writes files: one that was open in an older checkpoint has been renamed since, \
                 and cannot be gone on with",
            );
        }
        let dealt = self.job.vertices.iter().filter(|vertex| vertex.parallelism != resubmission.parallelism);
        if dealt.into_iter().any(|vertex| vertex.coordinated.is_some()) {
            return wrong(
                "the state of a coordinated operator that is no source cannot be dealt to other subtasks",
            );
        }
        let changes = |vertex: &&VertexConfig| {
            let committers = vertex.topology.committers.filter(|committers| !committers.global);
            let committers = committers.map(|committers| committers.parallelism);
            [Some(vertex.parallelism), Some(vertex.writers()), committers]
                .into_iter()
                .flatten()
                .any(|now| now != resubmission.parallelism)
        };
        if self.job.vertices.iter().filter(changes).any(VertexConfig::has_unaligned_exchange) {
            return wrong("buffers that unaligned barriers overtook cannot be dealt to other subtasks");
        }
        Ok(())
    }

    /// The longest that anything may take by itself: a job that is silent for less than this is not stuck.
    fn slowest_ns(&self) -> u64 {
        let faults = &self.faults;
        let delays = [
            self.job.longest_delay_ns(),
            faults.down_time_max_ns,
            faults.partition_max_ns,
            faults.spike_max_ns,
            faults.pause_max_ns,
            faults.links.held_up_ns(),
            faults.processes.held_up_ns(),
            self.resubmission.map_or(0, |resubmission| resubmission.pause_ns.max(resubmission.delay_ns)),
            self.network.trip_ns(),
        ];
        delays.into_iter().max().unwrap_or(0)
    }

    fn validate_surroundings(&self) -> Result<(), ScenarioError> {
        let wrong = |place: &str, message: &str| Err(ScenarioError::value(place, message));
        let faults = &self.faults;
        for (place, odds) in [
            ("faults.frame", faults.frame),
            ("faults.pause", faults.pause),
            ("faults.outside", faults.outside),
            ("faults.window", faults.window),
            ("faults.second", faults.second),
            ("faults.zombie", faults.zombie),
            ("faults.links.slow", faults.links.slow),
            ("faults.processes.slow_close", faults.processes.slow_close),
        ] {
            if odds.denominator == 0 || odds.numerator > odds.denominator {
                return wrong(place, "a ratio numerator / denominator between 0 and 1");
            }
        }
        if faults.batch_size_max == 0 {
            return wrong("faults.batch_size_max", "it is at least 1");
        }
        let lengths = [
            faults.down_time_max_ns,
            faults.partition_max_ns,
            faults.spike_max_ns,
            faults.pause_max_ns,
            faults.zombie_max_ns,
            faults.links.clog_max_ns,
            faults.links.slow_max_ns,
            faults.processes.stop_max_ns,
            faults.processes.slow_close_max_ns,
        ];
        if lengths.contains(&0) {
            return wrong("faults", "every longest duration is at least 1 ns");
        }
        if self.network.resend_after_ns == 0 || self.network.resend_max == 0 {
            return wrong("network", "resend_after_ns and resend_max are at least 1");
        }
        if self.limits.steps_max == 0 || self.limits.virtual_time_max_ns == 0 {
            return wrong("limits", "steps_max and virtual_time_max_ns are at least 1");
        }
        let slowest_ns = self.slowest_ns();
        if self.limits.no_progress_max_ns < slowest_ns.saturating_mul(3) {
            let message =
                format!("at least three times the longest configured delay, which is {slowest_ns} ns");
            return wrong("limits.no_progress_max_ns", &message);
        }
        let bounded = self.job.vertices.iter().all(|vertex| vertex.source.bounded);
        if !bounded && self.cancel_after_ns.is_none() {
            return wrong(
                "cancel_after_ns",
                "an unbounded job never ends by itself, so it needs a time of cancellation",
            );
        }
        Ok(())
    }
}

fn validate_vertex(vertex: &VertexConfig) -> Result<(), ScenarioError> {
    let wrong = |place: &str, message: &str| Err(ScenarioError::value(place, message));
    if !(1..=64).contains(&vertex.parallelism) {
        return wrong("job.vertices.parallelism", "it lies between 1 and 64");
    }
    validate_input(vertex)?;
    if vertex.source.split_count == 0 {
        let message =
            "it is at least 1: a source without splits reads nothing, and every promise about it is empty";
        return wrong("job.vertices.source.split_count", message);
    }
    if vertex.source.split_count > 10_000 || vertex.source.records_per_split > 1 << 40 {
        return wrong("job.vertices.source", "it has at most 10,000 splits of at most 2^40 records");
    }
    if vertex.source.discovery.is_some_and(|discovery| !discovery.is_valid()) {
        let message = "period_ns and splits_per_look are at least 1, and failing_of is 0 or at least 2";
        return wrong("job.vertices.source.discovery", message);
    }
    if vertex.operator.0 >= OperatorUid::CONFIGURABLE_END {
        let message = format!(
            "it is below {}: larger ones name what is behind exchanges",
            OperatorUid::CONFIGURABLE_END
        );
        return wrong("job.vertices.operator", &message);
    }
    if let Some(exchange) = vertex.exchange {
        if !(1..=64).contains(&exchange.parallelism) || !(1..=1_000).contains(&exchange.credit) {
            let message = "parallelism lies between 1 and 64, and credit between 1 and 1000";
            return wrong("job.vertices.exchange", message);
        }
        if exchange.edge == EdgeKind::Forward && exchange.parallelism != vertex.parallelism {
            let message = "a forward edge connects as many subtasks as there are readers";
            return wrong("job.vertices.exchange.parallelism", message);
        }
    }
    if vertex.topology.committers.is_some_and(|committers| !committers.is_valid()) {
        let message =
            "parallelism lies between 1 and 64 and is 1 for a global one, and credit lies between 1 and 1000";
        return wrong("job.vertices.topology.committers", message);
    }
    if vertex.task.write_buffer_records == 0 {
        return wrong("job.vertices.task.write_buffer_records", "it is at least 1");
    }
    if let ReaderKind::Fetchers(fetchers) = vertex.task.reader
        && !(1..=1_000).contains(&fetchers.queue_capacity)
    {
        return wrong("job.vertices.task.reader.fetchers.queue_capacity", "it lies between 1 and 1000");
    }
    if let Some(alignment) = vertex.task.alignment
        && (alignment.period_ns == 0 || alignment.max_drift_ms > EVENT_TIME_MAX_MS)
    {
        let message = format!("period_ns is at least 1, and max_drift_ms at most {EVENT_TIME_MAX_MS}");
        return wrong("job.vertices.task.alignment", &message);
    }
    let EventTime { step_ms, split_skew_ms } = vertex.task.event_time;
    if step_ms > EVENT_TIME_MAX_MS || split_skew_ms.unsigned_abs() > EVENT_TIME_MAX_MS {
        let message = format!("a step and a skew are at most {EVENT_TIME_MAX_MS} ms");
        return wrong("job.vertices.task.event_time", &message);
    }
    if !vertex.source.bounded && vertex.task.record_interval_ns == 0 {
        let message = "an unbounded source needs time between two records, at least 1 ns";
        return wrong("job.vertices.task.record_interval_ns", message);
    }
    Ok(())
}

/// So many messages one after the other a checkpoint may take: the counter's raise, the coordinator's snapshot, the
/// trigger, the writer's requests to the store, the acknowledgement and the add, each with its answer.
const CHECKPOINT_TRIPS: u64 = 10;
/// No duration is longer than about 104 days: sums of a few of them stay far from overflow.
const NANOS_MAX: u64 = 1 << 53;
/// No event time is further off than about 300,000 years.
const EVENT_TIME_MAX_MS: u64 = 1 << 53;
/// No fault is planned more often than this.
const FAULTS_MAX: u64 = 100_000;
/// Nothing is repeated more often than this.
const REPEATS_MAX: u64 = 10_000;
/// Jobs and lineages are counted on from here when a job is submitted again.
const NAMES_MAX: u64 = 1 << 31;
/// No user goes back by more checkpoints.
const CHECKPOINTS_BACK_MAX: u64 = 1_000;
/// No run takes more world steps: minutes of real time.
const STEPS_MAX: u64 = 100_000_000;

/// Checks every number whose key says what it counts, wherever it stands.
fn check_bounds(place: &str, value: &serde_json::Value) -> Result<(), ScenarioError> {
    match value {
        serde_json::Value::Object(table) => table.iter().try_for_each(|(key, value)| {
            let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            check_bounds(&place, value)
        }),
        serde_json::Value::Array(values) => values
            .iter()
            .enumerate()
            .try_for_each(|(index, value)| check_bounds(&format!("{place}[{index}]"), value)),
        serde_json::Value::Number(number) => {
            let most = match place {
                place if place.ends_with("_ns") => NANOS_MAX,
                "limits.steps_max" => STEPS_MAX,
                place if place.starts_with("faults.") && place.ends_with("_max") => FAULTS_MAX,
                place if place.ends_with("retries_max") || place == "network.resend_max" => REPEATS_MAX,
                "job.job" | "job.lineage" => NAMES_MAX,
                "resubmission.older_by" => CHECKPOINTS_BACK_MAX,
                _ => return Ok(()),
            };
            match number.as_u64() {
                Some(number) if number <= most => Ok(()),
                _ => Err(ScenarioError::value(place, &format!("at most {most}"))),
            }
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Ending, Resubmission};
    use splitrace_runtime::config::RestartConfig;

    fn restart(delay_ns: u64) -> RestartConfig {
        RestartConfig::FixedDelay { delay_ns, attempts_max: 9 }
    }

    fn refused(change: impl FnOnce(&mut Scenario)) -> String {
        let mut scenario = Scenario::draw(7);
        change(&mut scenario);
        scenario.validate().map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
    }

    #[test]
    fn drawn_scenarios_are_valid_and_survive_their_file() {
        for seed in 0..200 {
            let scenario = Scenario::draw(seed);
            assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario), "seed {seed}");
        }
    }

    #[test]
    fn numbers_beyond_all_reason_are_refused_by_their_key() {
        assert!(
            refused(|scenario| scenario.faults.plan_until_ns = u64::MAX)
                .starts_with("faults.plan_until_ns: at most")
        );
        assert!(
            refused(|scenario| scenario.job.restart = restart(NANOS_MAX + 1))
                .starts_with("job.restart.fixed-delay.delay_ns")
        );
        assert!(
            refused(|scenario| scenario.faults.task_failures_max = u32::MAX)
                .starts_with("faults.task_failures_max")
        );
        assert!(refused(|scenario| scenario.limits.steps_max = u64::MAX).starts_with("limits.steps_max"));
    }

    #[test]
    fn a_checkpoint_has_the_time_that_its_messages_take() {
        let said = refused(|scenario| {
            scenario.job.checkpointing.as_mut().expect("drawn with checkpoints").timeout_ns = 1;
        });
        assert!(said.starts_with("job.checkpointing.timeout_ns: 1 ns, but the messages"), "{said}");
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_its_line() {
        let mut scenario = Scenario::draw(7);
        scenario.job.vertices[0].source.split_count = 0;
        let text = scenario.to_toml();
        let at = text.lines().position(|line| line == "split_count = 0").expect("it stands there") + 1;
        let said = Scenario::from_toml(&text).expect_err("it has nothing to read").to_string();
        let expected = format!("line {at}, job.vertices[0].source.split_count: it is at least 1");
        assert!(said.starts_with(&expected), "{said}");
    }

    #[test]
    fn a_source_has_something_to_read() {
        let said = refused(|scenario| scenario.job.vertices[0].source.split_count = 0);
        assert!(said.starts_with("job.vertices[0].source.split_count: it is at least 1"), "{said}");
        assert_eq!(refused(|scenario| scenario.job.vertices[0].source.records_per_split = 0), "accepted");
    }

    #[test]
    fn fetchers_need_a_queue_and_a_silent_outside_counts_as_a_delay() {
        use splitrace_runtime::config::{FetcherConfig, FetcherThreading, Stall};
        let fetchers = FetcherConfig { threading: FetcherThreading::PerSplit, queue_capacity: 0 };
        let reader = ReaderKind::Fetchers(fetchers);
        let said = refused(|scenario| scenario.job.vertices[0].task.reader = reader);
        assert!(said.starts_with("job.vertices[0].task.reader.fetchers.queue_capacity"), "{said}");
        let stall = Stall { record: 0, for_ns: 20_000_000_000 };
        let said = refused(|scenario| scenario.job.vertices[0].task.stall = Some(stall));
        assert!(said.starts_with("limits.no_progress_max_ns"), "{said}");
    }

    #[test]
    fn a_worker_looks_now_and_then_and_not_always_in_vain() {
        use splitrace_runtime::config::DiscoveryConfig;
        let discovery = |period_ns, splits_per_look, failing_of| {
            refused(|scenario| {
                scenario.job.vertices[0].source.discovery = Some(DiscoveryConfig {
                    initial_delay_ns: 0,
                    period_ns,
                    look_ns: 0,
                    splits_per_look,
                    failing_of,
                    failures_tolerated: true,
                });
            })
        };
        for wrong in [discovery(Some(0), 1, 0), discovery(None, 0, 0), discovery(None, 1, 1)] {
            assert!(wrong.starts_with("job.vertices[0].source.discovery: period_ns"), "{wrong}");
        }
        assert_eq!(discovery(Some(1), 1, 2), "accepted");
    }

    #[test]
    fn an_exchange_has_credit_and_a_forward_edge_pairs() {
        use splitrace_runtime::config::ExchangeConfig;
        let exchange = |edge, parallelism, credit| {
            refused(|scenario| {
                scenario.job.vertices[0].parallelism = 2;
                scenario.job.vertices[0].exchange =
                    Some(ExchangeConfig { edge, parallelism, credit, unaligned: false });
            })
        };
        assert!(exchange(EdgeKind::Hash, 3, 0).starts_with("job.vertices[0].exchange: parallelism lies"));
        assert!(
            exchange(EdgeKind::Forward, 3, 1).starts_with("job.vertices[0].exchange.parallelism: a forward")
        );
        assert_eq!(exchange(EdgeKind::Forward, 2, 1), "accepted");
        assert_eq!(exchange(EdgeKind::Hash, 3, 1), "accepted");
    }

    #[test]
    fn committers_have_subtasks_and_credit() {
        use splitrace_runtime::config::CommittersConfig;
        let committers = |parallelism, credit, global| {
            refused(|scenario| {
                scenario.job.vertices[0].topology.committers =
                    Some(CommittersConfig { parallelism, credit, global });
            })
        };
        let wrong = [(0, 1, false), (65, 1, false), (1, 0, false), (2, 1, true)];
        for wrong in wrong.map(|(parallelism, credit, global)| committers(parallelism, credit, global)) {
            assert!(wrong.starts_with("job.vertices[0].topology.committers: parallelism lies"), "{wrong}");
        }
        assert_eq!(committers(3, 1, false), "accepted");
        assert_eq!(committers(1, 1, true), "accepted");
    }

    #[test]
    fn unaligned_exchanges_know_one_checkpoint_at_a_time_and_no_other_parallelism() {
        use splitrace_runtime::config::ExchangeConfig;
        let unaligned = |concurrent_max, resubmitted| {
            refused(|scenario| {
                let (edge, parallelism) = (EdgeKind::Rebalance, scenario.job.vertices[0].parallelism);
                scenario.job.vertices[0].exchange =
                    Some(ExchangeConfig { edge, parallelism, credit: 1, unaligned: true });
                let checkpointing = scenario.job.checkpointing.as_mut().expect("the demo has checkpoints");
                checkpointing.concurrent_max = concurrent_max;
                scenario.resubmission = Some(Resubmission {
                    after_checkpoints: 1,
                    ending: Ending::Cancel,
                    delay_ns: 0,
                    older_by: 0,
                    parallelism: parallelism + resubmitted,
                    pause_ns: 1,
                });
            })
        };
        assert!(unaligned(2, 0).starts_with("job.checkpointing.concurrent_max: it is 1 where"));
        assert!(unaligned(1, 1).starts_with("resubmission: buffers that unaligned barriers"));
        assert_eq!(unaligned(1, 0), "accepted");
    }

    #[test]
    fn a_job_fits_its_slots_also_when_it_is_submitted_again() {
        let with = |slots, again: Option<u32>| {
            refused(|scenario| {
                scenario.job.task_managers = 2;
                scenario.job.vertices.truncate(1);
                scenario.job.vertices[0].parallelism = 3;
                scenario.job.slots_per_task_manager = Some(slots);
                scenario.resubmission = again.map(|parallelism| Resubmission {
                    after_checkpoints: 1,
                    ending: Ending::Cancel,
                    delay_ns: 1,
                    older_by: 0,
                    parallelism,
                    pause_ns: 1,
                });
            })
        };
        assert!(with(1, None).starts_with("job.slots_per_task_manager: 2 task managers have too few slots"));
        assert_eq!(with(2, None), "accepted");
        assert!(with(2, Some(5)).ends_with("for 5 subtasks"), "{}", with(2, Some(5)));
    }

    #[test]
    fn what_would_overflow_or_never_come_back_is_refused() {
        let said = refused(|scenario| scenario.job.vertices[0].task.commit_retries_max = u32::MAX);
        assert!(said.starts_with("job.vertices[0].task.commit_retries_max: at most"), "{said}");
        assert!(refused(|scenario| scenario.network.resend_max = u32::MAX).starts_with("network.resend_max"));
        assert!(refused(|scenario| scenario.job.job.0 = u32::MAX).starts_with("job.job: at most"));
        let said = refused(|scenario| scenario.network.service_jitter_ns = 2_000_000_000);
        assert!(said.starts_with("network: a call there and back may take"), "{said}");
        let said = refused(|scenario| scenario.job.vertices[0].task.store_timeout_ns = 1);
        assert!(said.starts_with("job.vertices[0].task.store_timeout_ns: a call to the store"), "{said}");
    }

    #[test]
    fn silence_must_outlast_every_delay() {
        let said = refused(|scenario| scenario.job.restart = restart(scenario.limits.no_progress_max_ns));
        assert!(said.starts_with("limits.no_progress_max_ns: at least three times"), "{said}");
    }
}
