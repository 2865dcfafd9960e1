//! The session layer between roles and network.
