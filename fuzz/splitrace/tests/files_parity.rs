//! The simulated file system against a real one: the same operations, the same answers, the same files at the end.

use proptest::prelude::*;
use splitrace::real_files::RealFiles;
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use splitrace_sim::outside::FileSystem;

const PATHS: [&str; 5] = ["a", "b", "folder/a", "folder/.b.inprogress.1", "folder/deeper/c"];

fn path() -> impl Strategy<Value = String> {
    prop::sample::select(&PATHS[..]).prop_map(str::to_owned)
}

fn operation() -> impl Strategy<Value = FileOperation> {
    prop_oneof![
        4 => (path(), 0_u64..12, prop::collection::vec(any::<u8>(), 0..6))
            .prop_map(|(path, at, bytes)| FileOperation::Write { path, at, bytes }),
        1 => (path(), 0_u64..12).prop_map(|(path, length)| FileOperation::Sync { path, length }),
        2 => (path(), 0_u64..12).prop_map(|(path, length)| FileOperation::Resume { path, length }),
        2 => (path(), path(), 0_u64..12)
            .prop_map(|(hidden, target, length)| FileOperation::Publish { hidden, target, length }),
        2 => (path(), 0_u64..12, 0_u64..12)
            .prop_map(|(path, at, length)| FileOperation::Read { path, at, length }),
        1 => path().prop_map(|path| FileOperation::Delete { path }),
        1 => prop::sample::select(&["", "folder", "folder/deeper", "absent"][..])
            .prop_map(|folder| FileOperation::List { folder: folder.to_owned() }),
    ]
}

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
