//! File operations on an object store, through the `object_store` crate.
//!
//! The answers are those of the simulated one, and a test holds that. An upload lives in this program, and dies with it: a
//! small object is put at once, a large one in parts. The part that was written last is held back until the next one comes,
//! since a write of unknown outcome is asked again, and what was sent cannot be taken back. There is no rename: to publish
//! is to copy and then to delete, and whoever publishes again after a death between the two finds the copy.

use futures_util::TryStreamExt;
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Runtime;

/// An object of fewer bytes is put at once. S3 takes no smaller parts than 5 MiB.
const PART_BYTES: usize = 8 << 20;

/// See the module.
#[derive(Debug)]
pub struct RealObjects {
    objects: Objects,
    runtime: Runtime,
}

impl RealObjects {
    /// On any store.
    ///
    /// # Errors
    /// When the system has no room for a runtime.
    pub fn new(store: Arc<dyn ObjectStore>) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        Ok(Self { objects: Objects { store, uploads: BTreeMap::new() }, runtime })
    }

    /// On the crate's local implementation, below this folder, which exists and is this program's alone: what uploads of a
    /// program that was killed have left is removed.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn local(root: &Path) -> std::io::Result<Self> {
        remove_staged(root)?;
        let store = LocalFileSystem::new_with_prefix(root).map_err(std::io::Error::other)?;
        Self::new(Arc::new(store.with_fsync(true)))
    }

    /// Carries an operation out.
    pub fn perform(&mut self, operation: &FileOperation) -> FileAnswer {
        let Self { objects, runtime } = self;
        runtime.block_on(objects.perform(operation)).unwrap_or_else(|error| match error {
            Error::NotFound { .. } => FileAnswer::NotFound,
            error if is_full(&error) => FileAnswer::NoSpace,
            error => FileAnswer::Failed(error.to_string()),
        })
    }
}

/// Removes staged uploads: the local implementation keeps them beside their objects, under names with a `#` and a number.
fn remove_staged(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.is_dir() {
            remove_staged(&path)?;
        } else if is_staged(&path) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn is_staged(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.rsplit_once('#').is_some_and(|(_, number)| number.parse::<u64>().is_ok())
}

/// Whether there was no space left, whatever it is wrapped in.
fn is_full(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::StorageFull)
        {
            return true;
        }
        cause = error.source();
    }
    false
}

/// What is being sent to a path.
#[derive(Debug)]
struct Upload {
    sent: BufWriter,
    sent_bytes: u64,
    /// What was written last, and is not sent yet.
    last_part: Vec<u8>,
}

impl Upload {
    fn length(&self) -> u64 {
        self.sent_bytes + self.last_part.len() as u64
    }

    async fn send_last_part(&mut self) -> Result<(), Error> {
        let part = std::mem::take(&mut self.last_part);
        self.sent_bytes += part.len() as u64;
        self.sent.put(part.into()).await
    }
}

#[derive(Debug)]
struct Objects {
    store: Arc<dyn ObjectStore>,
    uploads: BTreeMap<String, Upload>,
}

impl Objects {
    async fn perform(&mut self, operation: &FileOperation) -> Result<FileAnswer, Error> {
        match operation {
            FileOperation::Write { path, at, bytes } => self.write(path, *at, bytes).await,
            FileOperation::Sync { path, length } => self.complete(path, *length).await,
            FileOperation::Resume { path, .. } => {
                let is_there = self.uploads.contains_key(path) || self.length_of(path).await?.is_some();
                Ok(if is_there { FileAnswer::Immutable } else { FileAnswer::NotFound })
            }
            FileOperation::Publish { hidden, target, length } => self.publish(hidden, target, *length).await,
            FileOperation::Delete { path } => self.delete(path).await,
            FileOperation::Read { path, at, length } => self.read(path, *at, *length).await,
            FileOperation::List { folder } => self.list(folder).await,
        }
    }

    async fn write(&mut self, path: &str, at: u64, bytes: &[u8]) -> Result<FileAnswer, Error> {
        if at == 0 {
            self.abort(path).await;
            let sent =
                BufWriter::with_capacity(Arc::clone(&self.store), ObjectPath::parse(path)?, PART_BYTES);
            let upload = Upload { sent, sent_bytes: 0, last_part: bytes.to_vec() };
            self.uploads.insert(path.to_owned(), upload);
            return Ok(FileAnswer::Done);
        }
        let Some(upload) = self.uploads.get_mut(path) else { return Ok(FileAnswer::TooShort(0)) };
        let length = upload.length();
        if length < at {
            return Ok(FileAnswer::TooShort(length));
        }
        if at == length {
            upload.send_last_part().await?;
        } else if at != upload.sent_bytes {
            return Ok(FileAnswer::Immutable);
        }
        upload.last_part = bytes.to_vec();
        Ok(FileAnswer::Done)
    }

    async fn complete(&mut self, path: &str, length: u64) -> Result<FileAnswer, Error> {
        if let Some(upload) = self.uploads.get_mut(path) {
            let uploaded = upload.length();
            if uploaded < length {
                return Ok(FileAnswer::TooShort(uploaded));
            }
            let mut upload = self.uploads.remove(path).expect("it was there just now");
            upload.send_last_part().await?;
            // What is not complete is no object: whoever asks again is told so.
            upload
                .sent
                .shutdown()
                .await
                .map_err(|source| Error::Generic { store: "upload", source: Box::new(source) })?;
        }
        Ok(match self.length_of(path).await? {
            Some(short) if short < length => FileAnswer::TooShort(short),
            Some(_) => FileAnswer::Done,
            None => FileAnswer::NotFound,
        })
    }

    async fn publish(&mut self, hidden: &str, target: &str, length: u64) -> Result<FileAnswer, Error> {
        let is_there = self.length_of(target).await?.is_some();
        let Some(found) = self.length_of(hidden).await? else {
            return Ok(if is_there { FileAnswer::AlreadyDone } else { FileAnswer::NotFound });
        };
        if found < length {
            return Ok(FileAnswer::TooShort(found));
        }
        if found > length || hidden == target {
            return Ok(FileAnswer::Immutable);
        }
        let from = ObjectPath::parse(hidden)?;
        if !is_there {
            self.store.copy(&from, &ObjectPath::parse(target)?).await?;
        }
        self.store.delete(&from).await?;
        Ok(if is_there { FileAnswer::AlreadyDone } else { FileAnswer::Done })
    }

    async fn delete(&mut self, path: &str) -> Result<FileAnswer, Error> {
        let was_uploading = self.abort(path).await;
        let was_there = self.length_of(path).await?.is_some();
        if was_there {
            self.store.delete(&ObjectPath::parse(path)?).await?;
        }
        Ok(if was_uploading || was_there { FileAnswer::Done } else { FileAnswer::AlreadyDone })
    }

    async fn read(&self, path: &str, at: u64, length: u64) -> Result<FileAnswer, Error> {
        let Some(found) = self.length_of(path).await? else { return Ok(FileAnswer::NotFound) };
        let end = found.min(at.saturating_add(length));
        if end <= at {
            return Ok(FileAnswer::Bytes(Vec::new()));
        }
        let bytes = self.store.get_range(&ObjectPath::parse(path)?, at..end).await?;
        Ok(FileAnswer::Bytes(bytes.into()))
    }

    async fn list(&self, folder: &str) -> Result<FileAnswer, Error> {
        let prefix = if folder.is_empty() { None } else { Some(ObjectPath::parse(folder)?) };
        let found: Vec<_> = self.store.list(prefix.as_ref()).try_collect().await?;
        let mut listed: Vec<(String, u64)> =
            found.into_iter().map(|object| (object.location.to_string(), object.size)).collect();
        listed.sort_unstable();
        Ok(FileAnswer::Listed(listed))
    }

    /// Gives an upload up; answers whether there was one.
    async fn abort(&mut self, path: &str) -> bool {
        let Some(mut upload) = self.uploads.remove(path) else { return false };
        // A store that keeps parts of an upload that was given up does so without anybody seeing them.
        let _ = upload.sent.abort().await;
        true
    }

    /// The length of an object, if it is there.
    async fn length_of(&self, path: &str) -> Result<Option<u64>, Error> {
        match self.store.head(&ObjectPath::parse(path)?).await {
            Ok(object) => Ok(Some(object.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_program_was_uploading_is_removed() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        std::fs::create_dir(folder.path().join("deeper")).expect("it is writable");
        for name in ["a#1", "deeper/b#23", "c", "d#", "e#x"] {
            std::fs::write(folder.path().join(name), "x").expect("it is writable");
        }
        RealObjects::local(folder.path()).expect("the folder is there");
        let is_there = |name: &&str| folder.path().join(name).exists();
        let left: Vec<&str> = ["a#1", "deeper/b#23", "c", "d#", "e#x"].into_iter().filter(is_there).collect();
        assert_eq!(left, ["c", "d#", "e#x"]);
    }

    /// Larger than a part: it goes in several, and comes back whole.
    #[test]
    fn a_large_object_goes_in_parts() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let mut objects = RealObjects::local(folder.path()).expect("the folder is there");
        let path = || "large".to_owned();
        let block: Vec<u8> = (0..PART_BYTES / 2).map(|at| (at % 251) as u8).collect();
        for part in 0..5 {
            let at = part * block.len() as u64;
            let write = FileOperation::Write { path: path(), at, bytes: block.clone() };
            assert_eq!(objects.perform(&write), FileAnswer::Done);
            assert_eq!(objects.perform(&write), FileAnswer::Done, "asked again");
        }
        let length = 5 * block.len() as u64;
        assert_eq!(objects.perform(&FileOperation::Sync { path: path(), length }), FileAnswer::Done);
        assert_eq!(std::fs::read(folder.path().join("large")).expect("it is there"), block.repeat(5));
    }
}
