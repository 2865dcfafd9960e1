//! A seed is the same run in another process: the built binary against this test's own, and against itself.

use serde_json::Value;
use splitrace_sim::run::run_seed;
use splitrace_sim::scenario::Scenario;
use std::process::Command;

fn hash_by_the_binary(seed: u64) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_splitrace"))
        .args(["run", "--seed", &seed.to_string(), "--format", "json"])
        .output()
        .expect("the binary starts");
    let result: Value = serde_json::from_slice(&output.stdout).expect("the binary prints JSON");
    result["trace_hash"].as_str().expect("a run has a hash").to_owned()
}

#[test]
fn a_seed_is_the_same_run_in_another_process() {
    for seed in 0..6 {
        let here = format!("{:#018x}", run_seed(&Scenario::draw(seed), seed).trace_hash);
        assert_eq!(hash_by_the_binary(seed), here, "seed {seed}");
        assert_eq!(hash_by_the_binary(seed), here, "seed {seed}, a second process");
    }
}
