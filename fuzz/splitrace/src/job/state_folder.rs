//! What of a job outlives the program: one file, replaced as a whole, and a lock beside it.
//!
//! ```text
//! "SPLITJOB" · version (4 bytes) · xxh3 of the rest (8 bytes) · postcard
//! ```
//! A new state is written beside the old one, made durable, and then renamed over it, and the rename is made durable too.
//! So there is the old one or the new one at every moment, never a part. The checksum is against what no rename guards
//! from: a disk that forgets, an editor, a copy that was cut.

use super::error::JobError;
use serde::{Deserialize, Serialize};
use splitrace_sim::outside::DurableState;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"SPLITJOB";
/// Raised when what is saved changes its shape.
const VERSION: u32 = 1;
const HEAD: usize = MAGIC.len() + size_of::<u32>() + size_of::<u64>();
const STATE: &str = "state";
const STATE_UNFINISHED: &str = "state.new";
const LOCK: &str = "lock";

/// What tells one job from another: a state says nothing about other files.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct JobKey {
    /// The input folder.
    pub source: String,
    /// How records lie in its files.
    pub format: String,
    /// The output folder.
    pub sink: String,
}

/// What is saved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    /// Whose.
    pub key: JobKey,
    /// What the high-availability service holds.
    pub service: DurableState,
}

/// The folder, held by this run alone.
#[derive(Debug)]
pub(super) struct StateFolder {
    path: PathBuf,
    /// Locked as long as it is open; the system unlocks it when the program dies.
    _lock: File,
}

impl StateFolder {
    /// Takes the folder, which is made if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self, JobError> {
        let failed = |source| JobError::Folder { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(failed)?;
        let lock_path = path.join(LOCK);
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(JobError::Locked { path: lock_path }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// The file of the state.
    pub(super) fn state_path(&self) -> PathBuf {
        self.path.join(STATE)
    }

    /// What was saved last; nothing for a new job.
    pub(super) fn read(&self) -> Result<Option<Saved>, JobError> {
        let path = self.state_path();
        match std::fs::read(&path) {
            Ok(bytes) => decode(&path, &bytes).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(JobError::Unreadable { path, source }),
        }
    }

    /// Replaces what was saved. When this returns, it survives a loss of power.
    pub(super) fn write(&self, saved: &Saved) -> io::Result<()> {
        let (unfinished, path) = (self.path.join(STATE_UNFINISHED), self.path.join(STATE));
        let mut file = File::create(&unfinished)?;
        file.write_all(&encode(saved))?;
        file.sync_all()?;
        std::fs::rename(&unfinished, &path)?;
        File::open(&self.path)?.sync_all()
    }
}

fn encode(saved: &Saved) -> Vec<u8> {
    let body = postcard::to_stdvec(saved).expect("plain data always serialises");
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&xxh3_64(&body).to_le_bytes());
    debug_assert_eq!(bytes.len(), HEAD);
    bytes.extend_from_slice(&body);
    bytes
}

fn decode(path: &Path, bytes: &[u8]) -> Result<Saved, JobError> {
    let damaged = |what: &str| JobError::DamagedState { path: path.to_owned(), what: what.to_owned() };
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(JobError::ForeignState { path: path.to_owned() });
    };
    let Some((version, rest)) = rest.split_first_chunk() else { return Err(damaged("it is cut short")) };
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(JobError::UnknownVersion { path: path.to_owned(), version, known: VERSION });
    }
    let Some((checksum, body)) = rest.split_first_chunk() else { return Err(damaged("it is cut short")) };
    if u64::from_le_bytes(*checksum) != xxh3_64(body) {
        return Err(damaged("its checksum is another"));
    }
    postcard::from_bytes(body).map_err(|error| damaged(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitrace_runtime::ids::LeaderEpoch;

    fn saved() -> Saved {
        let text = |text: &str| text.to_owned();
        let key = JobKey { source: text("in"), format: text("text-lines"), sink: text("out") };
        Saved { key, service: DurableState::default() }
    }

    #[test]
    fn what_is_written_is_read_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("made/on/demand");
        let state = StateFolder::open(&path).expect("it can be made");
        assert_eq!(state.read().expect("there is nothing to be wrong"), None);
        for epoch in [1, 2] {
            let service = DurableState { epoch: LeaderEpoch(epoch), ..DurableState::default() };
            let saved = Saved { service, ..saved() };
            state.write(&saved).expect("it is writable");
            assert_eq!(state.read().expect("it was just written"), Some(saved));
        }
        assert!(!path.join(STATE_UNFINISHED).exists(), "the new one became the old one");
    }

    #[test]
    fn a_folder_belongs_to_one_run() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let first = StateFolder::open(folder.path()).expect("it is free");
        let said = StateFolder::open(folder.path()).expect_err("it is taken").to_string();
        assert!(said.starts_with("another run of this job is under way"), "{said}");
        drop(first);
        StateFolder::open(folder.path()).expect("it is free again");
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_seen() {
        let bytes = encode(&saved());
        let path = Path::new("state");
        assert_eq!(decode(path, &bytes).expect("whole"), saved());
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x20;
            assert!(decode(path, &changed).is_err(), "byte {at}");
            assert!(decode(path, &bytes[..at]).is_err(), "cut at {at}");
        }
        let foreign = decode(path, b"a shopping list").expect_err("foreign").to_string();
        assert!(foreign.contains("is no state of a job"), "{foreign}");
        let damaged = decode(path, &bytes[..bytes.len() - 1]).expect_err("cut").to_string();
        assert!(damaged.contains("is damaged (its checksum is another)"), "{damaged}");
    }
}
