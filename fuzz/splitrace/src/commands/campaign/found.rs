//! Whether a campaign found the defects that were switched on.

use crate::campaign::{FailureShape, Summary};
use serde::Serialize;
use splitrace_runtime::defects::{Defect, DefectSet};

/// Whether a defect was found, in JSON.
#[derive(Debug, Serialize)]
pub(super) struct DefectResult {
    pub(super) id: &'static str,
    pub(super) found: bool,
    pub(super) by: Vec<String>,
    pub(super) seeds: u64,
    pub(super) first_seed: Option<u64>,
}

/// Each of the defects, in the registry's order. One counts as found only by an invariant that its entry names, and where
/// several are on, only by a failure that needs it.
pub(super) fn found(defects: DefectSet, summary: &Summary) -> Vec<DefectResult> {
    let is_alone = defects.iter().count() == 1;
    defects.iter().map(|defect| of(defect, is_alone, summary)).collect()
}

fn of(defect: Defect, is_alone: bool, summary: &Summary) -> DefectResult {
    let entry = defect.entry();
    let names =
        |shape: &FailureShape| shape.code.as_deref().is_some_and(|code| entry.invariants.contains(&code));
    let counts = |shape: &FailureShape| names(shape) && (is_alone || shape.needs.contains(&entry.id));
    let by: Vec<_> = summary.failures.iter().filter(|(shape, _)| counts(shape)).collect();
    let mut codes: Vec<String> = by.iter().map(|(shape, _)| shape.name()).collect();
    codes.sort();
    codes.dedup();
    DefectResult {
        id: entry.id,
        found: !by.is_empty(),
        by: codes,
        seeds: by.iter().map(|(_, failure)| failure.count).sum(),
        first_seed: by.iter().map(|(_, failure)| failure.seeds[0]).min(),
    }
}
