//! Named points of the protocol, and plans that let something break exactly there.
//!
//! A random search finds; a plan *shows*. 'The task fails after checkpoint 5 is complete and before its commit' is one line
//! of a test or of a scenario's TOML, and the run is that very one whatever the latencies are:
//!
//! ```
//! use splitrace_sim::points::PlanStep;
//!
//! let step: PlanStep = "after(checkpoint-complete checkpoint=5).before(commit) do fail-task".parse().unwrap();
//! assert_eq!(step.to_string(), "after(checkpoint-complete checkpoint=5).before(commit) do fail-task");
//! ```
//!
//! - A **point** is an event of the public vocabulary or a message that goes over the network, with what it must be about.
//! - A **place** is a way through points: each `after(...)` waits for its point, and a last `before(...)` strikes just
//!   before its point happens, so that it does not happen where the action ends the one who was about to do it.
//! - An **action** is what breaks there.
//!
//! Points are read off what a run tells anyway. So a plan works on every scenario, and no role knows that it exists.
//! Refused: calls of the kind `point("...")` inside the roles, which would be a second vocabulary beside the events, and
//! would leave open what of a step has happened when the point is reached.
//!
//! **Fault budget.** At most [`PLAN_STEPS_MAX`] steps, each fires once, all before healing. A step whose place is not
//! reached does nothing and is told as such. What no protocol could survive cannot be written: there is no action that
//! takes back what a durable store acknowledged, and a thread stands still, or a link is cut, for a stated time only.

mod action;
mod duration;
mod events;
mod facts;
mod messages;
mod place;
mod plan;
mod point;

pub use action::Action;
pub use events::EventPoint;
pub use facts::{Fact, Facts};
pub use messages::MessagePoint;
pub use place::Place;
pub(crate) use plan::{Moment, PlanProgress};
pub use plan::{PLAN_STEPS_MAX, PlanStep, StepReport};
pub use point::{Point, PointError, PointKind};
