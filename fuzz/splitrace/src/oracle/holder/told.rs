//! The effects that a holder's operations have, in the words of the recordings.

use super::super::tracker::split_name;
use serde::Serialize;
use splitrace_runtime::message::OperatorEvent;

/// What the main thread does.
#[derive(Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub(super) enum MainEffect<'a> {
    /// An event went out: the k-th delivery.
    Sent { k: usize, sub: u32, attempt: u32, e: &'a EventName },
    /// The future that the sender of an event holds is done.
    SendResult { e: &'a EventName, ok: bool, err: &'a str },
    /// An execution is failed over.
    TaskFailover { sub: u32, attempt: u32, err: &'a str },
    /// The job is failed over.
    GlobalFailure { err: &'a str },
    /// The coordinator's part of a checkpoint is done.
    CkptResult {
        id: i64,
        ok: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        err: Option<&'a str>,
    },
    /// The process ends.
    JvmExit,
}

/// A call of the scripted coordinator.
#[derive(Serialize, Default)]
#[serde(tag = "t", rename = "coord")]
pub(super) struct CoordinatorCall<'a> {
    pub(super) call: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sub: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) e: Option<&'a str>,
}

/// Splits that are pending: the restored ones are told as one text.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Pending {
    List(Vec<String>),
    Joined(String),
}

/// A call of the enumerator.
#[derive(Serialize, Default)]
#[serde(tag = "t", rename = "enum")]
pub(super) struct EnumeratorCall {
    pub(super) call: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sub: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reported: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) splits: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pending: Option<Pending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) e: Option<String>,
}

/// How the recordings name an event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum EventName {
    Plain(String),
    Splits { add: Vec<String> },
}

impl EventName {
    /// The event of a scripted coordinator is its bytes; one of a source is named by its kind.
    pub(super) fn of(event: &OperatorEvent, is_source: bool) -> Self {
        match event {
            OperatorEvent::AddSplits(splits) => {
                Self::Splits { add: splits.iter().map(|split| split_name(split).to_owned()).collect() }
            }
            OperatorEvent::NoMoreSplits => Self::Plain("NoMoreSplits".to_owned()),
            OperatorEvent::WatermarkAlignment { allowed_ms } => {
                Self::Plain(format!("WatermarkAlignmentEvent{{maxWatermark={allowed_ms}}}"))
            }
            OperatorEvent::Unknown(name) => Self::Plain(name.clone()),
            OperatorEvent::Custom(bytes) if is_source => {
                Self::Plain(format!("custom:{}", String::from_utf8_lossy(bytes)))
            }
            OperatorEvent::Custom(bytes) => Self::Plain(String::from_utf8_lossy(bytes).into_owned()),
        }
    }

    /// How Java prints the event in a message.
    pub(super) fn printed(&self) -> String {
        match self {
            Self::Splits { add } => format!("AddSplitEvents[[{}]]", vec!["[B@<h>"; add.len()].join(", ")),
            Self::Plain(name) if name == "NoMoreSplits" => "[NoMoreSplitEvent]".to_owned(),
            Self::Plain(name) => match name.strip_prefix("custom:") {
                Some(custom) => format!("SourceEventWrapper[{custom}]"),
                None => name.clone(),
            },
        }
    }
}
