//! Two coordinators of one watermark group, by mail in and outputs out.

use super::*;
use crate::actor::Effect;
use crate::config::{AlignmentConfig, VertexConfig};
use crate::coordination::test_jobs::job;

fn attempt(operator: u16, subtask: u32) -> ExecutionAttemptId {
    ExecutionAttemptId {
        vertex: OperatorUid(operator),
        subtask: SubtaskIndex(subtask),
        attempt: AttemptNumber(0),
    }
}

/// Operators 0 and 1 in one group, operator 2 in another; two subtasks each.
fn aligned_job(defects: DefectSet) -> SharedJobConfig {
    let mut config = job(2, defects);
    let template = VertexConfig { coordinated: None, ..config.vertices[0].clone() };
    config.vertices = (0..3)
        .map(|index| {
            let mut vertex = VertexConfig { operator: OperatorUid(index), ..template.clone() };
            vertex.task.alignment = Some(AlignmentConfig {
                group: WatermarkGroup(index / 2),
                max_drift_ms: 10,
                period_ns: 5,
                allow_unaligned_splits: false,
            });
            vertex
        })
        .collect();
    config.into()
}

/// What a coordinator said about alignment.
fn mail(coordinator: &mut SourceCoordinator, mail: CoordinatorMail) -> Vec<String> {
    let mut out = Outbox::new();
    coordinator.handle(mail, &mut out);
    let said = |effect| match effect {
        Effect::Mail {
            to,
            mail: Mail::Coordinator(CoordinatorMail::GroupWatermark { watermark_ms, .. }),
        } => Some(format!("{to:?} hears {watermark_ms:?}")),
        Effect::Mail { mail: Mail::Main(MainMail::FromCoordinator { message, .. }), .. } => match message {
            CoordinatorToMain::SendEvent {
                attempt,
                event: OperatorEvent::WatermarkAlignment { allowed_ms },
            } => Some(format!("{} up to {allowed_ms}", attempt.subtask.0)),
            CoordinatorToMain::FailJob { cause } => Some(format!("FAIL {cause}")),
            _ => None,
        },
        Effect::SetTimer { timer: Timer::AlignmentAnnouncement, after_ns } => Some(format!("in {after_ns}")),
        _ => None,
    };
    out.drain().filter_map(|output| output.effect).filter_map(said).collect()
}

fn report(coordinator: &mut SourceCoordinator, subtask: u32, watermark_ms: i64) -> Vec<String> {
    let attempt = attempt(coordinator.operator.0, subtask);
    let event = ReaderEvent::ReportedWatermark(watermark_ms);
    mail(coordinator, CoordinatorMail::FromReader { attempt, event })
}

fn announce(coordinator: &mut SourceCoordinator) -> Vec<String> {
    mail(coordinator, CoordinatorMail::Timer(Timer::AlignmentAnnouncement))
}

fn started(defects: DefectSet) -> SourceCoordinator {
    let mut coordinator = SourceCoordinator::new(&aligned_job(defects), OperatorUid(0));
    assert_eq!(
        mail(&mut coordinator, CoordinatorMail::Start { generation: 1, restored: None }),
        ["SourceCoordinator(OperatorUid(1)) hears None", "in 5"],
        "the source of another group hears nothing"
    );
    for subtask in 0..2 {
        mail(&mut coordinator, CoordinatorMail::ExecutionAttemptReady(attempt(0, subtask)));
    }
    coordinator
}

#[test]
fn who_has_reported_hears_the_least_watermark_and_the_drift() {
    let mut coordinator = started(DefectSet::NONE);
    assert_eq!(announce(&mut coordinator), ["in 5"], "there is nothing to say");
    assert_eq!(report(&mut coordinator, 1, 40), ["SourceCoordinator(OperatorUid(1)) hears Some(40)"]);
    assert_eq!(announce(&mut coordinator), ["1 up to 50", "in 5"], "subtask 0 has not reported");
    assert_eq!(report(&mut coordinator, 0, 60), [""; 0], "the least one is the same");
    assert_eq!(report(&mut coordinator, 1, 70), ["SourceCoordinator(OperatorUid(1)) hears Some(60)"]);
    assert_eq!(announce(&mut coordinator), ["0 up to 70", "1 up to 70", "in 5"]);
    report(&mut coordinator, 0, MAX_WATERMARK_MS);
    report(&mut coordinator, 1, MAX_WATERMARK_MS);
    let everything = format!("up to {MAX_WATERMARK_MS}");
    assert_eq!(
        announce(&mut coordinator),
        [format!("0 {everything}"), format!("1 {everything}"), "in 5".into()]
    );
}

#[test]
fn the_other_sources_of_the_group_count_until_they_begin_anew() {
    let mut coordinator = started(DefectSet::NONE);
    report(&mut coordinator, 0, 40);
    let peer = |watermark_ms| CoordinatorMail::GroupWatermark { source: OperatorUid(1), watermark_ms };
    assert_eq!(mail(&mut coordinator, peer(Some(15))), [""; 0]);
    assert_eq!(announce(&mut coordinator), ["0 up to 25", "in 5"]);
    mail(&mut coordinator, peer(Some(90)));
    assert_eq!(announce(&mut coordinator), ["0 up to 50", "in 5"]);
    mail(&mut coordinator, peer(Some(5)));
    mail(&mut coordinator, peer(None));
    assert_eq!(announce(&mut coordinator), ["0 up to 50", "in 5"], "its readers are new");
}

#[test]
fn a_subtask_that_restarts_is_left_out_and_its_last_word_counts() {
    let restart = |coordinator: &mut SourceCoordinator| {
        report(coordinator, 0, 40);
        report(coordinator, 1, 90);
        let failed = CoordinatorMail::ExecutionAttemptFailed { attempt: attempt(0, 0), last_completed: None };
        mail(coordinator, failed);
        announce(coordinator)
    };
    assert_eq!(restart(&mut started(DefectSet::NONE)), ["1 up to 50", "in 5"]);
    let defective = DefectSet::NONE.with(Defect::AnnouncementsEndAtRestart);
    assert_eq!(restart(&mut started(defective)), ["1 up to 50"], "the timer is gone");
}

#[test]
fn a_new_coordinator_knows_nobody() {
    let mut coordinator = started(DefectSet::NONE);
    report(&mut coordinator, 0, 40);
    mail(&mut coordinator, CoordinatorMail::Start { generation: 2, restored: None });
    mail(&mut coordinator, CoordinatorMail::ExecutionAttemptReady(attempt(0, 0)));
    assert_eq!(announce(&mut coordinator), ["in 5"]);
}
