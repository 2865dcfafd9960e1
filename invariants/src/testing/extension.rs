//! Random linear extensions of sequence and cause.

use splitrace_runtime::event::Event;
use splitrace_runtime::ids::ProcessId;
use std::collections::BTreeMap;

/// One order of `events` that sequence and cause allow, drawn from `seed`.
///
/// # Panics
/// When the events have no such order: then their headers are wrong.
#[must_use]
pub fn linear_extension(events: &[Event], seed: u64) -> Vec<Event> {
    let mut queues: BTreeMap<ProcessId, Vec<&Event>> = BTreeMap::new();
    for event in events {
        queues.entry(event.header.process).or_default().push(event);
    }
    let processes: Vec<_> = queues.keys().copied().collect();
    let mut done: BTreeMap<ProcessId, usize> = processes.iter().map(|process| (*process, 0)).collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut extension = Vec::with_capacity(events.len());
    while extension.len() < events.len() {
        let ready: Vec<_> = processes
            .iter()
            .filter_map(|process| queues[process].get(done[process]))
            .filter(|event| {
                let caused = |process: ProcessId, sequence: u64| {
                    done.get(&process).copied().unwrap_or(0) as u64 >= sequence
                };
                event.header.causes.iter().all(|cause| caused(cause.process, cause.sequence))
            })
            .collect();
        assert!(!ready.is_empty(), "sequence and cause of these events form a circle");
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let next = ready[(state % ready.len() as u64) as usize];
        *done.entry(next.header.process).or_default() += 1;
        extension.push((*next).clone());
    }
    debug_assert_eq!(extension.len(), events.len());
    extension
}
