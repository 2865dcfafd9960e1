//! `splitrace demo`: the experiment of Flink's demo job, told as its log tells it.

use super::RunResult;
use crate::arguments::DemoArguments;
use crate::engine::{self, DemoOptions, Scenario};
use crate::error::CommandError;
use crate::report::Report;
use crate::story::{Story, named};
use crate::timeline::{Row, Weight};
use serde::Serialize;
use splitrace_runtime::config::FailureMoment;
use std::fmt::Write;

/// The JSON of a demo.
#[derive(Serialize)]
struct DemoResult {
    mode: &'static str,
    run: RunResult,
    time_line: Vec<String>,
    re_read: String,
    committed_again: String,
}

/// Runs the demo.
pub(super) fn execute(arguments: &DemoArguments) -> Result<Report, CommandError> {
    let scenario = scenario(arguments)?;
    let (report, mut story) = engine::tell_to_the_end(&scenario, arguments.seed);
    let result = RunResult::of(Some(arguments.seed), &report, false);
    story.say(report.virtual_time_ns, result.records.line());
    let mut time_line: Vec<String> =
        story.rows().iter().filter(|row| is_shown(row)).map(ToString::to_string).collect();
    if let Some(files) = story.files().filter(|_| arguments.mode.writes_files()) {
        time_line = files.text(arguments.mode.id()).lines().map(str::to_owned).collect();
    }
    let mut text = time_line.join("\n");
    text.push_str("\n\n");
    tell_reads(&mut text, &story, &result);
    let twice = story.visible().again();
    if !twice.is_empty() {
        writeln!(text, "committed more than once: {}", named(twice)).expect("a string takes all");
    }
    if !result.verdict.clean {
        writeln!(text, "!!! {}", result.verdict.line()).expect("a string takes all");
        for violation in report.violations.iter().skip(1) {
            writeln!(text, "!!! and {violation}").expect("a string takes all");
        }
    } else if result.verdict.outcome != "passed" {
        writeln!(text, "{}, as this mode promises no more: {}", result.verdict.line(), result.promise)
            .expect("a string takes all");
    }
    if !arguments.mode.writes_files() {
        writeln!(text, "{}", result.records.line()).expect("a string takes all");
    }
    let clean = result.verdict.clean;
    let json = DemoResult {
        mode: arguments.mode.id(),
        run: result,
        time_line,
        re_read: named(story.reads().again()),
        committed_again: named(story.visible().again()),
    };
    Ok(Report::new(text, &json, clean))
}

/// The demo's own time line has no rows of gateways and store, and no row per record.
fn is_shown(row: &Row) -> bool {
    row.label.is_in_demo() && row.weight > Weight::Detail
}

fn tell_reads(text: &mut String, story: &Story, result: &RunResult) {
    let (read, re_read) = (result.records.read, result.records.re_read);
    write!(text, "records read={read} re-read={re_read}").expect("a string takes all");
    let again = story.reads().again();
    if !again.is_empty() {
        let committed = match (result.records.duplicates, result.records.missing) {
            (0, 0) => ", read twice, committed once",
            _ => ", read twice",
        };
        write!(text, ": {}{committed}", named(again)).expect("a string takes all");
    }
    text.push('\n');
}

fn scenario(arguments: &DemoArguments) -> Result<Scenario, CommandError> {
    let mut options = DemoOptions::of(arguments.mode);
    arguments.settings.iter().for_each(|setting| setting.apply(&mut options));
    if let Some(moment) = arguments.at {
        options.moment = moment.into();
    }
    options.fail_at_record = arguments.fail_at.or(options.fail_at_record);
    let scenario = Scenario::demo(arguments.mode, options);
    let scenario = engine::in_profile(scenario, &arguments.switches);
    scenario.validate().map_err(|error| CommandError::BadSettings(error.to_string()))?;
    let moved = options.fail_at_record.map(|_| "--fail-at");
    let option = arguments.at.map(|_| "--at").or(moved);
    let vertex = &scenario.job.vertices[0];
    let records = u64::from(vertex.source.split_count) * vertex.source.records_per_split;
    match (option, vertex.task.user_failure) {
        (Some(option), None) => Err(CommandError::NoFailureToMove { option, mode: arguments.mode.id() }),
        (Some("--at"), Some(failure))
            if failure.moment == FailureMoment::Snapshot && scenario.job.checkpointing.is_none() =>
        {
            Err(CommandError::BadSettings(format!(
                "--at snapshot never comes: {} takes no checkpoints; read, write, prepared and committing do",
                arguments.mode.id()
            )))
        }
        (Some(_), Some(failure)) if failure.record >= records => Err(CommandError::BadSettings(format!(
            "--fail-at {} lies behind the last record, {}",
            failure.record,
            records.saturating_sub(1)
        ))),
        _ => Ok(scenario),
    }
}
