//! The event schema is public and versioned: the first event of each kind that two runs tell, as JSON, and its size in
//! postcard. A change here is a change of the schema: raise `SCHEMA_VERSION` unless it only adds a kind, and say why.

use splitrace_runtime::event::{Event, SCHEMA_VERSION};
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::run_with;
use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};
use std::collections::BTreeMap;
use std::fmt::Write;

fn first_of_each_kind(scenario: &Scenario, seed: u64, found: &mut BTreeMap<&'static str, Event>) {
    let mut observer = |event: &Event| {
        found.entry(event.kind.name()).or_insert_with(|| event.clone());
    };
    let report = run_with(scenario, SeedChoices::new(seed), Some(&mut observer));
    assert!(report.is_success(), "{}", report.outcome);
}

#[test]
fn the_encoding_of_events_is_pinned() {
    let mut found = BTreeMap::new();
    first_of_each_kind(&Scenario::demo(DemoMode::Fail, DemoOptions::default()), 0, &mut found);
    for seed in 0..12 {
        first_of_each_kind(&Scenario::draw(seed), seed, &mut found);
    }
    let mut golden = format!("schema version {SCHEMA_VERSION}\n");
    for (name, event) in &found {
        let json = serde_json::to_string(event).expect("events serialise");
        let decoded: Event = serde_json::from_str(&json).expect("and are read again");
        assert_eq!(&decoded, event);
        let bytes = postcard::to_stdvec(event).expect("events serialise");
        let decoded: Event = postcard::from_bytes(&bytes).expect("and are read again");
        assert_eq!(&decoded, event);
        writeln!(
            golden,
            "{name} ({} bytes): {}",
            bytes.len(),
            serde_json::to_string(&event.kind).expect("as above")
        )
        .expect("a string takes all");
    }
    assert!(found.len() > 40, "only {} kinds were told", found.len());
    insta::assert_snapshot!(golden);
}
