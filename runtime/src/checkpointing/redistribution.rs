//! The state of a checkpoint dealt to another number of subtasks.
//!
//! Flink's operator state is a list for each subtask. When the parallelism changes, the lists are joined in subtask
//! order and cut into chunks: with `total` elements and `p` subtasks the first `total mod p` chunks are one longer
//! (FACT 52). It is not dealt out one by one, whatever some texts say.
//!
//! An element of the reader's state is a split, one of the writer's what it says (a bucket, for a file sink), one of the
//! committer's is the whole state of an old subtask (FACT 80). A subtask that had finished has no elements. What was
//! refused: to let tasks fetch their share themselves; then nobody could say where a split went before it was read.

use crate::api::sink::{
    HeldCheckpoint, SinkStateError, decode_committer_state, decode_writer_state, encode_committer_state,
    encode_writer_state,
};
use crate::api::source_state::{decode_reader_state, encode_reader_state, reader_splits_held};
use crate::checkpointing::contents::ContentsError;
use crate::config::JobConfig;
use crate::defects::{Defect, DefectSet};
use crate::event::EventKind;
use crate::ids::{OperatorUid, SubtaskId, SubtaskIndex, TransactionName};
use crate::message::{CompletedCheckpoint, SubtaskState, TaskSnapshot};
use crate::topology::{JobGraph, JobVertex};
use std::fmt::Display;
use std::sync::Arc;

/// The checkpoint with its state dealt to the subtasks of `config`; `None` when it has just those subtasks.
///
/// # Errors When state cannot be decoded, or state would have to be dealt that belongs to its subtask: that of a
/// coordinated operator that is no source, and that of channels.
pub fn redistribute(
    checkpoint: &CompletedCheckpoint,
    config: &JobConfig,
) -> Result<Option<CompletedCheckpoint>, ContentsError> {
    let graph = JobGraph::new(config);
    let is_same = |vertex: &JobVertex| parts(checkpoint, vertex.uid).count() == vertex.parallelism as usize;
    if graph.vertices().iter().all(is_same) {
        return Ok(None);
    }
    let mut subtasks = Vec::new();
    for vertex in graph.vertices() {
        subtasks.extend(deal_vertex(checkpoint, vertex, config.defects)?);
    }
    debug_assert!(subtasks.is_sorted_by_key(|part| part.subtask), "in (vertex, subtask) order");
    Ok(Some(CompletedCheckpoint {
        kind: checkpoint.kind,
        id: checkpoint.id,
        coordinators: checkpoint.coordinators.clone(),
        subtasks,
    }))
}

/// Tells where the splits and the committables went.
///
/// # Errors
/// When state cannot be decoded.
pub fn told(checkpoint: &CompletedCheckpoint) -> Result<EventKind, ContentsError> {
    let (mut readers, mut committables) = (Vec::new(), Vec::new());
    for part in &checkpoint.subtasks {
        let wrong = |error: &dyn Display| unreadable(part.subtask, "restored", error);
        let splits = reader_splits_held(&part.snapshot.reader).map_err(|error| wrong(&error))?;
        readers.extend(splits.into_iter().map(|split| (part.subtask, split)));
        let names = transactions(&part.snapshot).map_err(|error| wrong(&error))?;
        committables.extend(names.into_iter().map(|name| (part.subtask, name)));
    }
    Ok(EventKind::StateRedistributed { checkpoint: checkpoint.id, readers, committables })
}

/// The transactions of one writer, and of those that it stands in for, which the committers of other subtasks restore,
/// those of its own vertex or those of a vertex of committers: they survive that writer's recovery.
#[must_use]
pub fn held_elsewhere(checkpoint: &CompletedCheckpoint, writer: SubtaskId) -> Vec<TransactionName> {
    let parallelism = parts(checkpoint, writer.vertex).count() as u32;
    let is_other = |part: &&SubtaskState| {
        part.subtask.vertex.source() == writer.vertex.source() && part.subtask != writer
    };
    let others = checkpoint.subtasks.iter().filter(is_other);
    let names = others.flat_map(|part| transactions(&part.snapshot).unwrap_or_default());
    names.filter(|name| name.writer.stand_in(parallelism) == writer).collect()
}

/// The transactions that a subtask's sink goes on with, of its committer and of its writer.
fn transactions(snapshot: &TaskSnapshot) -> Result<Vec<TransactionName>, SinkStateError> {
    let held = decode_committer_state(&snapshot.committer)?;
    let committables = held.iter().flat_map(HeldCheckpoint::pending).map(|held| held.payload.transaction);
    let work = decode_writer_state(&snapshot.writer)?.into_iter().map(|element| element.transaction);
    Ok(committables.chain(work).collect())
}

fn parts(checkpoint: &CompletedCheckpoint, vertex: OperatorUid) -> impl Iterator<Item = &SubtaskState> {
    checkpoint.subtasks.iter().filter(move |part| part.subtask.vertex == vertex)
}

fn unreadable(subtask: SubtaskId, part: &'static str, error: &dyn Display) -> ContentsError {
    ContentsError::Subtask { subtask, part, cause: error.to_string() }
}

fn deal_vertex(
    checkpoint: &CompletedCheckpoint,
    vertex: &JobVertex,
    defects: DefectSet,
) -> Result<Vec<SubtaskState>, ContentsError> {
    let finished = parts(checkpoint, vertex.uid).all(|part| part.finished);
    let (mut splits, mut committers, mut writers) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts(checkpoint, vertex.uid).filter(|part| !part.finished) {
        let wrong = |what, error: &dyn Display| unreadable(part.subtask, what, error);
        splits.extend(decode_reader_state(&part.snapshot.reader).map_err(|error| wrong("reader", &error))?);
        let held = decode_committer_state(&part.snapshot.committer);
        committers.push(held.map_err(|error| wrong("committer", &error))?);
        writers.extend(decode_writer_state(&part.snapshot.writer).map_err(|error| wrong("writer", &error))?);
        if !part.snapshot.coordinated.is_empty() {
            return Err(wrong("coordinated", &"it belongs to its subtask and cannot be dealt"));
        }
        if !part.snapshot.channels.is_empty() {
            return Err(wrong("channels", &"it belongs to its channels and cannot be dealt"));
        }
    }
    let count = vertex.parallelism as usize;
    if defects.has(Defect::VanishedCommittersForgotten) {
        committers.truncate(count);
    }
    let shares = chunks(splits, count).into_iter().zip(chunks(committers, count)).zip(chunks(writers, count));
    let states = shares.zip(0..).map(|(((splits, committers), writers), index)| {
        let held = committers.into_iter().flatten();
        let snapshot = TaskSnapshot {
            reader: if splits.is_empty() { Vec::new() } else { encode_reader_state(&splits) },
            writer: encode_writer_state(&writers),
            committer: encode_committer_state(held),
            coordinated: Vec::new(),
            channels: Vec::new(),
        };
        let subtask = SubtaskId { vertex: vertex.uid, subtask: SubtaskIndex(index) };
        SubtaskState { subtask, snapshot: Arc::new(snapshot), finished }
    });
    Ok(states.collect())
}

/// Cuts a list into `count` chunks, the first ones one longer where it does not come out even.
fn chunks<T>(list: Vec<T>, count: usize) -> Vec<Vec<T>> {
    debug_assert!(count > 0, "a vertex has subtasks");
    let (least, longer) = (list.len() / count, list.len() % count);
    let mut rest = list.into_iter();
    let chunks: Vec<Vec<T>> =
        (0..count).map(|index| rest.by_ref().take(least + usize::from(index < longer)).collect()).collect();
    debug_assert!(rest.next().is_none(), "everything is dealt");
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_recorded_distributions_come_out() {
        // 2 -> 3, 3 -> 2 and 2 -> 1 with seven splits; two splits on six readers (FACT 52).
        assert_eq!(chunks(vec![0, 2, 4, 6, 1, 3, 5], 3), [vec![0, 2, 4], vec![6, 1], vec![3, 5]]);
        assert_eq!(chunks(vec![0, 3, 6, 1, 4, 2, 5], 2), [vec![0, 3, 6, 1], vec![4, 2, 5]]);
        assert_eq!(chunks(vec![0, 1], 1), [vec![0, 1]]);
        assert_eq!(chunks(vec![0, 1], 6), [vec![0], vec![1], vec![], vec![], vec![], vec![]]);
    }

    proptest! {
        #[test]
        fn chunks_keep_the_order_and_differ_by_one(total in 0usize..40, count in 1usize..9) {
            let list: Vec<usize> = (0..total).collect();
            let dealt = chunks(list.clone(), count);
            prop_assert_eq!(dealt.len(), count);
            prop_assert_eq!(dealt.concat(), list);
            let sizes: Vec<usize> = dealt.iter().map(Vec::len).collect();
            prop_assert!(sizes.is_sorted_by(|one, next| one >= next) && sizes[0] - sizes[count - 1] <= 1);
        }
    }
}
