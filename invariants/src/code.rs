//! The invariants' codes and sentences. A table.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! codes {
    ($($code:ident $title:literal, $sentence:literal;)+) => {
        /// One invariant.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum Code {
            $(#[doc = $sentence] $code,)+
        }

        impl Code {
            /// Every code, in the order in which reports list them.
            pub const ALL: &[Self] = &[$(Self::$code,)+];

            /// A few words that name it.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$code => $title,)+ }
            }

            /// What holds, in plain words.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$code => $sentence,)+ }
            }

            /// The code as defects name it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => stringify!($code),)+ }
            }
        }
    };
}

codes! {
    S1 "split census",
        "in every completed checkpoint each discovered split is in exactly one place, and at most one current attempt reads it";
    R1 "record census",
        "at every completed checkpoint every record below a split's restored position has exactly one carrier, and none at or above it has one";
    S2 "event order around snapshots",
        "an operator event that was sent before the gateways closed for a checkpoint is handled before the subtask's snapshot, one sent after is handled after";
    S3 "no zombie acts",
        "what belongs to one attempt never acts on another";
    S4 "liveness",
        "once faults have stopped, every assigned split is read and a bounded job ends";
    S5 "order inside a split",
        "the order inside a split is kept in what each sink writer writes and makes visible";
    K1 "checkpoints go on",
        "once faults have stopped, checkpoints complete again and a restore does not fail for good";
    K2 "identifiers",
        "checkpoint ids increase within a lineage, and a committed transaction name is never used again for other content";
    C1 "no duplicates",
        "no record becomes visible twice";
    C2 "no loss",
        "once commits have settled all that their checkpoint covers is visible, and at the end of a bounded job all of it";
    C3 "covered before visible",
        "nothing becomes visible before a checkpoint that covers it has completed or, without checkpoints, before the end of input";
    C4 "no residue",
        "once recovery has settled, no open transaction, temporary file or lock of a dead attempt is left";
    C5 "freshness",
        "what a completed checkpoint covers becomes visible within the bound that its sink states";
    B1 "bounded memory",
        "queues, blocked events and the assignment tracker stay within their bounds";
    D1 "same trace",
        "the same scenario and choices give the same trace, byte for byte";
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitrace_runtime::defects::REGISTRY;

    #[test]
    fn every_code_that_a_defect_names_exists() {
        for entry in REGISTRY {
            for name in entry.invariants {
                assert!(Code::ALL.iter().any(|code| code.as_str() == *name), "{name} of {}", entry.id);
            }
        }
    }
}
