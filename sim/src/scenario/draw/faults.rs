//! What breaks in a drawn scenario: each axis is on or off, and weighted, by properties of its own.

use super::{Drawer, Property};
use crate::choices::Choices;
use crate::scenario::{FaultConfig, LinkFaults, NetworkConfig, Odds, ProcessFaults};
use splitrace_runtime::config::{JobConfig, NANOS_PER_MILLI};
use splitrace_runtime::event::Window;

/// Every window, and those more than once that open least often.
const FAVOURED_WINDOWS: [Window; 26] = [
    Window::MarkToClose,
    Window::CloseToBarrier,
    Window::BarrierToAcknowledge,
    Window::LastAcknowledgeToAdd,
    Window::AddToNotice,
    Window::NoticeToCommit,
    Window::CommitEffectToReply,
    Window::PrepareToSnapshot,
    Window::FailureToReset,
    Window::ResetToRegistration,
    Window::RegistrationToAssignment,
    Window::EndOfInputToResult,
    Window::SplitEndToFinish,
    Window::LastAcknowledgeToAdd,
    Window::AddToNotice,
    Window::NoticeToCommit,
    Window::CommitEffectToReply,
    Window::PrepareToSnapshot,
    Window::AddToNotice,
    Window::LastAcknowledgeToAdd,
    Window::CommitEffectToReply,
    Window::EndOfInputToResult,
    Window::AddToNotice,
    Window::ResetToRegistration,
    Window::NoticeToCommit,
    Window::NoticeToCommit,
];

/// What may break. Planned faults come before `plan_until_ns`.
pub(super) fn draw_faults<C: Choices>(drawer: &mut Drawer<C>, plan_until_ns: u64) -> FaultConfig {
    let odds = |on: bool, denominator: u32| if on { Odds::one_in(denominator) } else { Odds::NEVER };
    let frame = drawer.percent(Property::FrameFaults, 60);
    let frame_denominator = [200, 60, 20, 8][drawer.below(Property::FrameOdds, 4) as usize];
    let outside_denominator = [15, 8, 4, 2][drawer.below(Property::OutsideOdds, 4) as usize];
    FaultConfig {
        heal_after_ns: plan_until_ns + drawer.within(Property::Heal, 100, 700) * NANOS_PER_MILLI,
        plan_until_ns,
        task_failures_max: drawer.within(Property::TaskFailures, 2, 5) as u32,
        task_manager_crashes_max: drawer.below(Property::TaskManagerCrashes, 3) as u32,
        job_manager_crashes_max: u32::from(drawer.percent(Property::JobManagerCrashes, 55)) * 2,
        partitions_max: u32::from(drawer.percent(Property::Partitions, 45)) * 3,
        store_crashes_max: u32::from(drawer.percent(Property::StoreCrashes, 30)) * 2,
        down_time_max_ns: 150 * NANOS_PER_MILLI,
        partition_max_ns: 500 * NANOS_PER_MILLI,
        frame: odds(frame, frame_denominator),
        spike_max_ns: 120 * NANOS_PER_MILLI,
        pause: odds(drawer.percent(Property::Pauses, 50), 200),
        pause_max_ns: 40 * NANOS_PER_MILLI,
        outside: odds(drawer.percent(Property::Outside, 50), outside_denominator),
        store_out_after_ns: None,
        window: odds(drawer.percent(Property::Windows, 95), 24),
        window_favoured: Some(draw_favoured_window(drawer)),
        second: odds(drawer.percent(Property::Second, 60), 3),
        zombie: odds(drawer.percent(Property::Zombies, 50), 2),
        zombie_max_ns: 200 * NANOS_PER_MILLI,
        batch_size_max: [1, 1, 3, 8][drawer.below(Property::Batch, 4) as usize],
        clock_skew_max_ns: draw_clock_skew_max_ns(drawer),
        links: draw_link_faults(drawer),
        processes: draw_process_faults(drawer),
    }
}

/// Clocks that are off by less than a failover takes, or by more.
fn draw_clock_skew_max_ns<C: Choices>(drawer: &mut Drawer<C>) -> u64 {
    let longest_ns = [500, 5_000][drawer.below(Property::SkewLength, 2) as usize] * NANOS_PER_MILLI;
    if drawer.percent(Property::Skew, 30) { longest_ns } else { 0 }
}

fn draw_favoured_window<C: Choices>(drawer: &mut Drawer<C>) -> Window {
    FAVOURED_WINDOWS[drawer.below(Property::FavouredWindow, FAVOURED_WINDOWS.len() as u64) as usize]
}

/// Links that hold back for longer than a heartbeat time-out, and links that are always slow.
fn draw_link_faults<C: Choices>(drawer: &mut Drawer<C>) -> LinkFaults {
    let slow = drawer.percent(Property::SlowLinks, 15);
    LinkFaults {
        clogs_max: u32::from(drawer.percent(Property::Clogs, 35)) * 2,
        swizzles_max: u32::from(drawer.percent(Property::Swizzles, 12)),
        clog_max_ns: 500 * NANOS_PER_MILLI,
        slow: if slow { Odds::one_in(3) } else { Odds::NEVER },
        slow_max_ns: 30 * NANOS_PER_MILLI,
    }
}

/// A stop is half the time longer than the heartbeat time-out, which makes a zombie of a task manager.
fn draw_process_faults<C: Choices>(drawer: &mut Drawer<C>) -> ProcessFaults {
    let slow_close = drawer.percent(Property::SlowClose, 25);
    let steps = drawer.percent(Property::ClockSteps, 15);
    let drifts = drawer.percent(Property::ClockDrift, 10);
    ProcessFaults {
        stops_max: u32::from(drawer.percent(Property::ProcessStops, 25)),
        stop_max_ns: 600 * NANOS_PER_MILLI,
        clock_steps_max: if steps { 2 } else { 0 },
        clock_step_max_ns: if steps { 500 * NANOS_PER_MILLI } else { 0 },
        clock_drift_max_ppm: if drifts { 50_000 } else { 0 },
        slow_close: if slow_close { Odds::one_in(3) } else { Odds::NEVER },
        slow_close_max_ns: 200 * NANOS_PER_MILLI,
    }
}

/// About how long the job takes when nothing fails: planned faults come inside this time, so that they hit something.
pub(super) fn expected_duration_ns(job: &JobConfig, network: &NetworkConfig) -> u64 {
    let longest_ns = job
        .vertices
        .iter()
        .map(|vertex| {
            let records = u64::from(vertex.source.split_count) * vertex.source.records_per_split;
            let discovery = vertex.source.discovery;
            let known_ns = discovery.map_or(0, |held| held.duration_ns(vertex.source.split_count));
            known_ns + records.div_ceil(u64::from(vertex.parallelism)) * vertex.task.record_interval_ns
        })
        .max();
    longest_ns.unwrap_or(0) + 8 * network.latency_jitter_ns + 20 * NANOS_PER_MILLI
}
