//! `splitrace points`: the named points, facts and actions that a plan is written with.

use crate::engine::{Action, EventPoint, Fact, MessagePoint};
use crate::report::Report;
use serde::Serialize;

/// One point in JSON.
#[derive(Serialize)]
struct PointEntry {
    name: String,
    sentence: String,
    breakpoint: bool,
}

/// Lists them.
pub(super) fn execute() -> Report {
    let events = EventPoint::ALL.iter().map(|point| PointEntry {
        name: point.name().to_owned(),
        sentence: point.sentence().to_owned(),
        breakpoint: point.is_breakpoint(),
    });
    let messages = MessagePoint::ALL.iter().flat_map(|point| {
        let sent = (format!("send-{}", point.name()), format!("sent: {}", point.sentence()));
        let answered = (format!("answer-{}", point.name()), format!("answered: {}", point.sentence()));
        [sent, answered].map(|(name, sentence)| PointEntry { name, sentence, breakpoint: false })
    });
    let points: Vec<PointEntry> = events.chain(messages).collect();
    Report::new(text(&points), &points, true)
}

fn text(points: &[PointEntry]) -> String {
    let width = points.iter().map(|point| point.name.len()).max().unwrap_or_default();
    let mut text = "points (* a breakpoint of those who teach the protocol)\n".to_owned();
    for PointEntry { name, sentence, breakpoint } in points {
        let mark = if *breakpoint { '*' } else { ' ' };
        text.push_str(&format!("{mark} {name:width$}  {sentence}\n"));
    }
    let facts = Fact::ALL.map(Fact::name).join("=N, ");
    text.push_str(&format!(
        "\nfacts that a point may be asked for: {facts}=N; nth=N for the how-manieth\n\nactions\n"
    ));
    let width = Action::FORMS.iter().map(|(form, _)| form.len()).max().unwrap_or_default();
    for (form, sentence) in Action::FORMS {
        text.push_str(&format!("  {form:width$}  {sentence}\n"));
    }
    text.push_str(
        "\na plan is a list of steps in a scenario, each fires once:\n  \
         plan = [\"after(checkpoint-complete checkpoint=5).before(commit) do fail-task\"]\n",
    );
    text
}
