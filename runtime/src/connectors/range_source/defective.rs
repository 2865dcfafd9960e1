//! Range sources with a planted defect: whole enumerators and readers beside the right ones, which know nothing of them.

pub mod assignment;
pub mod discovery;
pub mod enumerator;
mod overheard;
pub mod readers;
pub mod split_reader;

use super::{
    DiscoveredSerializer, RangeEnumerator, RangeReader, RangeSource, RangeSplit, RangeSplitSerializer,
};
use crate::api::source::{Boundedness, Source, SourceReader, SplitEnumerator};
use std::marker::PhantomData;

/// The range source with another enumerator, another reader, or both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AlteredSource<E, R> {
    source: RangeSource,
    parts: PhantomData<(E, R)>,
}

impl<E, R> AlteredSource<E, R> {
    /// Made of the right source.
    #[must_use]
    pub const fn new(source: RangeSource) -> Self {
        Self { source, parts: PhantomData }
    }
}

impl<E, R> Source for AlteredSource<E, R>
where
    E: SplitEnumerator<Split = RangeSplit, Extra = u32> + From<RangeEnumerator>,
    R: SourceReader<Split = RangeSplit> + From<RangeReader>,
{
    type Split = RangeSplit;
    type EnumeratorExtra = u32;
    type Enumerator = E;
    type Reader = R;
    type SplitSerializer = RangeSplitSerializer;
    type ExtraSerializer = DiscoveredSerializer;

    fn boundedness(&self) -> Boundedness {
        self.source.boundedness()
    }

    fn create_enumerator(&self) -> E {
        self.source.create_enumerator().into()
    }

    fn restore_enumerator(&self, pending: Vec<RangeSplit>, extra: Option<u32>) -> E {
        self.source.restore_enumerator(pending, extra).into()
    }

    fn create_reader(&self) -> R {
        self.source.create_reader().into()
    }

    fn split_serializer(&self) -> RangeSplitSerializer {
        RangeSplitSerializer
    }

    fn extra_serializer(&self) -> DiscoveredSerializer {
        DiscoveredSerializer
    }
}
