//! The task: a mailbox and a default action over the chain reader -> map -> writer -> committer.
