//! One life of a job: from its state folder to its end, or to the next life.

use super::clock::Clock;
use super::error::JobError;
use super::file::{FilesSink, Job, JobSink};
use super::input;
use super::node::{self, Inboxes, Parcel};
use super::place::Place;
use super::plan;
use super::progress::Progress;
use super::service::DurableService;
use super::state_folder::{Saved, StateFolder};
use super::store::{FileStore, Medium};
use super::table_store::{self, TableStore};
use super::watch::{Notice, Tally, Watch};
use crate::real_files::RealFiles;
use crate::real_objects::RealObjects;
use splitrace_node::Process;
use splitrace_node::host::OutsideSystem;
use splitrace_runtime::config::FileMedium;
use splitrace_runtime::ids::{ActorId, LeaderEpoch, ProcessId};
use splitrace_runtime::message::{JobResult, Mail, MainMail, SharedJobConfig};
use splitrace_sim::outside::{DurableState, HighAvailability};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the progress is shown, and a wish to stop is said again: the job master keeps none that comes at a wrong time.
const TICK: Duration = Duration::from_millis(100);

/// How a life of a job ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// All input is read and visible.
    Finished,
    /// It was, before this life began: nothing was done.
    FinishedBefore,
    /// The user stopped it. The next life goes on from its last checkpoint.
    Stopped,
    /// It failed for good, with this cause. A next life tries again from its last checkpoint.
    Failed(String),
}

/// What a life of a job came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobEnd {
    /// How it ended.
    pub ending: Ending,
    /// What it did.
    pub tally: Tally,
    /// How long it took.
    pub elapsed: Duration,
}

/// Lets a user stop a job, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Notice>);

impl Stopper {
    /// The job is to take a last checkpoint and to end. Too late when it has ended.
    pub fn stop(&self) {
        let _ = self.0.send(Notice::Stop);
    }
}

/// Looks at a job's state without running it: whether it could run.
///
/// # Errors
/// When it could not.
pub fn check(job: &Job) -> Result<(), JobError> {
    let mut goes_on = false;
    if job.state_folder.is_dir() {
        goes_on = saved(job, &StateFolder::open(&job.state_folder)?)?.service.latest.is_some();
    }
    input::total_bytes(job)?;
    if let JobSink::Table(table) = &job.sink {
        table_store::connected(table, job.parallelism, goes_on)?;
    }
    Ok(())
}

/// Runs a job until it ends or is stopped; `listen` is given what stops it, before anything is done.
///
/// # Errors
/// When it cannot run, or cannot go on.
pub fn run<E: From<JobError>>(job: &Job, listen: impl FnOnce(Stopper) -> Result<(), E>) -> Result<JobEnd, E> {
    let folder = StateFolder::open(&job.state_folder)?;
    let clock = Clock::start();
    let saved = saved(job, &folder)?;
    if saved.service.result == Some(JobResult::Finished) {
        let ending = Ending::FinishedBefore;
        return Ok(JobEnd { ending, tally: Tally::default(), elapsed: clock.elapsed() });
    }
    let total = input::total_bytes(job)?;
    let (notices, told) = mpsc::channel();
    let watch = Watch::new(notices.clone());
    let latest = saved.service.latest.clone();
    let store = store(job, latest.is_some(), &watch)?;
    folder.write(&saved).map_err(|source| JobError::Folder { path: job.state_folder.clone(), source })?;
    listen(Stopper(notices))?;
    let done = latest.as_deref().zip(total).map_or(0, |(latest, total)| input::bytes_before(latest, total));
    let progress = Progress::new(total, done);
    let config: SharedJobConfig = Arc::new(plan::config(job));
    let service = HighAvailability::started_again(Arc::clone(&config), saved.service.clone());
    let service = Box::new(DurableService::new(service, saved, folder, watch.clone()));
    let threads = Threads::start(job, &config, service, store, &watch, clock);
    let ended = supervise(&threads, &told, &watch, &progress);
    progress.finish();
    threads.end();
    Ok(JobEnd { ending: ended?, tally: watch.tally(), elapsed: clock.elapsed() })
}

/// What is known of the job, or what a new one begins with.
fn saved(job: &Job, folder: &StateFolder) -> Result<Saved, JobError> {
    let key = plan::key(job);
    let Some(saved) = folder.read()? else {
        let service = DurableState { epoch: drawn_epoch(), ..DurableState::default() };
        return Ok(Saved { key, service });
    };
    let settings = [
        ("source.folder", &saved.key.source, &key.source),
        ("source.format", &saved.key.format, &key.format),
        ("sink", &saved.key.sink, &key.sink),
    ];
    if let Some((what, before, now)) = settings.into_iter().find(|(_, before, now)| before != now) {
        let (before, now) = (before.clone(), now.clone());
        return Err(JobError::OtherJob { path: folder.state_path(), what, before, now });
    }
    Ok(saved)
}

/// Where the leader epochs of a new job begin. They are in the name of every file, so a job that begins anew in the folder
/// of another, or without its old state, makes no file of a name that is there. Refused: the time; two may begin at once.
#[allow(
    clippy::disallowed_types,
    reason = "the standard library's only source of random numbers, and they must differ"
)]
fn drawn_epoch() -> LeaderEpoch {
    let drawn = std::hash::RandomState::new().build_hasher().finish();
    // Half of the numbers are left for its lives.
    LeaderEpoch(drawn as u32 / 2)
}

/// A system outside of the job, which a thread of its own runs.
type Outside = Box<dyn OutsideSystem + Send>;

/// What the sink asks; a job that goes on has an output already.
fn store(job: &Job, goes_on: bool, watch: &Watch) -> Result<Outside, JobError> {
    Ok(match &job.sink {
        JobSink::Files(FilesSink { folder, medium, .. }) => {
            let unusable = |source| JobError::Folder { path: folder.clone(), source };
            std::fs::create_dir_all(folder).map_err(unusable)?;
            let medium: Box<dyn Medium> = match medium {
                FileMedium::FileSystem => Box::new(RealFiles::new(folder.clone())),
                FileMedium::ObjectStore => Box::new(RealObjects::local(folder).map_err(unusable)?),
            };
            Box::new(FileStore::new(medium, watch.clone()))
        }
        JobSink::Table(table) => Box::new(TableStore::open(table, job.parallelism, goes_on, watch.clone())?),
    })
}

/// Waits for the job's end; tells it when the user wants one.
fn supervise(
    threads: &Threads,
    told: &Receiver<Notice>,
    watch: &Watch,
    progress: &Progress,
) -> Result<Ending, JobError> {
    let mut is_stopping = false;
    loop {
        match told.recv_timeout(TICK) {
            Ok(Notice::Ended(JobResult::Finished)) => return Ok(Ending::Finished),
            Ok(Notice::Ended(JobResult::Stopped(_) | JobResult::Cancelled)) => return Ok(Ending::Stopped),
            Ok(Notice::Ended(JobResult::Failed(cause))) => return Ok(Ending::Failed(cause)),
            Ok(Notice::Broken(what)) => return Err(JobError::Broken(what)),
            Ok(Notice::ThreadOver(process)) => return Err(JobError::Bug(process)),
            Ok(Notice::TaskFailed(cause)) => progress.warn(&format!("a task failed: {cause}")),
            Ok(Notice::Stop) => is_stopping = true,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        progress.show(&watch.tally(), is_stopping);
        if is_stopping {
            threads.tell(
                ProcessId::JobManager,
                Parcel::Mail(
                    ActorId::MainThread,
                    Box::new(Mail::Main(MainMail::StopWithSavepoint { drain: false })),
                ),
            );
        }
    }
}

/// The threads of a job.
struct Threads {
    inboxes: Inboxes,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    fn start(
        job: &Job,
        config: &SharedJobConfig,
        service: Outside,
        store: Outside,
        watch: &Watch,
        clock: Clock,
    ) -> Self {
        let mut processes: Vec<(ProcessId, Option<Outside>)> = vec![
            (ProcessId::HighAvailability, Some(service)),
            (ProcessId::Store, Some(store)),
            (ProcessId::JobManager, None),
        ];
        processes.extend((0..job.parallelism).map(|number| (ProcessId::TaskManager(number), None)));
        let mut inboxes = BTreeMap::new();
        let receivers: Vec<Receiver<Parcel>> = processes
            .iter()
            .map(|(process, _)| {
                let (sender, receiver) = mpsc::channel();
                inboxes.insert(*process, sender);
                receiver
            })
            .collect();
        let mut handles = Vec::new();
        for ((process, outside), inbox) in processes.into_iter().zip(receivers) {
            let place = Place::new(process, RealFiles::new(job.source_folder.clone()), watch.clone());
            let (config, inboxes) = (Arc::clone(config), inboxes.clone());
            let life = move || {
                let outside = outside.map(|outside| outside as Box<dyn OutsideSystem>);
                let process = Process::begin(place, config, plan::SESSION, outside, clock.now_ns());
                node::live(process, &inbox, &inboxes, clock);
            };
            let thread = std::thread::Builder::new().name(process.to_string());
            handles.push(thread.spawn(life).expect("the system has room for a thread"));
        }
        Self { inboxes, handles }
    }

    fn tell(&self, process: ProcessId, parcel: Parcel) {
        if let Some(inbox) = self.inboxes.get(&process) {
            // A thread that is over has said so.
            let _ = inbox.send(parcel);
        }
    }

    /// Ends all threads. Each ends between two turns, so nothing is left half done.
    fn end(self) {
        for process in self.inboxes.keys().copied().collect::<Vec<_>>() {
            self.tell(process, Parcel::End);
        }
        for handle in self.handles {
            // One that has panicked has told why.
            let _ = handle.join();
        }
    }
}
