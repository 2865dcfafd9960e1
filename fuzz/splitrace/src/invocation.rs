//! How this program is called, so that a printed command can be pasted as it stands.
//!
//! Under `cargo run` it is that command again, with its profile; otherwise it is what the caller typed. Refused: always
//! `splitrace`, which nobody has on their path who has just cloned the repository, and the absolute path of the binary,
//! which goes stale with the next change of the code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the environment tells about the call.
#[derive(Clone, Debug, Default)]
struct Call {
    /// The program as it was typed.
    typed: Option<String>,
    /// The package that cargo runs, and the folder of its manifest.
    cargo: Option<(String, PathBuf)>,
    /// The binary.
    executable: Option<PathBuf>,
    /// Where the caller stands.
    folder: Option<PathBuf>,
}

/// The words before the subcommand: `cargo run --profile sim --`, `target/sim/splitrace`, `splitrace`.
#[must_use]
pub fn program() -> String {
    let text =
        |name: &str| std::env::var_os(name).map(|value: OsString| value.to_string_lossy().into_owned());
    words(&Call {
        typed: std::env::args_os().next().map(|typed| typed.to_string_lossy().into_owned()),
        cargo: text("CARGO_PKG_NAME").zip(text("CARGO_MANIFEST_DIR").map(PathBuf::from)),
        executable: std::env::current_exe().ok(),
        folder: std::env::current_dir().ok(),
    })
}

fn words(call: &Call) -> String {
    by_cargo(call).unwrap_or_else(|| quoted(call.typed.as_deref().unwrap_or("splitrace")))
}

/// The command by which cargo runs this program from where the caller stands, if it was cargo that ran it.
fn by_cargo(call: &Call) -> Option<String> {
    let (package, manifest_folder) = call.cargo.as_ref()?;
    if package != env!("CARGO_PKG_NAME") {
        return None;
    }
    let workspace = manifest_folder.parent()?.parent()?;
    let folder = call.folder.as_deref()?;
    // From the root the binary is found by itself; further in it must be named.
    let place = match folder.strip_prefix(workspace) {
        Ok(inside) if inside == Path::new("") => String::new(),
        Ok(_) => " -p splitrace".to_owned(),
        Err(_) => {
            format!(" --manifest-path {}", quoted(&workspace.join("Cargo.toml").display().to_string()))
        }
    };
    let profile_folder = call.executable.as_deref()?.parent()?.file_name()?.to_str()?;
    let profile = match profile_folder {
        "debug" => String::new(),
        "release" => " --release".to_owned(),
        other => format!(" --profile {other}"),
    };
    Some(format!("cargo run{place}{profile} --"))
}

/// A word as a POSIX shell takes it, quoted only where it must be.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn under_cargo(folder: &str, profile: &str) -> Call {
        Call {
            typed: Some(format!("target/{profile}/splitrace")),
            cargo: Some(("splitrace".to_owned(), PathBuf::from("/house/fuzz/splitrace"))),
            executable: Some(PathBuf::from(format!("/house/target/{profile}/splitrace"))),
            folder: Some(PathBuf::from(folder)),
        }
    }

    #[test]
    fn under_cargo_it_is_cargo_with_its_profile() {
        assert_eq!(words(&under_cargo("/house", "debug")), "cargo run --");
        assert_eq!(words(&under_cargo("/house", "release")), "cargo run --release --");
        assert_eq!(words(&under_cargo("/house", "sim")), "cargo run --profile sim --");
        assert_eq!(words(&under_cargo("/house/docs", "sim")), "cargo run -p splitrace --profile sim --");
        assert_eq!(
            words(&under_cargo("/elsewhere", "sim")),
            "cargo run --manifest-path /house/Cargo.toml --profile sim --"
        );
    }

    #[test]
    fn otherwise_it_is_what_was_typed() {
        let typed = |typed: &str| Call { typed: Some(typed.to_owned()), ..Call::default() };
        assert_eq!(words(&typed("splitrace")), "splitrace");
        assert_eq!(words(&typed("target/sim/splitrace")), "target/sim/splitrace");
        assert_eq!(words(&typed("/my tools/splitrace")), "'/my tools/splitrace'");
        assert_eq!(words(&Call::default()), "splitrace");
        // Cargo runs something else, which calls this program.
        let mut other = under_cargo("/house", "sim");
        other.cargo = Some(("xtask".to_owned(), PathBuf::from("/house/xtask")));
        assert_eq!(words(&other), "target/sim/splitrace");
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_take_it_apart() {
        assert_eq!(quoted("a/b-c_1.toml"), "a/b-c_1.toml");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's mine.toml"), r"'it'\''s mine.toml'");
        assert_eq!(quoted("$HOME"), "'$HOME'");
    }
}
