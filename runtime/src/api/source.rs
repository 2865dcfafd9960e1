//! Sources: what the protocol calls ([`ReaderPort`], [`EnumeratorPort`]) and what connector authors write ([`Source`]).
//!
//! The ports speak bytes, so that the protocol compiles once, its messages serialise and its states hash. The facade is
//! typed, and one adapter each turns it into a port. What was refused: a protocol that is generic over the user's split
//! type (a world of several sources would need a type list), and a facade that asks authors to encode by hand (every
//! author would write the same slips).

mod adapters;
mod facade;
mod ports;

pub use adapters::{EnumeratorAdapter, ReaderAdapter, SourceEnumerators};
pub use facade::{
    Boundedness, SimpleVersionedSerializer, Source, SourceReader, SourceSplit, SplitEnumerator,
    SplitEnumeratorContext,
};
pub use ports::{
    AsyncCall, AsyncCallName, ContextError, EnumeratorContext, EnumeratorFactory, EnumeratorPort,
    FetchingNote, InputStatus, PauseError, ReaderContext, ReaderPort, UserError,
};
