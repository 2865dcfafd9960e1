//! The threads of the reader's fetchers: they share the task's memory, and a host gives them turns beside the task's own.

use super::Task;
use crate::actor::{Effect, Outbox, TurnDecision};
use crate::api::input_io::InputAnswer;
use crate::api::source::FetchingNote;
use crate::event::EventKind;
use crate::ids::FetcherNumber;
use crate::message::Timer;
use crate::reader_base::FetcherContext;

impl Task {
    /// Whether the thread of this fetcher could go on. A task that has ended still sees its fetchers off.
    #[must_use]
    pub fn fetcher_is_runnable(&self, fetcher: FetcherNumber) -> bool {
        self.head.source().reader().fetcher_is_runnable(fetcher)
    }

    /// One turn of a fetcher's thread. What it puts into the outbox is the fetcher's, as if it were an actor.
    pub fn fetcher_turn(&mut self, fetcher: FetcherNumber, decision: TurnDecision, outbox: &mut Outbox) {
        debug_assert!(self.fetcher_is_runnable(fetcher), "a turn without anything to do: {fetcher}");
        let mut context = FetcherContext::default();
        self.head.source_mut().reader_mut().fetcher_turn(fetcher, decision.batch_size_max, &mut context);
        debug_assert!(context.fetched.is_none() || context.handed_over.is_none(), "one thing in a turn");
        if let Some(records) = context.fetched {
            outbox.emit(EventKind::BatchFetched { records });
        }
        if let Some(queued) = context.handed_over {
            outbox.emit(EventKind::BatchHandedOver { queued });
        }
        if let Some(after_ns) = context.wake_after_ns {
            outbox.set_timer(Timer::FetchDue(fetcher), after_ns);
        }
        if let Some(operation) = context.asks {
            outbox.effect(Effect::AskInput(operation));
        }
        if let Some(error) = context.ended {
            let cause = error.map(|error| error.to_string());
            outbox.effect_with(Effect::EndFetcher, EventKind::FetcherEnded { cause });
        }
    }

    /// The time is over for which a fetcher's fetch blocks.
    pub fn fetch_due(&mut self, fetcher: FetcherNumber) {
        self.head.source_mut().reader_mut().fetch_due(fetcher);
    }

    /// The answer to what a fetcher's fetch asked for.
    pub fn fetch_answered(&mut self, fetcher: FetcherNumber, answer: InputAnswer) {
        self.head.source_mut().reader_mut().fetch_answered(fetcher, answer);
    }

    /// What happened between the reader and its fetchers in the task's turn.
    pub(super) fn tell_of_fetching(notes: Vec<FetchingNote>, outbox: &mut Outbox) {
        debug_assert!(!notes.is_empty(), "a reader without fetchers costs nothing here");
        for note in notes {
            match note {
                FetchingNote::FetcherStarted(fetcher) => {
                    outbox.effect_with(Effect::StartFetcher(fetcher), EventKind::FetcherStarted { fetcher });
                }
                FetchingNote::BatchTaken { queued } => outbox.emit(EventKind::BatchTaken { queued }),
            }
        }
    }
}
