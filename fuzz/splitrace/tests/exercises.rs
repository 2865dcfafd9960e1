//! The answers of `docs/exercises.md`, held by the runs that it names.

use std::process::Command;

/// The time line of a demo that makes every record visible once.
fn demo(arguments: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_splitrace"))
        .arg("demo")
        .args(arguments.split(' '))
        .output()
        .expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.ends_with("duplicates=0 missing=0\n"), "{text}");
    text
}

/// What `addSplitsBack` received, and what restored readers were given, in order.
fn returned_and_restored(arguments: &str) -> (Vec<String>, Vec<String>) {
    let text = demo(arguments);
    let after = |line: &str, word: &str| line.split_once(word).map(|(_, rest)| rest.to_owned());
    let returned = text
        .lines()
        .filter_map(|line| after(line, "addSplitsBack("))
        .filter_map(|rest| rest.split_once(") from").map(|(splits, _)| splits.to_owned()))
        .collect();
    let restored = text
        .lines()
        .filter_map(|line| line.strip_suffix(" (restored)"))
        .filter_map(|line| after(line, "addSplits"))
        .collect();
    (returned, restored)
}

#[test]
fn a_split_goes_back_until_a_checkpoint_covers_its_assignment_and_is_restored_from_then_on() {
    let (returned, restored) = returned_and_restored("fail");
    assert_eq!(
        (&returned[..], &restored[..]),
        (&["[split-2[80,120)]".to_owned()][..], &["[split-0[38,40)]".to_owned()][..])
    );
    let (returned, restored) = returned_and_restored("fail --fail-at 95");
    assert_eq!((&returned[..], &restored[..]), (&[][..], &["[split-2[90,120)]".to_owned()][..]));
}

#[test]
fn a_pushed_split_never_changes_its_reader() {
    let (returned, restored) = returned_and_restored("push-fail");
    assert_eq!(returned, [""; 0]);
    assert_eq!(restored, ["[split-0[38,40)]", "[split-2[80,120)]"]);
    let (returned, restored) = returned_and_restored("push-fail --fail-at 0 delay=20");
    assert_eq!(returned, ["[split-0[0,40), split-2[80,120)]"]);
    assert_eq!(restored, [""; 0]);
    let again = demo("push-fail --fail-at 0 delay=20").matches("addReader(subtask 1)").count();
    assert_eq!(again, 1, "the other reader is not asked anything");
}

/// The splits that each reader holds when it starts for the second time, by number.
fn dealt(readers: u32) -> Vec<Vec<u32>> {
    let text = demo(&format!("rescale push=1 splits=7 delay=20 interval=250 par2={readers}"));
    let of = |reader: u32| {
        let start = format!("subtask {reader} start (holding [split-");
        let line = text.lines().find(|line| line.contains(&start)).expect("each reader holds something");
        let held = line.split("split-").skip(1);
        held.map(|split| split.split('[').next().unwrap_or_default().parse().expect("a number")).collect()
    };
    (0..readers).map(of).collect()
}

#[test]
fn seven_splits_are_cut_into_contiguous_chunks() {
    assert_eq!(dealt(3), [vec![0, 2, 4], vec![6, 1], vec![3, 5]]);
    assert_eq!(dealt(1), [vec![0, 2, 4, 6, 1, 3, 5]]);
}
