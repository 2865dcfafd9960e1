//! Connectors, as pure logic, and the two places where the kind of a job's sink decides which one it is.

pub mod defective;
pub mod file_sink;
pub mod file_source;
pub mod leftovers;
pub mod log_sink;
pub mod log_source;
pub mod named_committable;
pub mod postcard_serializer;
pub mod prepared_table_sink;
pub mod range_source;
mod record_batch;
#[cfg(test)]
mod recording_context;
pub mod snapshot_table_sink;
pub mod two_phase_sink;

use crate::api::sink::{
    CommitterAdapter, CommitterPort, Sink, SinkCommittable, SinkStateError, WriterAdapter, WriterInitContext,
    WriterPort,
};
use crate::config::SinkKind;
use crate::defects::DefectSet;
use crate::records::RecordRanges;
use named_committable::NamedCommittable;
use two_phase_sink::{BackingOffCommitter, ScriptedCommitter, TwoPhaseCommittable};

/// A writer and a committer, behind bytes.
pub type SinkPorts = (Box<dyn WriterPort>, Box<dyn CommitterPort>);

/// The writer and the committer of one subtask of a job's sink.
#[must_use]
pub fn create_sink(kind: SinkKind, context: &WriterInitContext, defects: DefectSet) -> SinkPorts {
    match kind {
        SinkKind::Append | SinkKind::Transactional => two_phase_sink::create_ports(kind, context, defects),
        SinkKind::Files(config) => file_sink::create_ports(config, context, defects),
        SinkKind::PreparedTable => prepared_table_sink::create_ports(context, defects),
        SinkKind::SnapshotTable => snapshot_table_sink::create_ports(context, defects),
        SinkKind::Log(config) => log_sink::create_ports(config, context, defects),
    }
}

/// The records in a stored committable of a sink of this kind.
///
/// # Errors
/// When the version is unknown or the bytes are damaged.
pub fn records_held(kind: SinkKind, version: u32, bytes: &[u8]) -> Result<RecordRanges, SinkStateError> {
    match kind {
        SinkKind::Append | SinkKind::Transactional => {
            Ok(TwoPhaseCommittable::from_bytes(version, bytes)?.records_held())
        }
        SinkKind::Files(_) => Ok(file_sink::FileOfRecords::from_bytes(version, bytes)?.records_held()),
        SinkKind::PreparedTable | SinkKind::SnapshotTable | SinkKind::Log(_) => {
            Ok(NamedCommittable::from_bytes(version, bytes)?.records_held())
        }
    }
}

/// Any sink's writer and committer behind bytes, the committer with the patience and the script that the job gives it.
fn ports_of<S: Sink>(sink: &S, context: &WriterInitContext) -> SinkPorts {
    let right = BackingOffCommitter::new(sink.create_committer(context), context.commit_back_off_ns);
    let committer: Box<dyn CommitterPort> = match context.commit_script {
        None => Box::new(CommitterAdapter::new(right)),
        Some(script) => {
            Box::new(CommitterAdapter::new(ScriptedCommitter::new(right, script, context.restored)))
        }
    };
    (Box::new(WriterAdapter(sink.create_writer(context))), committer)
}
