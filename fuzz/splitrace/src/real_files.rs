//! File operations on a real file system, below one folder.
//!
//! The answers are those of the simulated one, and a test holds that. What a system call refuses beyond them is told as
//! [`FileAnswer::Failed`] with the system's words. A path that leads out of the folder is refused before any call.

use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};

/// See the module.
#[derive(Clone, Debug)]
pub struct RealFiles {
    root: PathBuf,
}

impl RealFiles {
    /// Everything below this folder, which exists.
    #[must_use]
    pub const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Carries an operation out.
    pub fn perform(&self, operation: &FileOperation) -> FileAnswer {
        let done = match operation {
            FileOperation::Write { path, at, bytes } => self.write(path, *at, bytes),
            FileOperation::Sync { path, length } => self.sync(path, *length),
            FileOperation::Resume { path, length } => self.resume(path, *length),
            FileOperation::Publish { hidden, target, length } => self.publish(hidden, target, *length),
            FileOperation::Delete { path } => self.delete(path),
            FileOperation::Read { path, at, length } => self.read(path, *at, *length).map(FileAnswer::Bytes),
            FileOperation::List { folder } => self.list(folder).map(FileAnswer::Listed),
        };
        done.unwrap_or_else(|error| match error.kind() {
            ErrorKind::NotFound => FileAnswer::NotFound,
            ErrorKind::StorageFull => FileAnswer::NoSpace,
            _ => FileAnswer::Failed(error.to_string()),
        })
    }

    fn at(&self, path: &str) -> io::Result<PathBuf> {
        let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if is_plain {
            Ok(self.root.join(path))
        } else {
            Err(io::Error::new(ErrorKind::InvalidInput, format!("'{path}' leads out of the folder")))
        }
    }

    fn write(&self, path: &str, at: u64, bytes: &[u8]) -> io::Result<FileAnswer> {
        let path = self.at(path)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let length = path.metadata().map_or(0, |data| data.len());
        if length < at {
            return Ok(FileAnswer::TooShort(length));
        }
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        file.set_len(at)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)?;
        Ok(FileAnswer::Done)
    }

    fn sync(&self, path: &str, length: u64) -> io::Result<FileAnswer> {
        let path = self.at(path)?;
        let file = File::open(&path)?;
        file.sync_all()?;
        let written = file.metadata()?.len();
        if written < length {
            return Ok(FileAnswer::TooShort(written));
        }
        // The name must be durable too.
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(FileAnswer::Done)
    }

    fn resume(&self, path: &str, length: u64) -> io::Result<FileAnswer> {
        cut_to(&self.at(path)?, length)
    }

    fn publish(&self, hidden: &str, target: &str, length: u64) -> io::Result<FileAnswer> {
        let (hidden, target) = (self.at(hidden)?, self.at(target)?);
        if !hidden.exists() {
            return Ok(if target.exists() { FileAnswer::AlreadyDone } else { FileAnswer::NotFound });
        }
        let cut = cut_to(&hidden, length)?;
        if cut == FileAnswer::Done
            && let Some(folder) = target.parent()
        {
            fs::create_dir_all(folder)?;
            fs::rename(&hidden, &target)?;
            File::open(folder)?.sync_all()?;
        }
        Ok(cut)
    }

    fn delete(&self, path: &str) -> io::Result<FileAnswer> {
        match fs::remove_file(self.at(path)?) {
            Ok(()) => Ok(FileAnswer::Done),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(FileAnswer::AlreadyDone),
            Err(error) => Err(error),
        }
    }

    fn read(&self, path: &str, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.at(path)?)?;
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        let mut folders = vec![self.at(folder)?];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for entry in entries {
                let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
                if kind.is_dir() {
                    folders.push(path);
                    continue;
                }
                // A link counts as what it leads to, if that is a file; what is gone meanwhile is not there.
                match path.metadata() {
                    Ok(data) if data.is_file() => found.push((self.name_of(&path)?, data.len())),
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The path below the root. A name that is no text could not be asked for again: it is refused, and never passed over.
    fn name_of(&self, path: &Path) -> io::Result<String> {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Option<Vec<&str>> = below.components().map(|part| part.as_os_str().to_str()).collect();
        parts.map(|parts| parts.join("/")).ok_or_else(|| {
            let message = format!("the name of '{}' is not in UTF-8: rename it", below.display());
            io::Error::new(ErrorKind::InvalidData, message)
        })
    }
}

/// Cuts a file and makes the cut durable.
fn cut_to(path: &Path, length: u64) -> io::Result<FileAnswer> {
    let file = OpenOptions::new().write(true).open(path)?;
    let found = file.metadata()?.len();
    if found < length {
        return Ok(FileAnswer::TooShort(found));
    }
    file.set_len(length)?;
    file.sync_all()?;
    Ok(FileAnswer::Done)
}
