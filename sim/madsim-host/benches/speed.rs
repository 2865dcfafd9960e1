//! How fast the simulated world is, by the yardsticks that a busy machine does not bend: a bare event loop must be at least
//! 8 times as fast as the same workload on madsim, and the world at least a tenth as fast as a loop that is. So the world
//! with all its checks owes 0.8 of madsim's bare workload; its ratio to our own loop, which is faster than it must be, is
//! told beside it. All three are measured in this process, in turns, in events per second of processor time.
//!
//! `cargo sim-bench` runs it. What the workload is and what counts as an event is told in
//! [`splitrace_sim::yardstick`].

#[cfg(not(madsim))]
fn main() {
    panic!("run `cargo sim-bench`, with RUSTFLAGS unset: without madsim there is nothing to compare with");
}

#[cfg(madsim)]
fn main() {
    measured::main();
}

/// The same allocator as the `splitrace` command's, for all three.
#[cfg(madsim)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(madsim)]
mod measured {
    use madsim::net::Endpoint;
    use madsim::rand::{Rng, thread_rng};
    use madsim::runtime::{Handle, NodeHandle, Runtime};
    use madsim::time::{sleep, timeout};
    use splitrace_sim::run::run_seed;
    use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};
    use splitrace_sim::yardstick::*;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    /// How often each is measured, in turns with the others.
    const ROUNDS: u64 = 8;
    /// Messages of one simulation on madsim.
    const MADSIM_MESSAGES: u64 = 20_000;
    /// Events of the bare loop per round.
    const BARE_EVENTS: u64 = 1_500_000;
    /// Runs of the world per round.
    const WORLD_RUNS: u64 = 250;
    /// The bare loop's speed by madsim's, at least, in hundredths.
    const BARE_BY_MADSIM_BAR: u64 = 800;
    /// The world's by a tenth of the slowest bare loop that would do.
    const WORLD_BY_MADSIM_BAR: u64 = BARE_BY_MADSIM_BAR / 10;
    /// The tag of a request; the tags of answers follow, one per lane.
    const REQUEST: u64 = 1;
    /// Long enough for every pending timer of a killed node to fire; what is left pending leaks.
    const DRAIN: Duration = Duration::from_secs(10);

    pub fn main() {
        let (mut madsim, mut bare, mut world) = (Speed::default(), Speed::default(), Speed::default());
        let mut bare_loop = BareLoop::new(0);
        let demo = Scenario::demo(DemoMode::Fail, DemoOptions::default());
        for round in 0..ROUNDS {
            madsim.add(|| on_madsim(round));
            bare.add(|| {
                let messages = bare_loop.messages();
                bare_loop.run(BARE_EVENTS);
                (BARE_EVENTS, bare_loop.messages() - messages)
            });
            world.add(|| {
                let seeds = round * WORLD_RUNS..(round + 1) * WORLD_RUNS;
                (seeds.map(|seed| run_seed(&demo, seed).events).sum(), 0)
            });
        }
        println!("one core, in {ROUNDS} rounds by turns, per second of processor time");
        println!("madsim            {:>11} events/s  {:>11} messages/s", madsim.events(), madsim.messages());
        println!("bare event loop   {:>11} events/s  {:>11} messages/s", bare.events(), bare.messages());
        println!("the world's demo  {:>11} events/s", world.events());
        tell("bare loop / madsim", bare.events() * 100 / madsim.events().max(1), BARE_BY_MADSIM_BAR);
        tell("world / madsim", world.events() * 100 / madsim.events().max(1), WORLD_BY_MADSIM_BAR);
        println!("world / bare loop: {}", in_words(world.events() * 100 / bare.events().max(1)));
    }

    fn in_words(hundredths: u64) -> String {
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }

    fn tell(name: &str, hundredths: u64, bar: u64) {
        let verdict = if hundredths >= bar { "PASS" } else { "FAIL" };
        println!("{name}: {} (at least {})  {verdict}", in_words(hundredths), in_words(bar));
    }

    /// What was done in which time.
    #[derive(Default)]
    struct Speed {
        events: u64,
        messages: u64,
        time_ns: u64,
    }

    impl Speed {
        /// `work` answers events and messages.
        fn add(&mut self, work: impl FnOnce() -> (u64, u64)) {
            let started_ns = processor_time_ns();
            let (events, messages) = work();
            self.time_ns += processor_time_ns() - started_ns;
            self.events += events;
            self.messages += messages;
        }

        fn events(&self) -> u64 {
            self.events * 1_000_000 / (self.time_ns / 1_000).max(1)
        }

        fn messages(&self) -> u64 {
            self.messages * 1_000_000 / (self.time_ns / 1_000).max(1)
        }
    }

    /// This thread's; read off a file, because madsim takes the place of the clocks.
    fn processor_time_ns() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat")
            .expect("this measurement needs Linux, which tells a thread's processor time in a file");
        let first = text.split_ascii_whitespace().next().expect("the file has three numbers");
        first.parse().expect("they are numbers")
    }

    #[derive(Default)]
    struct Counts {
        events: AtomicU64,
        messages: AtomicU64,
    }

    impl Counts {
        fn event(&self) {
            self.events.fetch_add(1, Ordering::Relaxed);
        }

        fn message(&self) {
            self.messages.fetch_add(1, Ordering::Relaxed);
            self.event();
        }
    }

    /// Events and messages of one simulation.
    fn on_madsim(seed: u64) -> (u64, u64) {
        let counts = Arc::new(Counts::default());
        let mut config = madsim::Config::default();
        config.net.packet_loss_rate = 0.0;
        config.net.send_latency = Duration::from_nanos(LATENCY_MIN_NS)..Duration::from_nanos(LATENCY_MAX_NS);
        let runtime = Runtime::with_seed_and_config(seed, config);
        runtime.block_on(simulate(Arc::clone(&counts)));
        (counts.events.load(Ordering::Relaxed), counts.messages.load(Ordering::Relaxed))
    }

    const fn address_of(node: u8) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, node)), 1)
    }

    async fn simulate(counts: Arc<Counts>) {
        let handle = Handle::current();
        let workers: Vec<NodeHandle> =
            (0..WORKERS).map(|index| build_worker(&handle, index, Arc::clone(&counts))).collect();
        // The workers bind first.
        sleep(Duration::from_millis(10)).await;
        let coordinator = handle.create_node().name("coordinator").ip(address_of(1).ip()).build();
        coordinator.spawn(coordinate(Arc::clone(&counts)));
        for worker in workers.iter().cycle() {
            sleep(Duration::from_nanos(CRASH_EVERY_NS - DOWN_NS)).await;
            if counts.messages.load(Ordering::Relaxed) >= MADSIM_MESSAGES {
                break;
            }
            handle.kill(worker.id());
            counts.event();
            sleep(Duration::from_nanos(DOWN_NS)).await;
            handle.restart(worker.id());
            counts.event();
        }
        for node in workers.iter().chain([&coordinator]) {
            handle.kill(node.id());
        }
        sleep(DRAIN).await;
    }

    fn build_worker(handle: &Handle, index: usize, counts: Arc<Counts>) -> NodeHandle {
        let address = address_of(2 + index as u8);
        handle
            .create_node()
            .name(format!("worker-{index}"))
            .ip(address.ip())
            .init(move || work(address, Arc::clone(&counts)))
            .build()
    }

    async fn work(address: SocketAddr, counts: Arc<Counts>) {
        let endpoint = Arc::new(Endpoint::bind(address).await.expect("the address is the node's own"));
        loop {
            let (payload, from) = endpoint.recv_from_raw(REQUEST).await.expect("the node lives");
            counts.message();
            let (lane, number) = *payload.downcast::<(u64, u64)>().expect("a request is two numbers");
            let (endpoint, counts) = (Arc::clone(&endpoint), Arc::clone(&counts));
            madsim::task::spawn(async move {
                let work_ns = thread_rng().gen_range(WORK_MIN_NS..=WORK_MAX_NS);
                sleep(Duration::from_nanos(work_ns)).await;
                counts.event();
                // A coordinator that is gone needs no answer.
                let _ = endpoint.send_to_raw(from, REQUEST + 1 + lane, Box::new(number)).await;
            });
        }
    }

    async fn coordinate(counts: Arc<Counts>) {
        let endpoint = Endpoint::bind(address_of(1)).await.expect("the address is the node's own");
        let endpoint = Arc::new(endpoint);
        for lane in 0..(WORKERS * LANES_PER_WORKER) as u64 {
            let worker = address_of(2 + (lane as usize % WORKERS) as u8);
            madsim::task::spawn(drive_lane(Arc::clone(&endpoint), Arc::clone(&counts), lane, worker));
        }
        std::future::pending().await
    }

    async fn drive_lane(endpoint: Arc<Endpoint>, counts: Arc<Counts>, lane: u64, worker: SocketAddr) {
        for number in 0.. {
            loop {
                // To a worker that is down nothing can be sent; the time-out sends it again.
                let _ = endpoint.send_to_raw(worker, REQUEST, Box::new((lane, number))).await;
                let answered = await_answer(&endpoint, &counts, lane, number);
                if timeout(Duration::from_nanos(TIMEOUT_NS), answered).await.is_ok() {
                    break;
                }
                counts.event();
            }
        }
    }

    async fn await_answer(endpoint: &Endpoint, counts: &Counts, lane: u64, number: u64) {
        loop {
            let (payload, _) = endpoint.recv_from_raw(REQUEST + 1 + lane).await.expect("the node lives");
            counts.message();
            if *payload.downcast::<u64>().expect("an answer is a number") == number {
                return;
            }
        }
    }
}
