//! The store of the demo: a ledger of committed names, and the records that were appended under them.

use super::VisibleLedger;
use super::content::Content;
use super::store::Caller;
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::TransactionName;
use splitrace_runtime::message::{StoreReply, StoreRequest};
use splitrace_runtime::records::{Record, RecordRanges};
use std::collections::BTreeMap;

/// Appends records; a committable carries them, so there is nothing to open, prepare or roll back.
///
/// `append_if_absent` looks and appends in one atomic operation. A client that looks first and appends then can be
/// overtaken between the two, which is a defect of the client and no operation here.
#[derive(Clone, Debug, Default, Hash)]
pub struct AppendStore {
    ledger: BTreeMap<TransactionName, RecordRanges>,
    visible: VisibleLedger,
}

impl AppendStore {
    /// What was made visible.
    #[must_use]
    pub const fn visible(&self) -> &VisibleLedger {
        &self.visible
    }

    /// What is known under a name.
    #[must_use]
    pub fn committed(&self, name: TransactionName) -> Option<&RecordRanges> {
        self.ledger.get(&name)
    }

    pub(super) fn execute(
        &mut self,
        caller: Caller,
        request: StoreRequest,
        events: &mut Vec<EventKind>,
    ) -> StoreReply {
        match request {
            StoreRequest::AppendIfAbsent { name, .. } if self.ledger.contains_key(&name) => {
                events.push(EventKind::AlreadyVisible { transaction: name });
                StoreReply::AlreadyDone
            }
            StoreRequest::AppendIfAbsent { name, records } | StoreRequest::Append { name, records } => {
                self.append(caller, name, &records, events);
                StoreReply::Done
            }
            other => panic!("a sink that appends has no transactions: {other:?}"),
        }
    }

    fn append(
        &mut self,
        caller: Caller,
        name: TransactionName,
        records: &[Record],
        events: &mut Vec<EventKind>,
    ) {
        let total_before = self.visible.total();
        let held = self.ledger.entry(name).or_default();
        for records in Content::of(records).into_layers() {
            held.extend(&records);
            self.visible.add(name, records.clone());
            let (by, epoch) = (caller.attempt, caller.epoch);
            events.push(EventKind::BecameVisible { transaction: name, by, epoch, records });
        }
        debug_assert!(!events.is_empty(), "an empty committable takes its name too");
        debug_assert!(
            self.visible.total() == total_before + records.len() as u64,
            "each record is seen once more"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::tests_support::*;
    use super::super::{OutsideDecision, Store};
    use super::*;
    use splitrace_runtime::config::SinkKind;
    use splitrace_runtime::defects::DefectSet;

    fn store() -> Store {
        Store::new(SinkKind::Append, DefectSet::NONE)
    }

    fn append_if_absent(subtask: u32, number: u64, ranges: &[(u64, u64)]) -> StoreRequest {
        StoreRequest::AppendIfAbsent { name: name(subtask, number), records: records(ranges) }
    }

    type DemoCommit = (u32, u64, &'static [(u64, u64)]);

    /// The commits of the recorded demo in their order: (subtask, number, records). The failure comes before the
    /// second entry of `s1-txn3`, which is the re-commit of what the restored checkpoint holds.
    const DEMO: [DemoCommit; 16] = [
        (0, 0, &[(40, 41)]),
        (1, 0, &[(0, 1)]),
        (1, 1, &[(1, 13)]),
        (0, 1, &[(41, 53)]),
        (1, 2, &[(13, 25)]),
        (0, 2, &[(53, 65)]),
        (1, 3, &[(25, 37)]),
        (0, 3, &[(65, 77)]),
        (1, 3, &[(25, 37)]),
        (0, 4, &[(77, 80), (120, 135)]),
        (0, 5, &[(135, 147)]),
        (1, 0, &[(37, 40), (80, 90)]),
        (0, 6, &[(147, 160)]),
        (1, 1, &[(90, 102)]),
        (1, 2, &[(102, 115)]),
        (1, 3, &[(115, 120)]),
    ];

    #[test]
    fn names_that_restart_lose_data_where_the_commit_is_idempotent_and_repeat_it_where_it_is_not() {
        let (mut idempotent, mut naive) = (store(), store());
        let mut already = 0;
        for (subtask, number, ranges) in DEMO {
            let attempt = execution(subtask, 0);
            let reply = call(&mut idempotent, attempt, 1, append_if_absent(subtask, number, ranges)).reply;
            already += u32::from(reply == Some(StoreReply::AlreadyDone));
            let request = StoreRequest::Append { name: name(subtask, number), records: records(ranges) };
            assert_eq!(call(&mut naive, attempt, 1, request).reply, Some(StoreReply::Done));
        }
        // FACT 99: 117 of 160 and 43 missing; not idempotent, 172 with 12 duplicates.
        let seen = idempotent.visible();
        assert_eq!((seen.total(), seen.distinct().len(), seen.duplicates()), (117, 117, 0));
        assert_eq!((seen.entries().len(), already), (11, 5));
        let seen = naive.visible();
        assert_eq!((seen.total(), seen.distinct().len(), seen.duplicates()), (172, 160, 12));
    }

    #[test]
    fn a_name_is_appended_once_whoever_asks() {
        let mut store = store();
        let first = call(&mut store, execution(0, 0), 1, append_if_absent(0, 1, &[(0, 5)]));
        assert_eq!(first.reply, Some(StoreReply::Done));
        let [EventKind::BecameVisible { transaction, by, epoch, records }] = &first.events[..] else {
            panic!("one event: {:?}", first.events);
        };
        assert_eq!((*transaction, *by, epoch.0), (name(0, 1), execution(0, 0), 1));
        assert_eq!(records.len(), 5);
        let second = call(&mut store, execution(0, 1), 2, append_if_absent(0, 1, &[(0, 5)]));
        assert_eq!(second.reply, Some(StoreReply::AlreadyDone));
        assert_eq!(second.events, [EventKind::AlreadyVisible { transaction: name(0, 1) }]);
        let Store::Append(ledger) = &store else { unreachable!("made as one") };
        assert_eq!(ledger.committed(name(0, 1)).map(RecordRanges::len), Some(5));
        assert_eq!(ledger.committed(name(0, 2)), None);
        assert!(store.open_transactions().is_empty());
    }

    #[test]
    fn a_lost_reply_leaves_the_effect_and_unavailable_leaves_nothing() {
        let mut store = store();
        let request = append_if_absent(0, 1, &[(0, 5)]);
        let unavailable = OutsideDecision { unavailable: true, lose_reply: false };
        let answer = call_with(&mut store, execution(0, 0), 1, request.clone(), unavailable);
        assert_eq!((answer.reply, answer.events.len()), (Some(StoreReply::Unavailable), 0));
        assert_eq!(store.visible().total(), 0);
        let lost = OutsideDecision { unavailable: false, lose_reply: true };
        let answer = call_with(&mut store, execution(0, 0), 1, request.clone(), lost);
        assert_eq!((answer.reply, answer.events.len()), (None, 1));
        assert_eq!(store.visible().total(), 5);
        assert_eq!(call(&mut store, execution(0, 0), 1, request).reply, Some(StoreReply::AlreadyDone));
        assert_eq!(store.visible().total(), 5);
    }

    #[test]
    #[should_panic(expected = "has no transactions")]
    fn a_transactional_sink_does_not_work_on_it() {
        call(&mut store(), execution(0, 0), 1, StoreRequest::Begin { name: name(0, 1) });
    }
}
