//! The second host under plain `cargo test`: builds and runs the tests of `splitrace-madsim`, which need a compiler flag of
//! their own, in a target folder of their own.
//!
//! It never passes with nothing run: a flag that got lost makes the child fail to compile, and the tests are counted.

#![allow(
    clippy::disallowed_types,
    reason = "the wall clock only tells whoever waits how long the build took; no run sees it"
)]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Instant;

/// A cargo that builds the second host. Flags in the environment would silently replace those on the command line.
fn cargo(arguments: &[&str]) -> Command {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(&workspace);
    command.args(["test", "-p", "splitrace-madsim", "--config", "build.rustflags=['--cfg','madsim']"]);
    command.arg("--target-dir").arg(workspace.join("target").join("madsim"));
    command.args(arguments);
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"] {
        command.env_remove(name);
    }
    for name in std::env::vars_os().map(|(name, _)| name).filter(is_target_flags) {
        command.env_remove(name);
    }
    command
}

/// `CARGO_TARGET_<TRIPLE>_RUSTFLAGS`.
fn is_target_flags(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_TARGET_") && name.ends_with("_RUSTFLAGS")
}

fn run(mut command: Command) -> Output {
    let output = command.output().expect("cargo, which runs this test, can be run again");
    assert!(
        output.status.success(),
        "{command:?} failed\n--- its output\n{}\n--- its errors\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The names of the tests that passed, as the test harness lists them.
fn passed(output: &str) -> Vec<&str> {
    output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok")).collect()
}

#[test]
fn the_same_protocol_holds_as_madsim_nodes() {
    let begun = Instant::now();
    run(cargo(&["--no-run"]));
    println!("built in {} ms", begun.elapsed().as_millis());

    let begun = Instant::now();
    let output = run(cargo(&[]));
    println!("ran in {} ms", begun.elapsed().as_millis());

    let output = String::from_utf8_lossy(&output.stdout);
    let passed = passed(&output);
    println!("passed: {}", passed.join(", "));
    for name in [
        "the_first_fifty_seeds_keep_every_invariant",
        "the_second_fifty_seeds_keep_every_invariant",
        "a_seed_names_one_run",
        "planted_defects_are_found",
    ] {
        assert!(passed.contains(&name), "'{name}' did not run; what ran: {passed:?}\n{output}");
    }
}

#[test]
fn a_run_without_tests_is_noticed() {
    let nothing =
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert!(passed(nothing).is_empty());
    assert_eq!(passed("running 1 test\ntest a::b ... ok\n"), ["a::b"]);
    assert!(passed("test a::b ... FAILED\n").is_empty());
}
