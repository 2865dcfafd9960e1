//! Tasks under scripted mail: what goes in, and the outbox that comes out.

mod checkpoints;
mod commits;
mod committers;
mod defects;
mod ends;
mod failures;
mod harness;
mod life;
mod stops;
mod topologies;
