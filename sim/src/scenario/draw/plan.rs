//! Drawing plans: the random search uses named points as a test does, without knowing what it aims at.

use super::{Drawer, Property};
use crate::choices::Choices;
use crate::points::{Action, EventPoint, MessagePoint, Place, PlanStep, Point, PointKind};
use crate::scenario::{NetworkConfig, NetworkSemantics};
use splitrace_runtime::config::NANOS_PER_MILLI;

/// Every fourth seed or so has a plan of one or two steps.
pub(super) fn draw_plan<C: Choices>(drawer: &mut Drawer<C>, network: &NetworkConfig) -> Vec<PlanStep> {
    let count = match drawer.below(Property::Plan, 20) {
        0..=14 => 0,
        15..=17 => 1,
        _ => 2,
    };
    (0..count).map(|_| draw_step(drawer, network)).collect()
}

/// A place at a drawn point, sometimes only once another was met, and an action that fits it.
fn draw_step<C: Choices>(drawer: &mut Drawer<C>, network: &NetworkConfig) -> PlanStep {
    let last = draw_point(drawer);
    let side = drawer.below(Property::PlanSide, 4);
    let is_before = last.kind.is_message() || side & 1 == 1;
    let action = draw_action(drawer, &last, network);
    let mut after = if side >= 2 { vec![draw_point(drawer)] } else { Vec::new() };
    let before = if is_before {
        Some(last)
    } else {
        after.push(last);
        None
    };
    PlanStep { place: Place { after, before }, action }
}

fn draw_point<C: Choices>(drawer: &mut Drawer<C>) -> Point {
    let events = EventPoint::ALL.len();
    let count = events + 2 * MessagePoint::ALL.len();
    let number = drawer.below(Property::PlanPoint, count as u64) as usize;
    let kind = match number.checked_sub(events) {
        None => PointKind::Event(EventPoint::ALL[number]),
        Some(message) if message % 2 == 0 => PointKind::Send(MessagePoint::ALL[message / 2]),
        Some(message) => PointKind::Answer(MessagePoint::ALL[message / 2]),
    };
    Point { kind, facts: Vec::new(), nth: drawer.within(Property::PlanNth, 1, 6) as u32 }
}

fn draw_action<C: Choices>(drawer: &mut Drawer<C>, last: &Point, network: &NetworkConfig) -> Action {
    let for_ns = drawer.within(Property::PlanSpan, 1, 120) * NANOS_PER_MILLI;
    let drawn = drawer.below(Property::PlanAction, 8);
    if last.kind.is_message() {
        return match drawn {
            0 | 1 => Action::Delay { for_ns },
            2 | 3 => Action::Drop,
            4 | 5 if network.semantics == NetworkSemantics::UnorderedDuplicating => Action::Double,
            _ => Action::Lose,
        };
    }
    match drawn {
        0 => Action::Pause { for_ns },
        1 => Action::Hold { for_ns },
        2 | 3 => Action::FailTask { target: None },
        4 | 5 => Action::CrashTaskManager { target: None },
        6 => Action::CrashJobManager,
        _ => Action::Outlive { for_ns },
    }
}
