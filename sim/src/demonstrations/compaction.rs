//! Defects of the compactor of a file sink.

use super::{Demonstration, job};
use splitrace_runtime::config::{CompactionConfig, FileSinkConfig, JobConfig, SinkKind};
use splitrace_runtime::connectors::file_sink::RollingPolicy;
use splitrace_runtime::defects::Defect;

/// Small files, two per subtask and checkpoint, which become one at every second checkpoint.
fn compacting(job: &mut JobConfig) {
    job.vertices[0].source.records_per_split = 30;
    job.sink = SinkKind::Files(FileSinkConfig {
        policy: RollingPolicy::OnCheckpoint,
        buckets: 2,
        compaction: Some(CompactionConfig { every_checkpoints: 3 }),
        ..FileSinkConfig::DEFAULT
    });
}

/// Their demonstrations.
pub(super) const ALL: &[Demonstration] = &[
    Demonstration {
        defect: Defect::OneLeftoverCompacted,
        story: "a subtask fails when its compactor holds several closed files",
        scenario: || job(compacting, &["after(completion-noticed checkpoint=2 subtask=0) do fail-task"]),
    },
    Demonstration {
        defect: Defect::CompactorEndsUnflushed,
        story: "the input ends between two compactions",
        scenario: || job(compacting, &[]),
    },
    Demonstration {
        defect: Defect::SourcesRemovedEarly,
        story: "a subtask fails with files that were removed, and the checkpoint that holds what came of them is lost",
        scenario: || {
            job(
                compacting,
                &[
                    "before(send-acknowledge checkpoint=3 subtask=1) do lose",
                    "after(acknowledged checkpoint=3 subtask=0) do fail-task vertex=0 subtask=0",
                ],
            )
        },
    },
];
