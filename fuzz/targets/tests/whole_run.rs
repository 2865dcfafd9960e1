//! Bytes are a whole run: the first ones draw the scenario, the others every choice inside it, and where they end all is
//! benign. So a fuzzer's mutations move faults and its shrinker makes the run tamer.
//!
//! Plain `cargo test` runs it with random bytes for a moment. With coverage, for as long as one likes:
//! `cargo bolero test any_bytes_keep_the_promise -p splitrace-fuzz-targets --sanitizer NONE -T 10m`
//! (after `cargo install cargo-bolero --no-default-features --features libfuzzer`; the name of the test comes first).

use splitrace_sim::choices::ByteChoices;
use splitrace_sim::run::run_with;
use splitrace_sim::scenario::Scenario;
use std::time::Duration;

#[test]
fn any_bytes_keep_the_promise() {
    // By itself the random engine makes at most 64 bytes, and the draw of the scenario eats them all.
    let long = bolero::generator::produce::<Vec<u8>>().with().len(0usize..4096);
    let check = bolero::check!().with_generator(long).with_max_len(4096);
    check.with_test_time(Duration::from_secs(2)).for_each(|bytes| {
        let mut choices = ByteChoices::new(bytes);
        let scenario = Scenario::draw_from(&mut choices);
        assert_eq!(scenario.validate(), Ok(()), "whatever is drawn makes sense");
        let report = run_with(&scenario, choices, None);
        assert!(report.is_success(), "{}", report.outcome);
    });
}
