//! A source with a planted defect: a whole implementation beside the right one, which knows nothing of it.

use super::enumerator::{LogEnumerator, LogEnumeratorState};
use super::source::{LogSource, LogSplit};
use crate::api::source::{Boundedness, Source};
use crate::connectors::postcard_serializer::PostcardSerializer;

/// A source whose restored enumerators do not know which partitions were found before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ForgetfulLogSource(pub(super) LogSource);

impl Source for ForgetfulLogSource {
    type Split = LogSplit;
    type EnumeratorExtra = LogEnumeratorState;
    type Enumerator = LogEnumerator;
    type Reader = <LogSource as Source>::Reader;
    type SplitSerializer = PostcardSerializer;
    type ExtraSerializer = PostcardSerializer;

    fn boundedness(&self) -> Boundedness {
        self.0.boundedness()
    }

    fn create_enumerator(&self) -> LogEnumerator {
        self.0.create_enumerator()
    }

    fn restore_enumerator(
        &self,
        pending: Vec<LogSplit>,
        _extra: Option<LogEnumeratorState>,
    ) -> LogEnumerator {
        self.0.restore_enumerator(pending, None)
    }

    fn create_reader(&self) -> Self::Reader {
        self.0.create_reader()
    }

    fn split_serializer(&self) -> PostcardSerializer {
        self.0.split_serializer()
    }

    fn extra_serializer(&self) -> PostcardSerializer {
        self.0.extra_serializer()
    }
}
