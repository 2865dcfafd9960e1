//! The session layer between roles and network: at most once, and in order per stream.
//!
//! One [`Session`] per life of a process. It knows no clock and no socket: a host carries its frames and calls back when
//! a timer is over.
//!
//! - *At most once*: a message reaches a mailbox once or never, per (sender's life, receiver's life, stream).
//! - *In order*: an ordered stream delivers in the order of its sends; a message that overtook waits for the gap to be
//!   filled and is answered only then, because [`DeliveryOutcome::Delivered`] means 'in the mailbox'. Unordered
//!   streams only drop duplicates. Between streams there is no order.
//! - *Outcome*: each token gets exactly one. Streams that are never resent are not answered; their tokens end as
//!   unknown at once.
//! - *Resending*: a link has one timer while anything of it is unanswered. A message that waited for a whole interval
//!   is sent again, at most [`SessionConfig::resend_max`] times; the interval doubles each time, up to eightfold. The
//!   timer is not taken back when the last answer arrives, which would cost a set and a cancel per message; it fires once
//!   for nothing, or a host that looks at many links at once stops those that are idle ([`Session::stop_idle_timer`]).
//! - *Generations*: when the oldest message of an ordered stream has used its budget up, all that is unanswered in
//!   the stream ends as unknown and the stream begins a new generation, counted by the whole session. The receiver
//!   takes the newer generation and refuses the older for good, so the gap blocks nobody. What is a gap, though, is
//!   not forgiven where the protocol lives on gaplessness: operator events, a subtask's events and channels deliver a
//!   prefix of what was sent. After a loss every later send of theirs ends as unknown, until the session is reset or a
//!   newer leader epoch uses the stream for another execution of the same number; by then the execution has been failed
//!   over. For triggers, acknowledgements, store calls and the streams of processes a loss is a loss: the next
//!   checkpoint, the repeated call, the next registration must get through.
//! - *Reset*: [`Session::reset_peer`] forgets a peer. What the peer goes on sending in its old generations is refused
//!   with [`FrameBody::Forgotten`], upon which it begins new ones. Nothing that was delivered before is delivered
//!   again.
//! - *Lives*: a frame for another life of this process is dropped. The first sign of a newer life of a peer ends all
//!   dealings with the older one.
//!
//! Refused: cumulative answers (an answer per message keeps outcomes exact), and pruning single idle links (a link is
//! some hundred bytes, and a forgotten receiving end would take an old duplicate for new).

mod frame;
mod incoming;
mod link_table;
mod outgoing;
mod sequence_set;
#[cfg(test)]
mod tests;

pub use frame::{Delivery, Frame, FrameBody, LinkId, SessionOutput};

use crate::defects::DefectSet;
use crate::ids::{LeaderEpoch, ProcessAddress};
use crate::message::{DeliveryOutcome, DeliveryToken, Message, Stream};
use incoming::{IncomingLink, Route};
use link_table::LinkTable;
use outgoing::OutgoingLink;
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};

/// How patient a session is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SessionConfig {
    /// Nanoseconds without an answer until the first resend; doubles with each, up to eight times this.
    pub resend_after_ns: u64,
    /// How often a message is sent again before its outcome is unknown.
    pub resend_max: u32,
    /// What is switched on.
    pub defects: DefectSet,
}

/// All dealings with one process.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Peer {
    address: ProcessAddress,
    /// The newest generation that it has sent.
    generation_seen: u32,
    /// Generations up to this one are refused: they were in use before a reset.
    generation_refused: u32,
    outgoing: LinkTable<OutgoingLink>,
    incoming: LinkTable<IncomingLink>,
}

/// The sessions of one life of a process with all its peers.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct Session {
    address: ProcessAddress,
    config: SessionConfig,
    /// The newest generation of any stream; a new stream begins in it.
    generation: u32,
    /// One per process; there are few, so it is searched from the front.
    peers: Vec<Peer>,
}

/// Whether a stream delivers a prefix of what was sent and nothing behind a loss.
const fn is_gapless(stream: Stream) -> bool {
    matches!(
        stream,
        Stream::OperatorEvents(_)
            | Stream::SubtaskEvents(_)
            | Stream::Channel { .. }
            | Stream::ChannelRequests { .. }
    )
}

/// The leader epoch that a message names; replies of the high-availability service name none.
const fn epoch_of(message: &Message) -> LeaderEpoch {
    match message {
        Message::JobManager { epoch, .. }
        | Message::TaskManager { epoch, .. }
        | Message::Task { epoch, .. }
        | Message::Store { epoch, .. }
        | Message::HighAvailability { epoch, .. } => *epoch,
        Message::HighAvailabilityReply { .. } => LeaderEpoch(0),
    }
}

impl Session {
    /// The session of a process that has just started.
    #[must_use]
    pub fn new(address: ProcessAddress, config: SessionConfig) -> Self {
        debug_assert!(config.resend_after_ns > 0, "a timer of no length would spin");
        Self { address, config, generation: 1, peers: Vec::new() }
    }

    /// This life of the process.
    #[must_use]
    pub const fn address(&self) -> ProcessAddress {
        self.address
    }

    /// Sends a message. `events_emitted`, the number of events that this process has emitted so far, travels along as
    /// the cause of what the message brings about.
    ///
    /// A send to an older life than the newest known of that process ends as unknown at once.
    pub fn send(
        &mut self,
        to: ProcessAddress,
        stream: Stream,
        message: Message,
        token: Option<DeliveryToken>,
        events_emitted: u64,
        out: &mut SessionOutput,
    ) {
        debug_assert!(to.process != self.address.process, "inside a process there is mail, not network");
        let Some(index) = self.meet(to, out) else {
            out.end(token, DeliveryOutcome::Unknown);
            return;
        };
        let epoch = epoch_of(&message);
        let route = Route { me: self.address, peer: to };
        let generation = self.generation;
        let outgoing = &mut self.peers[index].outgoing;
        let link = outgoing.get_or_insert_with(stream, || OutgoingLink::new(stream, generation, epoch));
        if epoch > link.epoch {
            // Attempts count from 0 in each epoch: this is another execution than the one that used the stream.
            if is_gapless(stream) && link.is_used() {
                self.generation += 1;
                link.begin_generation(route, self.generation, false, out);
            }
            link.epoch = epoch;
        }
        link.send(route, &self.config, events_emitted, message, token, out);
    }

    /// Takes a frame from the network. `accept` says whether the addressed actor runs here; where it does not, the
    /// message is dropped and the sender is told so.
    pub fn receive(
        &mut self,
        frame: Frame,
        accept: &mut dyn FnMut(&Message) -> bool,
        out: &mut SessionOutput,
    ) {
        let Frame { from, to, stream, body } = frame;
        debug_assert!(to.process == self.address.process, "the host routes by process");
        debug_assert!(from.process != self.address.process, "inside a process there is mail, not network");
        if to != self.address {
            return;
        }
        let Some(index) = self.meet(from, out) else {
            return;
        };
        let route = Route { me: self.address, peer: from };
        match body {
            FrameBody::Data { generation, sequence, cause_sequence, message } => {
                let peer = &mut self.peers[index];
                if generation <= peer.generation_refused {
                    let body = FrameBody::Forgotten { generation: peer.generation_refused };
                    out.frames.push(Frame { from: to, to: from, stream, body });
                    return;
                }
                peer.generation_seen = peer.generation_seen.max(generation);
                let defects = self.config.defects;
                let link = peer.incoming.get_or_insert_with(stream, || IncomingLink::new(stream, defects));
                link.receive(route, generation, sequence, cause_sequence, message, accept, out);
            }
            FrameBody::Ack { generation, sequence, accepted } => {
                if let Some(link) = self.peers[index].outgoing.get_mut(stream) {
                    link.acknowledge(route, generation, sequence, accepted, out);
                }
            }
            FrameBody::Forgotten { generation } => self.forgotten(index, generation, out),
        }
    }

    /// The timer of a link is over.
    pub fn resend_due(&mut self, link: LinkId, out: &mut SessionOutput) {
        let Some(peer) = self.peers.iter_mut().find(|peer| peer.address == link.peer) else {
            return;
        };
        let Some(outgoing) = peer.outgoing.get_mut(link.stream) else {
            return;
        };
        if !outgoing.is_timer_armed() {
            return;
        }
        let route = Route { me: self.address, peer: link.peer };
        if outgoing.resend_due(route, &self.config, out) {
            self.generation += 1;
            outgoing.begin_generation(route, self.generation, is_gapless(link.stream), out);
            out.broken_links.push(link);
        }
    }

    /// Stops the timer of a link of which nothing is unanswered; answers whether it is stopped. The next send sets it
    /// anew. The host forgets a timer that was stopped and keeps one that was not.
    pub fn stop_idle_timer(&mut self, link: LinkId) -> bool {
        let peer = self.peers.iter_mut().find(|peer| peer.address == link.peer);
        let outgoing = peer.and_then(|peer| peer.outgoing.get_mut(link.stream));
        outgoing.is_none_or(OutgoingLink::stop_idle_timer)
    }

    /// Forgets a peer: what is outstanding ends as unknown, what it sent in the generations seen so far is refused
    /// from now on, and the next send begins new streams.
    pub fn reset_peer(&mut self, peer: ProcessAddress, out: &mut SessionOutput) {
        let Some(index) = self.peers.iter().position(|known| known.address == peer) else {
            return;
        };
        self.generation += 1;
        let me = self.address;
        self.peers[index].drop_links(me, out);
        let known = &mut self.peers[index];
        known.generation_refused = known.generation_seen;
        debug_assert!(known.outgoing.is_empty() && known.incoming.is_empty(), "nothing is left of it");
    }

    /// How many messages have no answer; 0 means that no timer of this session has anything to do.
    #[must_use]
    pub fn outstanding_count(&self) -> usize {
        self.peers.iter().flat_map(|peer| peer.outgoing.iter()).map(OutgoingLink::outstanding_count).sum()
    }

    /// Feeds the whole state into `hasher`.
    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }

    /// The place of a peer, met for the first time or again; `None` for a life that is known to be over.
    fn meet(&mut self, address: ProcessAddress, out: &mut SessionOutput) -> Option<usize> {
        let Some(index) = self.peers.iter().position(|peer| peer.address.process == address.process) else {
            self.peers.push(Peer::new(address));
            return Some(self.peers.len() - 1);
        };
        let known = self.peers[index].address.incarnation;
        if known > address.incarnation {
            return None;
        }
        if known < address.incarnation {
            self.peers[index].drop_links(self.address, out);
            self.peers[index] = Peer::new(address);
        }
        debug_assert!(self.peers[index].address == address, "one life per process is dealt with");
        Some(index)
    }

    /// The peer has reset its session: begin anew whatever it refuses.
    fn forgotten(&mut self, index: usize, generation: u32, out: &mut SessionOutput) {
        debug_assert!(generation <= self.generation, "the peer has seen no other than ours");
        let peer = &mut self.peers[index];
        if peer.outgoing.iter().all(|link| link.generation > generation) {
            return;
        }
        self.generation += 1;
        let route = Route { me: self.address, peer: peer.address };
        for link in peer.outgoing.iter_mut().filter(|link| link.generation <= generation) {
            link.begin_generation(route, self.generation, is_gapless(link.stream), out);
            out.broken_links.push(LinkId { peer: route.peer, stream: link.stream });
        }
    }
}

impl Peer {
    const fn new(address: ProcessAddress) -> Self {
        Self {
            address,
            generation_seen: 0,
            generation_refused: 0,
            outgoing: LinkTable::new(),
            incoming: LinkTable::new(),
        }
    }

    fn drop_links(&mut self, me: ProcessAddress, out: &mut SessionOutput) {
        let route = Route { me, peer: self.address };
        for link in self.outgoing.iter_mut() {
            link.abandon(route, out);
        }
        self.outgoing.clear();
        self.incoming.clear();
    }
}
