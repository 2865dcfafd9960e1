//! The folder of replay files. It is tried before a campaign starts, and what is in it is never overwritten.

use crate::engine::ReplayFile;
use crate::error::CommandError;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that can be written to.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder if need be and tries whether a file can be made in it.
    pub(super) fn open(path: &Path) -> Result<Self, CommandError> {
        let unwritable = |source| CommandError::UnwritableFolder { path: path.to_owned(), source };
        fs::create_dir_all(path).map_err(unwritable)?;
        // Permissions, quotas, read-only mounts: only a file that was made proves that one can be made.
        let probe = path.join(format!(".splitrace-probe-{}", std::process::id()));
        fs::File::create_new(&probe).and_then(|_| fs::remove_file(&probe)).map_err(unwritable)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Writes a file under a name that is not taken: `seed-7.json`, else `seed-7-2.json` and so on.
    pub(super) fn write_new(&self, seed: u64, file: &ReplayFile) -> Result<PathBuf, CommandError> {
        let path = free_name(seed, |name| self.path.join(name).symlink_metadata().is_ok());
        let path = self.path.join(path);
        file.write_new(&path).map_err(|error| CommandError::UnwritableFile {
            path: path.clone(),
            message: error.to_string(),
        })?;
        Ok(path)
    }
}

fn free_name(seed: u64, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = format!("seed-{seed}.json");
    let mut number = 2;
    while is_taken(&name) {
        name = format!("seed-{seed}-{number}.json");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_is_left_alone() {
        assert_eq!(free_name(7, |_| false), "seed-7.json");
        assert_eq!(free_name(7, |name| ["seed-7.json", "seed-7-2.json"].contains(&name)), "seed-7-3.json");
    }

    #[test]
    fn a_file_is_no_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("file");
        fs::write(&file, "mine").expect("it is writable");
        assert!(matches!(Folder::open(&file), Err(CommandError::UnwritableFolder { .. })));
        assert_eq!(fs::read_to_string(&file).expect("it is still there"), "mine");
        assert!(Folder::open(&folder.path().join("new/deep")).is_ok());
        assert_eq!(fs::read_dir(folder.path().join("new/deep")).map(Iterator::count).ok(), Some(0));
    }
}
