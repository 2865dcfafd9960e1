//! A madsim node that runs one life of a process: one task that owns it, tasks that receive, tasks that send.
//!
//! madsim sleeps at least 1 ms of virtual time around every send and every receive, so a node has several receivers, and
//! each send a task of its own: a frame then takes a little longer and none waits for another.

use crate::court::{Setup, index_of};
use crate::inbox::Inbox;
use crate::place::{Place, outside_of};
use madsim::net::Endpoint;
use madsim::time::TimeHandle;
use splitrace_node::{Process, Step};
use splitrace_runtime::session::{Frame, SessionConfig};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

const PORT: u16 = 6123;
/// The tag of all datagrams; madsim's mailboxes are sorted by it.
const TAG: u64 = 1;
const RECEIVER_COUNT: usize = 8;
/// How long a node without any timer waits at most.
const IDLE_WAIT: Duration = Duration::from_secs(1);

/// The address of the node of a process.
pub(crate) fn address_of(index: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + u8::try_from(index).expect("there are few processes")))
}

/// Virtual time since the run began, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    u64::try_from(TimeHandle::current().elapsed().as_nanos()).expect("runs end long before 584 years")
}

/// Lives until the node is killed or the run has ended.
pub(crate) async fn live(setup: Arc<Setup>, index: usize) {
    let local = SocketAddr::new(address_of(index), PORT);
    let endpoint = Endpoint::bind(local).await.expect("each node has an address of its own");
    let inbox = Inbox::default();
    for _ in 0..RECEIVER_COUNT {
        madsim::task::spawn(receive(endpoint.clone(), inbox.clone()));
    }
    let mut process = begin(&setup, index);
    loop {
        if !setup.court().may_act(index, process.address()) {
            // A killed node's task may be polled once more before it is dropped.
            return;
        }
        process.set_time(now_ns());
        while let Some(datagram) = inbox.take() {
            process.frame_arrives(postcard::from_bytes(&datagram).expect("nodes send nothing but frames"));
        }
        process.fire_timers();
        let step = if process.is_crashed() { Step::Crashed } else { process.take_turn() };
        for frame in process.take_frames() {
            madsim::task::spawn(send(endpoint.clone(), frame));
        }
        match step {
            Step::Crashed => {
                setup.court().crash_is_due(index);
                return;
            }
            Step::Turned => yield_once().await,
            Step::Idle => idle(&setup, index, &process, &inbox).await,
        }
    }
}

fn begin(setup: &Arc<Setup>, index: usize) -> Process<Place> {
    let network = setup.scenario.network;
    let session = SessionConfig {
        resend_after_ns: network.resend_after_ns,
        resend_max: network.resend_max,
        defects: setup.scenario.job.defects,
    };
    let place = Place { setup: Arc::clone(setup), index };
    Process::begin(place, Arc::clone(&setup.job), session, outside_of(setup, index), now_ns())
}

/// Waits for a datagram or the next timer.
async fn idle(setup: &Setup, index: usize, process: &Process<Place>, inbox: &Inbox) {
    let now_ns = now_ns();
    if setup.court().looks_stuck(now_ns) {
        setup.court().note_waiting(index, process.waiting());
    }
    let wait = process
        .next_due_ns()
        .map_or(IDLE_WAIT, |due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)).min(IDLE_WAIT));
    // Whichever it was, the next round sees it: cancelling this wait loses nothing.
    let _ = madsim::time::timeout(wait, inbox.filled()).await;
}

async fn receive(endpoint: Endpoint, inbox: Inbox) {
    while let Ok((payload, _from)) = endpoint.recv_from_raw(TAG).await {
        let datagram = payload.downcast::<Vec<u8>>().expect("nodes send nothing but bytes");
        inbox.put(*datagram);
    }
}

async fn send(endpoint: Endpoint, frame: Frame) {
    let receiver = SocketAddr::new(address_of(index_of(frame.to.process)), PORT);
    let datagram = postcard::to_stdvec(&frame).expect("every frame serialises");
    // A datagram gives no promise; the session sends again what stays unanswered.
    let _ = endpoint.send_to_raw(receiver, TAG, Box::new(datagram)).await;
}

/// Lets every other ready task run once.
async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
