//! The simulated file system against a real one: the same operations, the same answers, the same files at the end.

#[path = "support/file_operations.rs"]
mod file_operations;

use file_operations::operation;
use proptest::prelude::*;
use splitrace::real_files::RealFiles;
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use splitrace_sim::outside::FileSystem;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_answer_alike(operations in prop::collection::vec(operation(), 1..40)) {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let real = RealFiles::new(folder.path().to_owned());
        let mut simulated = FileSystem::default();
        for operation in &operations {
            prop_assert_eq!(real.perform(operation), simulated.perform(operation), "{:?}", operation);
        }
        let listed = simulated.perform(&FileOperation::List { folder: String::new() });
        let FileAnswer::Listed(files) = listed else { panic!("a list lists") };
        for (path, _) in files {
            let content = std::fs::read(folder.path().join(&path)).expect("it was listed");
            prop_assert_eq!(Some(&content[..]), simulated.read(&path));
        }
    }
}

#[test]
fn a_path_that_leads_out_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let real = RealFiles::new(folder.path().to_owned());
    for path in ["../a", "/a", "a/../../b"] {
        let answer = real.perform(&FileOperation::Write { path: path.to_owned(), at: 0, bytes: vec![1] });
        assert!(
            matches!(&answer, FileAnswer::Failed(why) if why.contains("leads out")),
            "{path}: {answer:?}"
        );
    }
}

/// It could not be asked for again under the name that it would be listed by, so it is told, and not passed over.
#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder for the test");
    let name = std::ffi::OsStr::from_bytes(b"x\xff");
    std::fs::write(folder.path().join(name), "lost").expect("it is writable");
    let answer =
        RealFiles::new(folder.path().to_owned()).perform(&FileOperation::List { folder: String::new() });
    assert!(
        matches!(&answer, FileAnswer::Failed(why) if why.contains("is not in UTF-8: rename it")),
        "{answer:?}"
    );
}
