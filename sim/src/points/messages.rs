//! The points that are messages: a table.
//!
//! A message is met when its sender's session puts it on the network for the first time; what the session sends again is
//! the same message. Its answer, with which the receiver's session says 'it lies in a mailbox', is a point of its own.

use splitrace_runtime::message::*;

macro_rules! points {
    ($($variant:ident = $name:literal, $pattern:pat, $sentence:literal;)+) => {
        /// A point that is a message.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum MessagePoint {
            $(#[doc = $sentence] $variant,)+
        }

        impl MessagePoint {
            /// Every one.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name in plans, behind `send-` or `answer-`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it says.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)+ }
            }

            /// Whether this message is it.
            #[must_use]
            pub const fn is(self, message: &Message) -> bool {
                match self { $(Self::$variant => matches!(message, $pattern),)+ }
            }
        }
    };
}

points! {
    AddSplits = "add-splits",
        Message::Task { message: TaskMessage::OperatorEvent { event: OperatorEvent::AddSplits(_), .. }, .. },
        "an assignment on its way to a reader (AddSplitEvent)";
    NoMoreSplits = "no-more-splits",
        Message::Task { message: TaskMessage::OperatorEvent { event: OperatorEvent::NoMoreSplits, .. }, .. },
        "'no split will come', on its way to a reader (NoMoreSplitsEvent)";
    WatermarkAlignment = "watermark-alignment",
        Message::Task {
            message: TaskMessage::OperatorEvent { event: OperatorEvent::WatermarkAlignment { .. }, .. },
            ..
        },
        "how far a reader may go in event time (WatermarkAlignmentEvent)";
    CustomEvent = "custom-event",
        Message::Task {
            message: TaskMessage::OperatorEvent {
                event: OperatorEvent::Custom(_) | OperatorEvent::Unknown(_),
                ..
            },
            ..
        },
        "a coordinator's own event for its operator";
    Registration = "registration",
        Message::JobManager {
            message: JobManagerMessage::OperatorEvent { event: ReaderEvent::Register { .. }, .. },
            ..
        },
        "a reader registers (ReaderRegistrationEvent)";
    SplitRequest = "split-request",
        Message::JobManager {
            message: JobManagerMessage::OperatorEvent { event: ReaderEvent::RequestSplit, .. },
            ..
        },
        "a reader asks for a split (RequestSplitEvent)";
    Watermark = "reported-watermark",
        Message::JobManager {
            message: JobManagerMessage::OperatorEvent { event: ReaderEvent::ReportedWatermark(_), .. },
            ..
        },
        "a reader reports its watermark (ReportedWatermarkEvent)";
    Trigger = "trigger",
        Message::Task {
            message: TaskMessage::TriggerCheckpoint(_) | TaskMessage::TriggerStop { .. },
            ..
        },
        "the trigger of a checkpoint for one subtask";
    Acknowledge = "acknowledge",
        Message::JobManager { message: JobManagerMessage::AcknowledgeCheckpoint { .. }, .. },
        "a subtask acknowledges a checkpoint";
    Decline = "decline",
        Message::JobManager { message: JobManagerMessage::DeclineCheckpoint { .. }, .. },
        "a subtask declines a checkpoint";
    CompletionNotice = "completion-notice",
        Message::Task { message: TaskMessage::NotifyCheckpointComplete(_), .. },
        "the notice that a checkpoint is complete, for one subtask";
    AbortNotice = "abort-notice",
        Message::Task { message: TaskMessage::NotifyCheckpointAborted(_), .. },
        "the notice that a checkpoint is aborted, for one subtask";
    EndOfData = "end-of-data",
        Message::JobManager { message: JobManagerMessage::EndOfData { .. }, .. },
        "a task has read to the end of its input";
    TaskState = "task-state",
        Message::JobManager { message: JobManagerMessage::TaskStateChanged { .. }, .. },
        "a task changed its state";
    Heartbeat = "heartbeat",
        Message::JobManager { message: JobManagerMessage::Heartbeat, .. },
        "a task manager lives";
    Deploy = "deploy",
        Message::TaskManager { message: TaskManagerMessage::Deploy(_), .. },
        "a task for a task manager";
    Cancel = "cancel",
        Message::TaskManager { message: TaskManagerMessage::Cancel(_), .. },
        "the word to stop an execution";
    Channel = "channel",
        Message::Task { message: TaskMessage::Channel { .. }, .. },
        "what goes through a channel between two tasks";
    StoreCall = "store-call", Message::Store { .. },
        "a task asks something of the store";
    StoreReply = "store-reply",
        Message::Task { message: TaskMessage::StoreReply { .. }, .. },
        "the store answers a task";
    RaiseCounter = "raise-counter",
        Message::HighAvailability { request: HighAvailabilityRequest::RaiseCounter(_), .. },
        "the leader raises the checkpoint-id counter";
    AddCheckpoint = "add-checkpoint",
        Message::HighAvailability { request: HighAvailabilityRequest::AddCheckpoint(_), .. },
        "the leader adds a checkpoint to the store of completed ones";
    PutResult = "put-result",
        Message::HighAvailability { request: HighAvailabilityRequest::PutResult(_), .. },
        "the leader stores the job's result";
    HighAvailabilityReply = "high-availability-reply", Message::HighAvailabilityReply { .. },
        "the high-availability service answers a leader";
}

impl MessagePoint {
    /// The point with this name, without `send-` or `answer-`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|point| point.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_its_own() {
        for point in MessagePoint::ALL {
            assert_eq!(MessagePoint::named(point.name()), Some(*point));
        }
    }
}
