//! What an object store keeps, and what a crash leaves.

use super::super::store::tests_support::execution;
use super::*;
use crate::choices::{BenignChoices, SeedChoices};

const EPOCH: LeaderEpoch = LeaderEpoch(1);

fn ask(space: &mut ObjectSpace, operation: FileOperation) -> FileAnswer {
    space.perform(execution(0, 0), EPOCH, &operation)
}

fn write(at: u64, bytes: &[u8]) -> FileOperation {
    FileOperation::Write { path: "hidden".to_owned(), at, bytes: bytes.to_vec() }
}

fn sync(length: u64) -> FileOperation {
    FileOperation::Sync { path: "hidden".to_owned(), length }
}

fn publish(length: u64) -> FileOperation {
    FileOperation::Publish { hidden: "hidden".to_owned(), target: "target".to_owned(), length }
}

#[test]
fn an_object_comes_as_a_whole_and_is_never_changed() {
    let mut space = ObjectSpace::default();
    for _ in 0..2 {
        assert_eq!(ask(&mut space, write(0, b"one\n")), FileAnswer::Done);
    }
    for _ in 0..2 {
        assert_eq!(ask(&mut space, write(4, b"two\n")), FileAnswer::Done, "the last part may be sent again");
    }
    assert_eq!(ask(&mut space, write(8, b"three\n")), FileAnswer::Done);
    assert_eq!(ask(&mut space, write(4, b"two\n")), FileAnswer::Immutable, "those before it may not");
    assert_eq!(ask(&mut space, write(15, b"x")), FileAnswer::TooShort(14));
    assert_eq!(ask(&mut space, sync(15)), FileAnswer::TooShort(14));
    assert_eq!(space.read("hidden"), None, "an upload is no object");
    assert_eq!(ask(&mut space, publish(14)), FileAnswer::NotFound);
    for _ in 0..2 {
        assert_eq!(ask(&mut space, sync(14)), FileAnswer::Done);
    }
    assert_eq!(ask(&mut space, publish(15)), FileAnswer::TooShort(14));
    assert_eq!(ask(&mut space, publish(13)), FileAnswer::Immutable, "nothing is cut");
    assert_eq!(ask(&mut space, publish(14)), FileAnswer::Done);
    assert_eq!(ask(&mut space, publish(14)), FileAnswer::AlreadyDone);
    assert_eq!((space.read("hidden"), space.read("target")), (None, Some(&b"one\ntwo\nthree\n"[..])));
}

#[test]
fn an_upload_goes_with_whoever_holds_it() {
    let mut space = ObjectSpace::default();
    ask(&mut space, write(0, b"one"));
    assert_eq!(space.lose_client(execution(0, 1), EPOCH), Vec::<String>::new());
    assert_eq!(space.lose_client(execution(0, 0), EPOCH), ["hidden"]);
    assert_eq!(ask(&mut space, write(3, b"two")), FileAnswer::TooShort(0));
    assert_eq!(ask(&mut space, sync(3)), FileAnswer::NotFound);
}

#[test]
fn a_crash_may_leave_what_was_published_in_both_places() {
    let published = || {
        let mut space = ObjectSpace::default();
        for operation in [write(0, b"one"), sync(3), publish(3)] {
            assert_eq!(ask(&mut space, operation), FileAnswer::Done);
        }
        space
    };
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let mut space = published();
        space.crash(&mut SeedChoices::new(seed));
        assert_eq!(space.read("target"), Some(&b"one"[..]));
        seen.insert(space.read("hidden").is_some());
        assert_eq!(ask(&mut space, publish(3)), FileAnswer::AlreadyDone);
        assert_eq!(space.read("hidden"), None, "publishing again ends what the crash cut short");
    }
    assert_eq!(seen.len(), 2, "it is a matter of choice");
    let mut space = published();
    space.crash(&mut BenignChoices);
    assert_eq!(space.read("hidden"), None, "the default is benign");
}
