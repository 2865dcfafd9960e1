//! Reading a text file that somebody names, and no more of it than any honest one has.
//!
//! Without the limit a device such as `/dev/zero` is read until memory is used up.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// A scenario has some kilobytes, a replay file of a run with a hundred thousand choices some megabytes.
pub const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is longer than [`BYTES_MAX`] bytes, or is no UTF-8.
pub fn read(path: &Path) -> Result<String> {
    read_at_most(path, BYTES_MAX)
}

fn read_at_most(path: &Path, bytes_max: u64) -> Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(bytes_max + 1).read_to_string(&mut text);
    // A limit in the middle of a character makes the rest look like no UTF-8; the length is the reason then.
    let is_too_long = text.len() as u64 > bytes_max
        || (read.is_err() && std::fs::metadata(path).is_ok_and(|file| file.len() > bytes_max));
    if is_too_long {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("longer than {bytes_max} bytes")));
    }
    read.map(|_| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("input");
        std::fs::write(&path, content).expect("it is writable");
        (folder, path)
    }

    #[test]
    fn a_text_of_the_greatest_length_is_read_and_a_longer_one_is_not() {
        let (_folder, path) = file(b"four");
        assert_eq!(read_at_most(&path, 4).expect("it is short enough"), "four");
        assert_eq!(read_at_most(&path, 3).expect_err("it is longer").kind(), ErrorKind::FileTooLarge);
        let (_folder, path) = file("öö".as_bytes());
        assert_eq!(read_at_most(&path, 2).expect_err("it is longer").kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn what_is_no_text_is_told_from_what_is_too_long() {
        let (_folder, path) = file(&[0xff, 0xfe]);
        assert_eq!(read_at_most(&path, 9).expect_err("it is no text").kind(), ErrorKind::InvalidData);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_an_end_is_no_file_to_read() {
        let error = read_at_most(Path::new("/dev/zero"), 1 << 16).expect_err("it has no end");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }
}
