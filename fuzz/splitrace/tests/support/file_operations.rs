//! Generated file operations on a few paths, small enough that they get into each other's way.

use proptest::prelude::*;
use splitrace_runtime::api::file_io::FileOperation;

const PATHS: [&str; 5] = ["a", "b", "folder/a", "folder/.b.inprogress.1", "folder/deeper/c"];

pub fn path() -> impl Strategy<Value = String> {
    prop::sample::select(&PATHS[..]).prop_map(str::to_owned)
}

pub fn operation() -> impl Strategy<Value = FileOperation> {
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
