//! The simulated object store against the `object_store` crate's, on a disk and in memory: the same operations, the same
//! answers, the same objects at the end.

#[path = "support/file_operations.rs"]
mod file_operations;

use file_operations::{operation, path};
use proptest::prelude::*;
use splitrace::real_objects::RealObjects;
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use splitrace_runtime::ids::{AttemptNumber, ExecutionAttemptId, LeaderEpoch, OperatorUid, SubtaskIndex};
use splitrace_sim::outside::ObjectSpace;
use std::sync::Arc;

/// An upload that comes to something: random operations alone seldom hit the right length.
fn life() -> impl Strategy<Value = Vec<FileOperation>> {
    (path(), path(), prop::collection::vec(prop::collection::vec(any::<u8>(), 1..5), 1..4)).prop_map(
        |(path, target, parts)| {
            let mut length = 0;
            let mut operations = Vec::new();
            for bytes in parts {
                let at = length;
                length += bytes.len() as u64;
                let write = FileOperation::Write { path: path.clone(), at, bytes };
                operations.extend([write.clone(), write]);
            }
            operations.push(FileOperation::Sync { path: path.clone(), length });
            let publish = FileOperation::Publish { hidden: path, target, length };
            operations.extend([publish.clone(), publish]);
            operations
        },
    )
}

fn operations() -> impl Strategy<Value = Vec<FileOperation>> {
    let part = prop_oneof![2 => operation().prop_map(|operation| vec![operation]), 1 => life()];
    prop::collection::vec(part, 1..25).prop_map(|parts| parts.concat())
}

/// What both came to.
fn compare(mut real: RealObjects, operations: &[FileOperation]) -> Result<(), TestCaseError> {
    let attempt =
        ExecutionAttemptId { vertex: OperatorUid(0), subtask: SubtaskIndex(0), attempt: AttemptNumber(0) };
    let mut simulated = ObjectSpace::default();
    let mut both = |operation: &FileOperation| {
        (real.perform(operation), simulated.perform(attempt, LeaderEpoch(1), operation))
    };
    for operation in operations {
        let (real, simulated) = both(operation);
        prop_assert_eq!(real, simulated, "{:?}", operation);
    }
    let (listed, _) = both(&FileOperation::List { folder: String::new() });
    let FileAnswer::Listed(objects) = listed else { panic!("a list lists") };
    for (path, length) in objects {
        let (real, simulated) = both(&FileOperation::Read { path, at: 0, length });
        prop_assert_eq!(real, simulated);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_local_implementation_answers_alike(operations in operations()) {
        let folder = tempfile::tempdir().expect("a folder for the test");
        compare(RealObjects::local(folder.path()).expect("the folder is there"), &operations)?;
    }

    #[test]
    fn the_one_in_memory_answers_alike(operations in operations()) {
        let store = object_store::memory::InMemory::new();
        compare(RealObjects::new(Arc::new(store)).expect("there is room"), &operations)?;
    }
}

#[test]
fn a_path_that_leads_out_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mut real = RealObjects::local(folder.path()).expect("the folder is there");
    for path in ["../a", "a/../../b"] {
        let answer = real.perform(&FileOperation::Write { path: path.to_owned(), at: 0, bytes: vec![1] });
        assert!(matches!(&answer, FileAnswer::Failed(_)), "{path}: {answer:?}");
    }
}
