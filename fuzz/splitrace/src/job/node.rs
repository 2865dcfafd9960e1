//! A thread that runs one process of the protocol, and the way from one to another.
//!
//! Frames go through channels in memory: they are not encoded, and none is ever lost. The session layer is there all the
//! same, because it is the protocol's: it orders, and it refuses what is for an earlier life.

use super::clock::Clock;
use super::place::Place;
use super::watch::{Notice, Watch};
use splitrace_node::{Process, Step};
use splitrace_runtime::ids::{ActorId, ProcessId};
use splitrace_runtime::message::Mail;
use splitrace_runtime::session::Frame;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Duration;

/// How long a process without any timer waits at most.
const IDLE_WAIT: Duration = Duration::from_secs(1);

/// What is put into the inbox of a process.
#[derive(Debug)]
pub(super) enum Parcel {
    /// From another process.
    Frame(Box<Frame>),
    /// From the user, for an actor.
    Mail(ActorId, Box<Mail>),
    /// The thread is to end.
    End,
}

/// The inboxes of all processes.
pub(super) type Inboxes = BTreeMap<ProcessId, Sender<Parcel>>;

/// Tells that a thread is over, also when it panics.
struct Farewell<'a>(&'a Watch, ProcessId);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        self.0.notify(Notice::ThreadOver(self.1));
    }
}

/// Runs a process until it is told to end.
pub(super) fn live(mut process: Process<Place>, inbox: &Receiver<Parcel>, inboxes: &Inboxes, clock: Clock) {
    let watch = process.host().watch();
    let _farewell = Farewell(&watch, process.address().process);
    loop {
        process.set_time(clock.now_ns());
        loop {
            match inbox.try_recv() {
                Ok(Parcel::End) | Err(TryRecvError::Disconnected) => return,
                Ok(parcel) => open(&mut process, parcel),
                Err(TryRecvError::Empty) => break,
            }
        }
        process.fire_timers();
        let step = process.take_turn();
        for frame in process.take_frames() {
            if let Some(inbox) = inboxes.get(&frame.to.process) {
                // Whoever has ended reads no more: the job is over.
                let _ = inbox.send(Parcel::Frame(Box::new(frame)));
            }
        }
        if step != Step::Idle {
            continue;
        }
        let now_ns = clock.now_ns();
        let wait = process
            .next_due_ns()
            .map_or(IDLE_WAIT, |due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)).min(IDLE_WAIT));
        match inbox.recv_timeout(wait) {
            Ok(Parcel::End) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(parcel) => {
                process.set_time(clock.now_ns());
                open(&mut process, parcel);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn open(process: &mut Process<Place>, parcel: Parcel) {
    match parcel {
        Parcel::Frame(frame) => process.frame_arrives(*frame),
        Parcel::Mail(to, mail) => process.mail(to, *mail),
        Parcel::End => unreachable!("an end is no parcel to open"),
    }
}
