//! A task's mailbox: one FIFO for operator events, triggers, notices, replies and timers.
//!
//! A task that waits for the store leaves other mail where it is, in order, as a blocked thread does. Refused: a queue
//! of its own for the store's replies; a running task must see them in their order among the other mail.

use crate::message::{OperatorEvent, TaskMail, TaskMessage, Timer};
use std::collections::VecDeque;

/// Which mail may be handled now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MailGate {
    /// All of it.
    Open,
    /// The store's replies and their timers; also triggers, which a task that still initialises declines, and what is
    /// said of its channels.
    Initializing,
    /// The store's replies, the timers of its calls, and the end of a stall of user code.
    StoreOnly,
    /// The timer that ends the reader's call, and what is said of the task's channels.
    ReaderOnly,
}

impl MailGate {
    /// Whether this mail may pass.
    #[must_use]
    pub const fn admits(self, mail: &TaskMail) -> bool {
        match mail {
            TaskMail::FromNetwork(TaskMessage::StoreReply { .. })
            | TaskMail::Timer(Timer::StoreTimeout(_) | Timer::StoreCallDue(_) | Timer::UserCodeStall) => {
                !matches!(self, Self::ReaderOnly)
            }
            TaskMail::FromNetwork(TaskMessage::TriggerCheckpoint(_) | TaskMessage::TriggerStop { .. }) => {
                matches!(self, Self::Open | Self::Initializing)
            }
            TaskMail::Timer(Timer::ReaderWake) => matches!(self, Self::Open | Self::ReaderOnly),
            // The network gives credit to a task that is blocked in its reader, or that has just begun.
            TaskMail::FromNetwork(TaskMessage::ChannelRequest { .. }) => !matches!(self, Self::StoreOnly),
            _ => matches!(self, Self::Open),
        }
    }
}

/// The mail that is not handled yet, oldest first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mailbox {
    mail: VecDeque<TaskMail>,
}

impl Mailbox {
    /// Puts mail at the end.
    pub fn push(&mut self, mail: TaskMail) {
        self.mail.push_back(mail);
    }

    /// Whether there is none at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mail.is_empty()
    }

    /// Whether there is mail that `gate` lets through.
    #[must_use]
    pub fn has(&self, gate: MailGate) -> bool {
        match gate {
            MailGate::Open => !self.mail.is_empty(),
            _ => self.mail.iter().any(|mail| gate.admits(mail)),
        }
    }

    /// Takes the oldest mail that `gate` lets through.
    pub fn take(&mut self, gate: MailGate) -> Option<TaskMail> {
        match gate {
            MailGate::Open => self.mail.pop_front(),
            _ => {
                let index = self.mail.iter().position(|mail| gate.admits(mail))?;
                self.mail.remove(index)
            }
        }
    }

    /// Whether splits are among it.
    #[must_use]
    pub fn brings_splits(&self) -> bool {
        let brings = |mail: &TaskMail| {
            let TaskMail::FromNetwork(TaskMessage::OperatorEvent { event, .. }) = mail else { return false };
            matches!(event, OperatorEvent::AddSplits(_))
        };
        self.mail.iter().any(brings)
    }

    /// Drops everything: the thread has ended.
    pub fn clear(&mut self) {
        self.mail.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CallId, CheckpointId, ExecutionAttemptId, LeaderEpoch};
    use crate::message::Notice;

    #[test]
    fn a_closed_gate_keeps_the_rest_in_order() {
        let notice = |number| {
            let (addressee, epoch) = (ExecutionAttemptId::default(), LeaderEpoch(1));
            let notice = Notice { checkpoint: CheckpointId(number), addressee, epoch };
            TaskMail::FromNetwork(TaskMessage::NotifyCheckpointComplete(notice))
        };
        let timeout = TaskMail::Timer(Timer::StoreTimeout(CallId(7)));
        let trigger = TaskMail::FromNetwork(TaskMessage::TriggerCheckpoint(CheckpointId(3)));
        let mut mailbox = Mailbox::default();
        for mail in [notice(1), trigger.clone(), timeout.clone(), notice(2)] {
            mailbox.push(mail);
        }
        assert_eq!(mailbox.take(MailGate::StoreOnly), Some(timeout));
        assert!(!mailbox.has(MailGate::StoreOnly) && mailbox.take(MailGate::StoreOnly).is_none());
        assert_eq!(mailbox.take(MailGate::Initializing), Some(trigger));
        assert_eq!(mailbox.take(MailGate::Open), Some(notice(1)));
        assert_eq!(mailbox.take(MailGate::Open), Some(notice(2)));
        assert!(mailbox.is_empty() && !mailbox.has(MailGate::Open));
    }
}
