//! Flink's `SinkTransformationTranslator.SinkExpander`: a sink becomes operators by what it can do.
//!
//! ```text
//! pre-write topology ▶ Writer ▶ pre-commit topology ▶ Committer ▶ post-commit topology
//! ```
//! A sink that writes only is one operator; one with committables has a committer behind the writer, and only around
//! that can there be more. The names are `{sink}: {operator}`, and the uids of writer, committer and global committer have
//! the shape that they had before sinks were topologies, so that the state of an older job finds its operator.
//!
//! Between operators of one parallelism goes a forward edge. Where it differs, records are dealt out in turn, and
//! committables go by the subtask of their writer: a summary and what it announces must meet in one committer (FACT 64).
//! An operator that a topology adds may ask for another edge.

use crate::config::EdgeKind;

/// What a sink's writer has beside writing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WriterCapability {
    /// Nothing (Flink's `SinkWriter`).
    Stateless,
    /// State (`SupportsWriterState`).
    Stateful,
    /// Committables, with or without state (`SupportsCommitter`).
    Committing,
}

/// An operator that a topology adds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TopologyOperator {
    /// Its own name.
    pub name: &'static str,
    /// Its own uid, where its author gave it one.
    pub uid: Option<&'static str>,
    /// How many subtasks; `None` for as many as the sink has.
    pub parallelism: Option<u32>,
    /// How its input reaches it; `None` for what follows from the parallelisms.
    pub input: Option<EdgeKind>,
}

impl TopologyOperator {
    /// The name of Flink's `GlobalCommitterOperator` in every topology, which its uid goes by.
    pub const GLOBAL_COMMITTER_NAME: &'static str = "Global Committer";

    /// The file sink's compactor, in one chain with its writer. Flink's has a coordinator in a subtask of its own before
    /// it, since it compacts files of several writers.
    pub const COMPACTOR: Self = Self { name: "Compactor", uid: None, parallelism: None, input: None };

    /// Flink's `StandardSinkTopologies.addGlobalCommitter`.
    pub const GLOBAL_COMMITTER: Self = Self {
        name: Self::GLOBAL_COMMITTER_NAME,
        uid: None,
        parallelism: Some(1),
        input: Some(EdgeKind::Global),
    };
}

/// What a sink is and can do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SinkDescription {
    /// The name that all its operators begin with.
    pub name: String,
    /// Its uid, where the job's author gave it one.
    pub uid: Option<String>,
    /// How many subtasks, unless an operator says otherwise.
    pub parallelism: u32,
    /// What its writer has.
    pub writer: WriterCapability,
    /// What goes before the writer (`SupportsPreWriteTopology`).
    pub pre_write: Vec<TopologyOperator>,
    /// What goes between writer and committer (`SupportsPreCommitTopology`).
    pub pre_commit: Vec<TopologyOperator>,
    /// Its committer; `None` where a global committer of the post-commit topology takes the committables from the writer.
    pub committer: Option<CommitterDescription>,
    /// What goes behind the committer (`SupportsPostCommitTopology`).
    pub post_commit: Vec<TopologyOperator>,
}

/// A sink's own committer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CommitterDescription {
    /// How many subtasks; `None` for as many as the sink has.
    pub parallelism: Option<u32>,
}

/// Which operator of the sink one is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SinkOperatorRole {
    /// One of the pre-write topology.
    PreWrite,
    /// The writer.
    Writer,
    /// One of the pre-commit topology.
    PreCommit,
    /// The committer.
    Committer,
    /// One of the post-commit topology.
    PostCommit,
}

/// One operator of an expanded sink.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExpandedOperator {
    /// Which it is.
    pub role: SinkOperatorRole,
    /// Its whole name.
    pub name: String,
    /// Its whole uid, if it has one.
    pub uid: Option<String>,
    /// How many subtasks.
    pub parallelism: u32,
    /// The edge from the operator before it.
    pub input: EdgeKind,
}

/// Why a sink cannot be expanded.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum SinkExpanderError {
    /// A topology of committables where there are none.
    #[error("sink {sink}: a {topology} topology needs a writer with committables")]
    NothingToCommit {
        /// The sink.
        sink: String,
        /// Which topology.
        topology: &'static str,
    },
    /// Committables would go nowhere.
    #[error("sink {sink} has committables and neither a committer nor a global committer")]
    CommitterMissing {
        /// The sink.
        sink: String,
    },
    /// An operator's author gave it a uid, and the sink has none that it could go with.
    #[error("sink {sink} requires a uid, since its operator {operator} has one")]
    UidMissing {
        /// The sink.
        sink: String,
        /// The operator.
        operator: &'static str,
    },
    /// A forward edge between operators of different parallelism.
    #[error("{operator} has another parallelism than what a forward edge connects it to")]
    ForwardEdge {
        /// The operator.
        operator: String,
    },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct SinkExpander<'a> {
    sink: &'a SinkDescription,
    operators: Vec<ExpandedOperator>,
    /// The parallelism of the last operator.
    upstream: u32,
}

impl<'a> SinkExpander<'a> {
    /// The operators of a sink behind `upstream` subtasks, in the order in which records and committables pass them.
    ///
    /// # Errors
    /// When the sink asks for what it cannot have, as Flink refuses it when the job's graph is made.
    pub fn expand(
        sink: &'a SinkDescription,
        upstream: u32,
    ) -> Result<Vec<ExpandedOperator>, SinkExpanderError> {
        let is_committing = sink.writer == WriterCapability::Committing;
        for (topology, operators) in [("pre-commit", &sink.pre_commit), ("post-commit", &sink.post_commit)] {
            if !is_committing && !operators.is_empty() {
                return Err(SinkExpanderError::NothingToCommit { sink: sink.name.clone(), topology });
            }
        }
        let commits_globally =
            sink.post_commit.iter().any(|operator| operator.name == TopologyOperator::GLOBAL_COMMITTER_NAME);
        if is_committing && sink.committer.is_none() && !commits_globally {
            return Err(SinkExpanderError::CommitterMissing { sink: sink.name.clone() });
        }
        let mut expander = Self { sink, operators: Vec::new(), upstream };
        expander.add_topology(SinkOperatorRole::PreWrite, &sink.pre_write)?;
        expander.add(SinkOperatorRole::Writer, "Writer", sink.uid.clone(), sink.parallelism, None)?;
        expander.add_topology(SinkOperatorRole::PreCommit, &sink.pre_commit)?;
        if let Some(committer) = sink.committer.filter(|_| is_committing) {
            let uid = sink.uid.as_ref().map(|uid| format!("Sink Committer: {uid}"));
            let parallelism = committer.parallelism.unwrap_or(sink.parallelism);
            expander.add(SinkOperatorRole::Committer, "Committer", uid, parallelism, None)?;
        }
        expander.add_topology(SinkOperatorRole::PostCommit, &sink.post_commit)?;
        debug_assert!(!expander.operators.is_empty(), "every sink writes");
        Ok(expander.operators)
    }

    fn add_topology(
        &mut self,
        role: SinkOperatorRole,
        operators: &[TopologyOperator],
    ) -> Result<(), SinkExpanderError> {
        for operator in operators {
            let uid = self.uid_of(operator)?;
            let parallelism = operator.parallelism.unwrap_or(self.sink.parallelism);
            self.add(role, operator.name, uid, parallelism, operator.input)?;
        }
        Ok(())
    }

    /// A global committer goes by its name; any other operator has the uid that its author gave it, behind the sink's.
    fn uid_of(&self, operator: &TopologyOperator) -> Result<Option<String>, SinkExpanderError> {
        match (&self.sink.uid, operator.uid) {
            (Some(sink), _) if operator.name == TopologyOperator::GLOBAL_COMMITTER_NAME => {
                Ok(Some(format!("Sink {sink} Global Committer")))
            }
            (Some(sink), Some(own)) => Ok(Some(format!("{sink}: {own}"))),
            (None, Some(_)) => {
                Err(SinkExpanderError::UidMissing { sink: self.sink.name.clone(), operator: operator.name })
            }
            (_, None) => Ok(None),
        }
    }

    fn add(
        &mut self,
        role: SinkOperatorRole,
        name: &str,
        uid: Option<String>,
        parallelism: u32,
        input: Option<EdgeKind>,
    ) -> Result<(), SinkExpanderError> {
        debug_assert!(parallelism > 0, "{name} has no subtask");
        let name = format!("{}: {name}", self.sink.name);
        let is_same = parallelism == self.upstream;
        let takes_records = matches!(role, SinkOperatorRole::PreWrite | SinkOperatorRole::Writer);
        let implied = match (is_same, takes_records) {
            (true, _) => EdgeKind::Forward,
            (false, true) => EdgeKind::Rebalance,
            (false, false) => EdgeKind::Hash,
        };
        let input = input.unwrap_or(implied);
        if input == EdgeKind::Forward && !is_same {
            return Err(SinkExpanderError::ForwardEdge { operator: name });
        }
        self.upstream = parallelism;
        self.operators.push(ExpandedOperator { role, name, uid, parallelism, input });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
