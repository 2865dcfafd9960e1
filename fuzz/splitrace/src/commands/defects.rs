//! `splitrace defects`: the registry as a table.

use crate::invocation::program;
use crate::report::Report;
use splitrace_runtime::defects::REGISTRY;
use std::fmt::Write;

/// Lists the registry.
pub(super) fn execute() -> Report {
    let id_width = REGISTRY.iter().map(|entry| entry.id.len()).max().unwrap_or_default();
    let code_width = REGISTRY.iter().map(|entry| entry.invariants.join(",").len()).max().unwrap_or_default();
    let mut text = String::new();
    for entry in REGISTRY {
        let kind = format!("{:?}", entry.kind).to_lowercase();
        let codes = entry.invariants.join(",");
        let (id, sentence, reference) = (entry.id, entry.sentence, entry.reference);
        writeln!(text, "{id:<id_width$}  {codes:<code_width$}  {kind:<10}  {sentence} [{reference}]")
            .expect("a string takes all");
    }
    text.push_str(&format!("\nswitch one on: {} campaign --defect ID\n", program()));
    text.push_str("it counts as found only by one of the invariants that its line names\n");
    Report::new(text, &REGISTRY, true)
}
