//! The folder of replay files. It is tried before a campaign starts, and what is in it is never overwritten.

use super::{CampaignResult, Interrupts};
use crate::engine::{self, ReplayFile, ScenarioSource};
use crate::error::CommandError;
use splitrace_invariants::Code;
use splitrace_sim::trace_hash_text;
use std::collections::BTreeMap;
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

    /// Writes a file, and answers where it stands and whether it is new. The name is `seed-7.json`; when another run of
    /// that seed has it (another scenario, defect or program), `seed-7-<trace hash>.json`. A file that is there with the
    /// same content is the same find, and one more copy would only look like another.
    fn keep(&self, seed: u64, file: &ReplayFile) -> Result<Kept, CommandError> {
        let text = file.to_text();
        let names = [
            format!("seed-{seed}.json"),
            format!("seed-{seed}-{}.json", trace_hash_text::text(file.trace_hash)),
        ];
        let mut path = self.path.join(&names[0]);
        for name in names {
            path = self.path.join(name);
            if fs::read_to_string(&path).is_ok_and(|held| held == text) {
                return Ok(Kept { path, is_new: false });
            }
            if path.symlink_metadata().is_err() {
                break;
            }
        }
        // Should both names be taken by something else, this says so.
        file.write_new(&path).map_err(CommandError::UnwritableFile)?;
        Ok(Kept { path, is_new: true })
    }
}

/// Where a replay file stands.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    is_new: bool,
}

/// Runs what is kept once more and writes it. A run is determined by its seed, so nothing large had to be kept.
pub(super) fn write(
    folder: &Folder,
    source: &ScenarioSource,
    result: &mut CampaignResult,
    interrupts: &Interrupts,
) {
    // The Ctrl-C that ended the runs is not one that ends this.
    let stop = || interrupts.count() > 1;
    let mut seeds: BTreeMap<u64, bool> = BTreeMap::new();
    for (shape, failure) in &result.summary.failures {
        let is_divergence = shape.code.as_deref() == Some(Code::D1.as_str());
        seeds.extend(failure.seeds.iter().map(|seed| (*seed, is_divergence)));
    }
    for (seed, is_divergence) in seeds {
        let scenario = source.scenario(seed);
        let of_seed = if is_divergence { engine::replay_file_of_divergence } else { engine::replay_file };
        let Some(file) = Some(()).filter(|()| !stop()).and_then(|()| of_seed(&scenario, seed, &stop)) else {
            result.files_left_out += 1;
            continue;
        };
        match folder.keep(seed, &file) {
            Ok(kept) => {
                let there = if kept.is_new { "" } else { " (it was there already)" };
                result.files.push(format!("{}{there}", kept.path.display()));
            }
            Err(error) => result.file_errors.push(error.to_string()),
        }
    }
    result.interrupted |= result.files_left_out > 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Scenario;

    #[test]
    fn the_same_find_is_kept_once_and_another_run_of_the_seed_beside_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::open(folder.path()).expect("it is writable");
        let file = engine::replay_file(&Scenario::draw(7), 7, &|| false).expect("nobody stops it");
        let mut other = file.clone();
        other.trace_hash = 0x2a;
        let name = |kept: Kept| {
            let name = kept.path.file_name().expect("it has one").to_string_lossy().into_owned();
            (name, kept.is_new)
        };
        let keep = |file| folder.keep(7, file).map(name).expect("it is writable");
        assert_eq!(keep(&file), ("seed-7.json".to_owned(), true));
        assert_eq!(keep(&file), ("seed-7.json".to_owned(), false));
        assert_eq!(keep(&other), ("seed-7-0x000000000000002a.json".to_owned(), true));
        assert_eq!(keep(&other), ("seed-7-0x000000000000002a.json".to_owned(), false));
        // Both names taken by something else: nothing is overwritten.
        let mut third = other.clone();
        third.seed = None;
        assert!(matches!(folder.keep(7, &third), Err(CommandError::UnwritableFile(_))));
        assert!(!keep(&other).1);
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
