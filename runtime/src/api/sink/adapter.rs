//! From the typed traits to the ports: the one place where committables become bytes and come back.

use super::*;
use crate::api::user_code;
use std::hash::Hasher;

/// A typed writer as a [`WriterPort`].
#[derive(Clone, Debug)]
pub struct WriterAdapter<W>(pub W);

impl<W: CommittingSinkWriter> WriterPort for WriterAdapter<W> {
    fn transaction(&self) -> TransactionName {
        self.0.transaction()
    }

    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo) {
        user_code::call("SinkWriter::open", || self.0.open(keep, io));
    }

    fn write(&mut self, records: &mut Vec<Record>, io: &mut SinkIo) {
        user_code::call("SinkWriter::write", || {
            for record in records.drain(..) {
                self.0.write(record, io);
            }
        });
    }

    fn write_watermark(&mut self, watermark_ms: u64, io: &mut SinkIo) {
        user_code::call("SinkWriter::write_watermark", || self.0.write_watermark(watermark_ms, io));
    }

    fn flush(&mut self, end_of_input: bool, io: &mut SinkIo) {
        user_code::call("SinkWriter::flush", || self.0.flush(end_of_input, io));
    }

    fn prepare_commit(&mut self, io: &mut SinkIo) -> PreparedCommit {
        let transaction = self.0.transaction();
        let mut prepared =
            PreparedCommit { transaction, records: RecordRanges::new(), committables: Vec::new() };
        for committable in user_code::call("SinkWriter::prepare_commit", || self.0.prepare_commit(io)) {
            let records = committable.records_held();
            let overlap = prepared.records.extend(&records);
            debug_assert!(overlap.is_none(), "two committables of one prepare_commit hold {overlap:?}");
            prepared.committables.push(PreparedCommittable { payload: to_payload(&committable), records });
        }
        debug_assert!(self.0.transaction() > transaction, "each prepare_commit counts one up (FACT 100)");
        prepared
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<u8> {
        encode_writer_state(&user_code::call("SinkWriter::snapshot_state", || {
            self.0.snapshot_state(checkpoint)
        }))
    }

    fn restore_state(&mut self, bytes: &[u8]) -> Result<(), SinkStateError> {
        let decoded = decode_writer_state(bytes)?;
        user_code::call("SinkWriter::restore_state", || self.0.restore_state(decoded))
    }

    fn wake_at_ms(&self) -> Option<u64> {
        self.0.wake_at_ms()
    }

    fn on_processing_time(&mut self, io: &mut SinkIo) {
        user_code::call("SinkWriter::on_processing_time", || self.0.on_processing_time(io));
    }

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        user_code::call("SinkWriter::answered", || self.0.answered(request, answer, io))
    }

    fn clone_box(&self) -> Box<dyn WriterPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.0.hash(&mut hasher);
    }
}

/// A typed committer as a [`CommitterPort`].
#[derive(Clone, Debug)]
pub struct CommitterAdapter<C: Committer> {
    committer: C,
    /// The request that was asked last, as it was decoded for that: its answer mostly comes before the next is asked. It
    /// says nothing that the payload does not, so no fingerprint covers it.
    asked: Option<CommitRequest<C::Committable>>,
}

impl<C: Committer> CommitterAdapter<C> {
    /// Around this committer.
    #[must_use]
    pub const fn new(committer: C) -> Self {
        Self { committer, asked: None }
    }

    /// The request that is answered now: the one that was asked, or decoded anew.
    fn answered_request(
        &mut self,
        payload: &CommittablePayload,
        retries: u32,
    ) -> Result<CommitRequest<C::Committable>, SinkStateError> {
        let is_same = |asked: &CommitRequest<C::Committable>| {
            asked.committable().transaction() == payload.transaction && asked.number_of_retries() == retries
        };
        match self.asked.take().filter(is_same) {
            Some(asked) => Ok(asked),
            None => Ok(CommitRequest::new(from_payload(payload)?, retries)),
        }
    }
}

impl<C: Committer> CommitterPort for CommitterAdapter<C> {
    fn commit(
        &mut self,
        payload: &mut CommittablePayload,
        retries: &mut u32,
        io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, CommitError> {
        let before = io.len();
        let mut request = CommitRequest::new(from_payload::<C::Committable>(payload)?, *retries);
        user_code::call("Committer::commit", || self.committer.commit(&mut request, io));
        debug_assert!(io.len() <= before + 1, "a commit is at most one store request");
        if io.len() == before {
            return Ok(Some(signal_of(&request, payload, retries)));
        }
        self.asked = Some(request);
        Ok(None)
    }

    fn answered(
        &mut self,
        payload: &mut CommittablePayload,
        retries: &mut u32,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, SinkStateError> {
        debug_assert!(io.is_empty(), "each answer has its own");
        let mut request = self.answered_request(payload, *retries)?;
        user_code::call("Committer::answered", || self.committer.answered(&mut request, answer, io));
        debug_assert!(io.len() <= 1, "a dialogue is one store request at a time");
        if io.is_empty() {
            return Ok(Some(signal_of(&request, payload, retries)));
        }
        self.asked = Some(request);
        Ok(None)
    }

    fn records_held(&self, payload: &CommittablePayload) -> Result<RecordRanges, SinkStateError> {
        Ok(from_payload::<C::Committable>(payload)?.records_held())
    }

    fn clone_box(&self) -> Box<dyn CommitterPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.committer.hash(&mut hasher);
    }
}

/// What a committer signalled, and what it did to the request with it.
fn signal_of<C: SinkCommittable>(
    request: &CommitRequest<C>,
    payload: &mut CommittablePayload,
    retries: &mut u32,
) -> CommitSignal {
    debug_assert!(request.number_of_retries() >= *retries, "retries only grow");
    *retries = request.number_of_retries();
    if request.is_updated() {
        *payload = to_payload(request.committable());
    }
    request.signal()
}

fn to_payload<C: SinkCommittable>(committable: &C) -> CommittablePayload {
    CommittablePayload {
        transaction: committable.transaction(),
        version: C::VERSION,
        bytes: committable.to_bytes(),
    }
}

fn from_payload<C: SinkCommittable>(payload: &CommittablePayload) -> Result<C, SinkStateError> {
    let committable = C::from_bytes(payload.version, &payload.bytes)?;
    debug_assert_eq!(committable.transaction(), payload.transaction, "the payload names its committable");
    Ok(committable)
}
