//! `job`: runs a real job, or checks one.

use super::interrupts::Interrupts;
use crate::arguments::JobCommand;
use crate::error::CommandError;
use crate::job::{self, Ending, Job, JobEnd, Stopper};
use crate::report::Report;
use serde_json::json;

pub(super) fn execute(command: &JobCommand) -> Result<Report, CommandError> {
    match command {
        JobCommand::Run(arguments) => {
            let job = Job::read(&arguments.file)?;
            Ok(report(&job, &job::run(&job, listen)?))
        }
        JobCommand::Check(arguments) => {
            let job = Job::read(&arguments.file)?;
            job::check(&job)?;
            let text = format!("'{}' is a valid job\n", arguments.file.display());
            Ok(Report::new(text, &json!({ "valid": true }), true))
        }
    }
}

/// The first Ctrl-C stops the job, the second ends the process.
fn listen(stopper: Stopper) -> Result<(), CommandError> {
    Interrupts::listen(2, move || stopper.stop()).map(drop)
}

fn report(job: &Job, end: &JobEnd) -> Report {
    let JobEnd { ending, tally, elapsed } = end;
    let output = &job.sink;
    let (name, sentence) = match ending {
        Ending::Finished => ("finished", format!("finished: all input is in {output}")),
        Ending::FinishedBefore => {
            ("finished", format!("finished before, nothing to do: all input that there was is in {output}"))
        }
        Ending::Stopped => {
            ("stopped", "stopped with a last checkpoint: the same command goes on from it".to_owned())
        }
        Ending::Failed(cause) => (
            "failed",
            format!("the job failed: {cause}\nthe same command tries again from the last checkpoint"),
        ),
    };
    let millis = elapsed.as_millis();
    let text = format!(
        "{sentence}\n{} records and {} bytes read in this run, {} checkpoints, {} task failures, {}.{:03} s\n",
        tally.records,
        tally.bytes,
        tally.checkpoints,
        tally.failures,
        millis / 1_000,
        millis % 1_000
    );
    let cause = match ending {
        Ending::Failed(cause) => Some(cause),
        _ => None,
    };
    let did_nothing = *ending == Ending::FinishedBefore;
    let json = json!({
        "ending": name, "cause": cause, "did_nothing": did_nothing, "this_run": tally, "milliseconds": millis as u64,
    });
    Report::new(text, &json, cause.is_none())
}
