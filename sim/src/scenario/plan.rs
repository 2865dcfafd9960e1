//! Checking the plan of a scenario against the rest of it.

use super::{NetworkSemantics, Scenario, ScenarioError};
use crate::points::{Action, PLAN_STEPS_MAX};
use splitrace_runtime::ids::ProcessId;

impl Scenario {
    pub(super) fn validate_plan(&self) -> Result<(), ScenarioError> {
        let wrong = |message: &str| Err(ScenarioError::value("plan", message));
        if self.plan.is_empty() {
            return Ok(());
        }
        if self.plan.len() > PLAN_STEPS_MAX {
            return wrong(&format!("a plan has at most {PLAN_STEPS_MAX} steps"));
        }
        if self.faults.heal_after_ns == 0 {
            return Err(ScenarioError::value(
                "faults.heal_after_ns",
                "it is above 0 where there is a plan: nothing breaks from healing on",
            ));
        }
        for step in &self.plan {
            let processes = match step.action {
                Action::CrashTaskManager { target: Some(number) } => {
                    [Some(ProcessId::TaskManager(number)), None]
                }
                Action::Cut { from, to, .. } => [Some(from), Some(to)],
                _ => [None, None],
            };
            for process in processes.into_iter().flatten() {
                if matches!(process, ProcessId::TaskManager(number) if number >= self.job.task_managers) {
                    return wrong(&format!(
                        "'{step}' names {process}, but the job has {}",
                        self.job.task_managers
                    ));
                }
            }
            if step.action == Action::Double
                && self.network.semantics != NetworkSemantics::UnorderedDuplicating
            {
                return wrong(&format!("'{step}' asks for what a network that duplicates nothing cannot do"));
            }
            if step.action.holds_up_ns() > self.faults.heal_after_ns {
                return wrong(&format!("'{step}' would hold something up beyond faults.heal_after_ns"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{DemoMode, DemoOptions};

    fn with(step: &str) -> Scenario {
        let mut scenario = Scenario::demo(DemoMode::Normal, DemoOptions::default());
        scenario.faults.heal_after_ns = 1_000_000_000;
        scenario.plan = vec![step.parse().expect("a step")];
        scenario
    }

    #[test]
    fn a_plan_is_written_and_read() {
        let scenario = with("after(checkpoint-complete checkpoint=2).before(commit) do fail-task");
        scenario.validate().expect("it fits the demo");
        assert_eq!(Scenario::from_toml(&scenario.to_toml()).expect("its own text"), scenario);
    }

    #[test]
    fn a_plan_that_does_not_fit_its_scenario_is_refused() {
        for (step, part) in [
            ("after(barrier) do crash-task-manager 9", "names task-manager-9"),
            ("after(barrier) do cut task-manager-9 store 5ms", "names task-manager-9"),
            ("after(barrier) do pause 2s", "beyond faults.heal_after_ns"),
        ] {
            let error = with(step).validate().expect_err(step).to_string();
            assert!(error.contains(part), "{step}: {error}");
        }
        let mut healed = with("after(barrier) do fail-task");
        healed.faults.heal_after_ns = 0;
        assert!(healed.validate().expect_err("no time to break").to_string().contains("above 0"));
        let mut many = with("after(barrier) do fail-task");
        many.plan = vec![many.plan[0].clone(); PLAN_STEPS_MAX + 1];
        assert!(many.validate().expect_err("too many").to_string().contains("at most 16"));
        let mut single = with("before(send-deploy) do double");
        single.network.semantics = NetworkSemantics::Unordered;
        assert!(single.validate().expect_err("no duplicates").to_string().contains("duplicates nothing"));
    }
}
