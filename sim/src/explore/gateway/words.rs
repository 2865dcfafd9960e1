//! A path of the small world as a story.

use super::{GatewayWitness, Shape, filter_of};
use crate::explore::State;
use crate::world::World;
use crate::world::pending::{Item, ItemKey};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::ProcessId;
use splitrace_runtime::message::{
    JobManagerMessage, Message, Stream, TaskManagerMessage, TaskMessage, Timer,
};
use splitrace_runtime::session::{Frame, FrameBody};

/// What stepping an item means.
#[must_use]
pub fn in_words(world: &World, item: &Item) -> String {
    match item {
        Item::Turn { .. } => match world.actor_of(item) {
            Some((actor, _)) => format!("{actor} takes a turn"),
            None => "nobody takes a turn".to_owned(),
        },
        Item::Timer { timer, .. } => match timer {
            Timer::CheckpointInterval => "the checkpoint interval is over".to_owned(),
            Timer::CheckpointTimeout(checkpoint) => format!("{checkpoint} times out"),
            Timer::CoordinatedEvent => "the coordinator is to send its events".to_owned(),
            Timer::RestartDelay(_) => "the restart delay is over".to_owned(),
            timer => format!("{timer:?}"),
        },
        Item::Frame(frame) => frame_in_words(frame),
        Item::Fault(_) => "a task throws".to_owned(),
        item => format!("{item:?}"),
    }
}

fn frame_in_words(frame: &Frame) -> String {
    let (from, to) = (place(frame.from.process), place(frame.to.process));
    let what = match &frame.body {
        FrameBody::Data { message, .. } => message_in_words(message),
        FrameBody::Ack { accepted: true, .. } => {
            format!("the answer 'delivered' of {}", stream(frame.stream))
        }
        FrameBody::Ack { .. } => format!("the answer 'refused' of {}", stream(frame.stream)),
        FrameBody::Forgotten { .. } => "the answer 'forgotten'".to_owned(),
    };
    format!("{to} gets {what} from {from}")
}

fn place(process: ProcessId) -> String {
    match process {
        ProcessId::JobManager => "the main thread".to_owned(),
        process => process.to_string(),
    }
}

fn stream(stream: Stream) -> String {
    match stream {
        Stream::OperatorEvents(attempt) => format!("the operator events to {attempt}"),
        stream => format!("{stream:?}"),
    }
}

fn message_in_words(message: &Message) -> String {
    match message {
        Message::Task { attempt, message, .. } => match message {
            TaskMessage::OperatorEvent { id, .. } => format!("{id} for {attempt}"),
            TaskMessage::TriggerCheckpoint(checkpoint) => {
                format!("the barrier of {checkpoint} for {attempt}")
            }
            TaskMessage::NotifyCheckpointComplete(notice) => format!("'{} is complete'", notice.checkpoint),
            TaskMessage::NotifyCheckpointAborted(notice) => format!("'{} is aborted'", notice.checkpoint),
            message => format!("{message:?}"),
        },
        Message::JobManager { message, .. } => match message {
            JobManagerMessage::AcknowledgeCheckpoint { attempt, checkpoint, .. } => {
                format!("the acknowledgement of {checkpoint} by {attempt}")
            }
            JobManagerMessage::TaskStateChanged { attempt, state, .. } => format!("'{attempt} is {state:?}'"),
            message => format!("{message:?}"),
        },
        Message::TaskManager { message: TaskManagerMessage::Deploy(descriptor), .. } => {
            format!("the deployment of {}", descriptor.attempt)
        }
        message => format!("{message:?}"),
    }
}

/// What an event says, if it belongs into a story.
fn event_in_words(event: &Event) -> Option<String> {
    Some(match &event.kind {
        EventKind::GatewaysMarked { operator, checkpoint } => {
            format!("the gateways of {operator} are marked for {checkpoint}")
        }
        EventKind::GatewaysClosed { operator, checkpoint } => {
            format!("the gateways of {operator} are closed for {checkpoint}")
        }
        EventKind::GatewayOpened { operator, attempt, checkpoint, released } => {
            format!("the gateway of {operator} to {attempt} opens for {checkpoint}, {released} released")
        }
        EventKind::OperatorEventBlocked { attempt, id, .. } => format!("{id} to {attempt} is kept back"),
        EventKind::OperatorEventReleased { attempt, id, .. } => format!("{id} to {attempt} is sent"),
        EventKind::OperatorEventHandled { id, .. } => format!("{} handles {id}", event.header.actor),
        EventKind::BarrierHandled { checkpoint } => {
            format!("{} takes its snapshot for {checkpoint}", event.header.actor)
        }
        EventKind::CheckpointTriggered { checkpoint } => format!("{checkpoint} is triggered"),
        EventKind::BarriersInjected { checkpoint } => format!("the barriers of {checkpoint} are sent"),
        EventKind::CheckpointAborted { checkpoint, reason } => format!("{checkpoint} is aborted: {reason}"),
        EventKind::CheckpointCompleted { checkpoint, .. } => format!("{checkpoint} is complete"),
        EventKind::RestorePointChosen { checkpoint: None, .. } => {
            "the subtask is reset to nothing".to_owned()
        }
        EventKind::RestorePointChosen { checkpoint: Some(checkpoint), .. } => {
            format!("the subtask is reset to {checkpoint}")
        }
        EventKind::TaskDeployed { attempt, .. } => format!("{attempt} is deployed"),
        EventKind::TaskStateChanged { attempt, state, .. } => format!("{attempt} is {state:?}"),
        _ => return None,
    })
}

/// A path from a start, one line a branch, and indented what it brought.
#[must_use]
pub fn story(shape: &Shape, start: &State<GatewayWitness>, path: &[ItemKey]) -> String {
    let filter = filter_of(shape);
    let mut told: Vec<String> = Vec::new();
    let mut state = start.clone();
    for (number, key) in path.iter().enumerate() {
        let item = state.world.enabled().into_iter().find(|enabled| enabled.key == *key);
        let line = item.map_or_else(String::new, |enabled| in_words(&state.world, enabled.item));
        told.push(format!("{:>2}. {line}", number + 1));
        state.take_observed(*key, &filter, &mut |event| {
            told.extend(event_in_words(event).map(|words| format!("      {words}")));
        });
    }
    told.join("\n")
}
