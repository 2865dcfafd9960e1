//! The `splitrace` command: everything is in the library, so that tests can call it.

fn main() -> std::process::ExitCode {
    splitrace::run(std::env::args_os())
}
