//! The folder of replay files. It is tried before a campaign starts, and what is in it is never overwritten.

use crate::campaign::Summary;
use crate::engine::{self, ReplayFile, ScenarioSource, Stop};
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
    /// that seed has it (another scenario, defect or program), `seed-7-<trace hash>.json`; and numbered behind that when
    /// even the trace is the same. A file that is there with the same content is the same find, and one more copy would
    /// only look like another.
    fn keep(&self, seed: u64, file: &ReplayFile) -> Result<Kept, CommandError> {
        let text = file.to_text();
        let with_hash = format!("seed-{seed}-{}", trace_hash_text::text(file.trace_hash));
        let name = |number: u32| match number {
            0 => format!("seed-{seed}.json"),
            1 => format!("{with_hash}.json"),
            number => format!("{with_hash}-{number}.json"),
        };
        let holds_it = |path: &Path| fs::read_to_string(path).is_ok_and(|held| held == text);
        for path in (0..=u32::MAX).map(|number| self.path.join(name(number))) {
            if path.symlink_metadata().is_err() {
                match file.write_new(&path) {
                    // Another campaign was faster; what it wrote may be the same.
                    Err(error) if ReplayFile::is_taken(&error) => {}
                    Err(error) => return Err(CommandError::UnwritableFile(error)),
                    Ok(()) => return Ok(Kept { path, is_new: true }),
                }
            }
            if holds_it(&path) {
                return Ok(Kept { path, is_new: false });
            }
        }
        unreachable!("no folder holds four thousand million runs of one seed")
    }
}

/// Where a replay file stands.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    is_new: bool,
}

/// What became of the files.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Where they stand.
    pub(super) files: Vec<String>,
    /// How many are not written, because there was no time.
    pub(super) left_out: u64,
    /// What could not be written, and why.
    pub(super) errors: Vec<String>,
}

/// Runs what is kept once more and writes it, until it is stopped. A run is determined by its seed, so nothing large had
/// to be kept.
pub(super) fn write(folder: &Folder, source: &ScenarioSource, summary: &Summary, stop: Stop<'_>) -> Written {
    let mut seeds: BTreeMap<u64, bool> = BTreeMap::new();
    for (shape, failure) in &summary.failures {
        let is_divergence = shape.code.as_deref() == Some(Code::D1.as_str());
        seeds.extend(failure.seeds.iter().map(|seed| (*seed, is_divergence)));
    }
    let mut written = Written::default();
    for (seed, is_divergence) in seeds {
        let scenario = source.scenario(seed);
        let of_seed = if is_divergence { engine::replay_file_of_divergence } else { engine::replay_file };
        let file = if stop() { None } else { of_seed(&scenario, seed, stop) };
        let Some(mut file) = file else {
            written.left_out += 1;
            continue;
        };
        file.maker = source.maker();
        match folder.keep(seed, &file) {
            Ok(kept) => {
                let there = if kept.is_new { "" } else { " (it was there already)" };
                written.files.push(format!("{}{there}", kept.path.display()));
            }
            Err(error) => written.errors.push(error.to_string()),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Switches;
    use crate::campaign::{Behind, Failure, FailureShape};
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
        let mut third = other.clone();
        third.seed = None;
        assert_eq!(keep(&third), ("seed-7-0x000000000000002a-2.json".to_owned(), true));
        assert_eq!(keep(&third), ("seed-7-0x000000000000002a-2.json".to_owned(), false));
        assert!(!keep(&other).1 && !keep(&file).1);
    }

    #[test]
    fn a_stop_leaves_out_the_files_that_are_not_written_yet() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::open(folder.path()).expect("it is writable");
        let source = ScenarioSource::new(None, &Switches::default()).expect("nothing is read");
        let shape = FailureShape::new("violated", Some("C1"), "as planted", &Behind::default());
        let failure = Failure { count: 3, seeds: vec![1, 2, 3], sentence: "as planted".to_owned() };
        let summary = Summary { failures: [(shape, failure)].into(), ..Summary::default() };
        // A look before each file, and more inside its run.
        let stop = || fs::read_dir(&folder.path).map(Iterator::count).is_ok_and(|count| count >= 1);
        let written = write(&folder, &source, &summary, &stop);
        assert_eq!((written.files.len(), written.left_out, written.errors.len()), (1, 2, 0));
        let written = write(&folder, &source, &summary, &|| false);
        assert_eq!((written.files.len(), written.left_out), (3, 0));
        assert!(written.files[0].ends_with("seed-1.json (it was there already)"), "{:?}", written.files);
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
