//! One drive in real time: a [`Disk`] whose requests take as long as the simulated drive says.
//!
//! * [`Core`] has the drive and the jobs on it; its caller passes it the time.
//! * [`Timeline`] maps the wall clock to simulated time and back.
//! * [`Engine`] is a thread around both. It sleeps until the next event or job, and measures how late its answers are.

mod coarse;
mod command;
mod core;
mod fault;
mod inbox;
mod incident;
mod jobs;
mod keep;
mod lag;
mod observation;
mod pace;
mod power;
mod refused;
mod served;
mod status;
mod tally;
mod thread;
mod zones;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use base::units::{Bytes, Sectors};
use flash::nand::Bytes512;
use ssd::{Precondition, Purpose};
use study::catalogue::Device;
use study::memory::{self, Limit, Need};
use study::output::OutputError;
use study::session::{Progress, Session, SessionError};
use verify::Verifier;

pub(crate) use coarse::CoarseHistogram;
pub use command::{Command, Reply};
pub use core::{AnsweredJob, Core, CutPolicy};
pub use fault::Fault;
pub use incident::{Incident, IncidentKind, Incidents};
pub use keep::{FileNotice, NoticeCallback, PersistenceSettings};
pub use lag::Lag;
use observation::ObservationScope;
pub(crate) use observation::{Health, Observation, Shape, Wear};
pub use pace::{Factor, Pace, ParsePaceError, Timeline};
pub use power::Cut;
pub use refused::{CommandRefusal, WrongPower};
pub use served::ServedDrive;
pub use status::{
    DriveState, DriveStatus, KindStatus, LagStatus, Latency, MEDIA_TYPE, Power, RaidStatus, SCHEMA, Status,
    TranslationStatus,
};
pub(crate) use tally::{APPEND, READ, WRITE};
pub use thread::{PowerCallback, ViolationCallback};

use crate::control::{ControlError, ControlSocket};
use crate::metrics::MetricsServer;
use crate::record::{Recording, RecordingTarget, Writer};
use crate::state::{FileOperation, StateError};
use crate::web::{WatchedDrive, WebServer};
use crate::{AllocationQuery, Disk, Job, JobFailure, ZoneQuery};
use inbox::Inbox;
use keep::{DriveFiles, OpenedDrive};
use thread::{DriveServer, Message, TakeReply};

/// The drive to serve, and the options of its server.
pub struct EngineOptions {
    /// The device, whose drive is made and preconditioned by [`Engine::start`].
    pub device: Device,
    /// The seed of all random streams.
    pub seed: u64,
    /// The drive's state before the first request.
    pub precondition: Vec<Precondition>,
    /// A snapshot to start from, instead of a new drive.
    pub load_snapshot: Option<PathBuf>,
    /// The directory that keeps the flash. Without it the flash is in memory and is lost when the server ends.
    pub keep: Option<PersistenceSettings>,
    /// Memory that the drive may take, with its payload unless files keep that; `None` for no limit.
    pub memory_limit: Option<Limit>,
    /// The pace at which simulated time passes.
    pub pace: Pace,
    /// The last part of each wait, during which the thread polls the clock instead of sleeping: answers are less late, but a core
    /// is busy. On Linux the thread gets the highest priority that its user may give.
    pub spin: Duration,
    /// The fate of unanswered requests at a power cut.
    pub on_cut: CutPolicy,
    /// The file that records every request of the drive.
    pub record: Option<RecordingTarget>,
    /// The socket for commands, made with mode 0600.
    pub control: Option<PathBuf>,
    /// Serves `/metrics` and `/healthz` of the drive.
    pub metrics: Option<MetricsServer>,
    /// Serves the live page of the drive, and the pages of `metrics`.
    pub web: Option<WebServer>,
    /// The list of the last incidents, which the page shows. The engine adds the drive's commands; holders of a clone may add more.
    pub incidents: Incidents,
    /// Called on the thread of the drive, after the answers, whenever the power was cut or switched. A server whose clients must
    /// reconnect after a cut ends its connections in this call.
    pub on_power: Option<PowerCallback>,
    /// Verifies the content of every read, and calls this for each violation.
    pub verify: Option<ViolationCallback>,
    /// True if clients speak a protocol with commands for zones. Without it a drive with zones is refused.
    pub zones: bool,
    /// Ends preconditioning early once it is true, e.g. on a signal.
    pub interrupt: Option<&'static AtomicBool>,
}

impl EngineOptions {
    /// A new drive at its own pace, with seed 0.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Self {
            device,
            seed: 0,
            precondition: Vec::new(),
            load_snapshot: None,
            keep: None,
            memory_limit: None,
            pace: Pace::Real,
            spin: Duration::ZERO,
            on_cut: CutPolicy::End,
            record: None,
            control: None,
            metrics: None,
            web: None,
            incidents: Incidents::default(),
            on_power: None,
            verify: None,
            zones: false,
            interrupt: None,
        }
    }

    /// The session that makes and prepares the drive, without the limit of memory.
    fn session<'a>(&'a self, progress: impl FnMut(Progress) + 'a) -> Session<'a> {
        let mut session = Session::new(&self.device).seed(self.seed).precondition(self.precondition.clone());
        session = session.progress(progress);
        if let Some(path) = &self.load_snapshot {
            session = session.load_snapshot(path);
        }
        if let Some(interrupt) = self.interrupt {
            session = session.interrupt(interrupt);
        }
        session
    }

    /// The purpose for the estimate of memory before the first request. Content that preconditioning leaves takes no
    /// memory; content of a snapshot does.
    fn purpose(&self) -> Purpose {
        let units = self.load_snapshot.is_none().then_some(0);
        Purpose { precondition: !self.precondition.is_empty(), units, ..Purpose::default() }
    }

    /// The memory that the drive takes once clients have written all of it, if that is beyond the limit.
    #[must_use]
    pub fn outgrown(&self) -> Option<(Bytes, &Limit)> {
        let limit = self.memory_limit.as_ref()?;
        let (resolved, purpose) = (&self.device.resolved, Purpose { units: None, ..self.purpose() });
        let mut memory = match &self.keep {
            Some(_) => resolved.memory_of_backed::<Bytes512>(purpose),
            None => resolved.memory_of::<Bytes512>(purpose),
        };
        if self.verify.is_some() {
            memory.add("digests of the content", Verifier::memory_of(resolved.capacity()));
        }
        let total = memory.total();
        (total > limit.bytes).then_some((total, limit))
    }

    /// Makes a drive in memory and prepares it.
    fn drive(&self, progress: impl FnMut(Progress)) -> Result<Box<dyn ServedDrive>, SessionError> {
        if let Some(limit) = &self.memory_limit {
            let memory = self.device.resolved.memory_of::<Bytes512>(self.purpose());
            let needs = vec![Need { name: self.device.name.clone(), memory }];
            memory::check(needs, 1, limit).map_err(SessionError::TooLarge)?;
        }
        let session = self.session(progress);
        Ok(match self.device.resolved.layer() {
            Some("raid") => Box::new(session.prepare_raid::<Bytes512>()?),
            Some(_) => Box::new(session.prepare_translation::<Bytes512>()?),
            None => Box::new(session.prepare::<Bytes512>()?),
        })
    }
}

/// The reason for which a drive cannot be served.
#[derive(Debug)]
pub enum EngineError {
    /// The drive cannot be made or prepared.
    Session(SessionError),
    /// The directory of its flash cannot be used.
    State(StateError),
    /// The recording cannot be written.
    Record(OutputError),
    /// The socket for commands cannot be made.
    Control(ControlError),
    /// The system gives no thread.
    Thread(io::Error),
    /// The named drive has zones, and the protocol has no commands for zones.
    Zones(String),
    /// The device has a layer above its drives, and no directory keeps the layer's state.
    KeptLayer {
        /// The name of the device.
        device: String,
        /// The table that describes the layer.
        layer: &'static str,
    },
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(error) => error.fmt(f),
            Self::State(error) => error.fmt(f),
            Self::Record(error) => error.fmt(f),
            Self::Control(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "the system gives no thread for the drive: {error}"),
            Self::Zones(device) => write!(
                f,
                "{device}: ftl.kind: NBD has no commands for zones; serve the drive with --nvme, add a [translation] above it, or \
                 serve a drive of another kind"
            ),
            Self::KeptLayer { device, layer } => {
                let known = match *layer {
                    "raid" => "which of its drives have failed and how far they are rebuilt",
                    _ => "which unit lies where in its zones",
                };
                write!(
                    f,
                    "{device}: --state keeps the flash of one drive, and not what [{layer}] knows: {known}; leave \
                     --state out, or use a device without [{layer}]"
                )
            }
        }
    }
}

impl EngineError {
    /// Refuses to keep a device with a layer above its drives in a directory.
    ///
    /// # Errors
    /// If the device has such a layer.
    pub fn refuse_kept_layer(device: &Device) -> Result<(), Self> {
        match device.resolved.layer() {
            Some(layer) => Err(Self::KeptLayer { device: device.name.clone(), layer }),
            None => Ok(()),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<SessionError> for EngineError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<StateError> for EngineError {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

/// A served drive. Clones are the same drive.
#[derive(Clone)]
pub struct Engine {
    inbox: Arc<Inbox<Message>>,
    capacity: Sectors,
    unit: Sectors,
    queues: usize,
    running: Arc<Mutex<Option<RunningParts>>>,
}

/// The parts that end with the drive.
struct RunningParts {
    thread: JoinHandle<()>,
    record: Option<Writer>,
    control: Option<ControlSocket>,
    metrics: Option<MetricsServer>,
    web: Option<WebServer>,
}

/// The final state of a served drive.
#[derive(Debug)]
pub struct FinalState {
    /// The last status of the drive.
    pub status: Status,
    /// The result of the recording, if one was asked for. The recording may have failed while the drive went on.
    pub record: Option<Result<Recording, OutputError>>,
    /// The failure of the files that ended the drive before it was stopped.
    pub failure: Option<StateError>,
}

impl Engine {
    /// Makes and prepares a drive, and serves it. `progress` is called while it is preconditioned.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn start(mut options: EngineOptions, progress: impl FnMut(Progress)) -> Result<Self, EngineError> {
        // Faults that the user has to correct are reported before the long work begins.
        if options.device.resolved.zones.is_some() && !options.zones {
            return Err(EngineError::Zones(options.device.name.clone()));
        }
        if options.keep.is_some() {
            EngineError::refuse_kept_layer(&options.device)?;
        }
        let record = options.record.as_ref().map(RecordingTarget::open).transpose().map_err(EngineError::Record)?;
        let socket = options.control.as_deref().map(ControlSocket::bind).transpose().map_err(EngineError::Control)?;
        let (mut core, files) = Self::core(&mut options, progress)?;
        let (capacity, unit, queues) = (core.capacity(), core.unit(), core.drive().queues());
        let record = record.map(Writer::start).transpose().map_err(EngineError::Record)?;
        let record = record.map(|(writer, record)| {
            core.record(record);
            writer
        });
        let inbox = Arc::new(Inbox::new());
        let mut server = DriveServer::new(core, Arc::clone(&inbox), options.pace);
        (server.spin, server.on_power, server.files) = (options.spin, options.on_power, files);
        (server.incidents, server.on_violation) = (options.incidents.clone(), options.verify);
        let thread = std::thread::Builder::new().name("drive".to_owned()).spawn(move || server.run());
        let thread = thread.map_err(EngineError::Thread)?;
        let engine = Self { inbox, capacity, unit, queues, running: Arc::default() };
        let control = socket.map(|socket| socket.serve(engine.commands())).transpose().map_err(EngineError::Control)?;
        let commands = engine.commands();
        let status = move || match commands(Command::Status) {
            Ok(Reply::Status(status)) => Some(*status),
            _ => None,
        };
        let metrics = options.metrics.map(|server| server.serve(status)).transpose().map_err(EngineError::Thread)?;
        let watched = || WatchedDrive {
            device: options.device.name.clone(),
            capacity,
            carry_out: Box::new(engine.commands()),
            observe: Box::new(engine.observer()),
            incidents: options.incidents.clone(),
        };
        let web = options.web.map(|server| server.serve(watched())).transpose().map_err(EngineError::Thread)?;
        *engine.running() = Some(RunningParts { thread, record, control, metrics, web });
        Ok(engine)
    }

    /// The drive, new or from its files, and verified if the options ask for it.
    fn core(
        options: &mut EngineOptions,
        progress: impl FnMut(Progress),
    ) -> Result<(Core, Option<DriveFiles>), EngineError> {
        let (mut is_known, mut is_kept, mut dir) = (options.load_snapshot.is_none(), false, None);
        let (mut core, mut files) = match options.keep.take() {
            None => (Core::new(options.drive(progress)?, options.on_cut), None),
            Some(keep) => {
                dir = Some(keep.dir.path().to_owned());
                let OpenedDrive { drive, files, is_used } = keep.make(options, progress)?;
                let mut core = Core::new(drive, options.on_cut);
                if is_used {
                    core.recover();
                    is_known = false;
                }
                is_kept = is_used;
                (core, Some(files))
            }
        };
        if options.verify.is_some() {
            core.verify(is_known);
        }
        if let Some(dir) = dir {
            // A process that does not verify the drive removes the files of an earlier verification, which it makes out of date.
            let kept = match options.verify {
                Some(_) => core.keep_verification(&dir, is_kept),
                None => verify::forget(&dir).map(|()| true),
            };
            let io = |error| StateError::Io { path: dir, doing: FileOperation::Write, error: Arc::new(error) };
            if let (false, Some(files)) = (kept.map_err(io)?, &mut files) {
                files.say(FileNotice::Unverified);
            }
        }
        Ok((core, files))
    }

    fn running(&self) -> MutexGuard<'_, Option<RunningParts>> {
        // The thread is set once and taken once, so a poisoned lock does no harm.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sender of commands. It does not keep the drive alive.
    fn commands(&self) -> impl Fn(Command) -> Result<Reply, CommandRefusal> + Send + Sync + 'static {
        let inbox = Arc::clone(&self.inbox);
        move |command| carry_out(&inbox, command)
    }

    /// An observer of the drive, and of its wear if asked for. It does not keep the drive alive: `None` once the drive is not
    /// served any more.
    fn observer(&self) -> impl Fn(bool) -> Option<Observation> + Send + Sync + 'static {
        let inbox = Arc::clone(&self.inbox);
        move |wear| {
            let (to, observation) = channel();
            let take = move |observation| _ = to.send(observation);
            inbox.put(Message::Observe(ObservationScope { wear, recent: true }, Box::new(take))).ok()?;
            observation.recv().ok()
        }
    }

    /// Carries out a command, and waits for the reply.
    ///
    /// # Errors
    /// If the drive refuses it, or is not served any more.
    pub fn command(&self, command: Command) -> Result<Reply, CommandRefusal> {
        carry_out(&self.inbox, command)
    }

    /// Carries out a command; the reply comes on the thread of the drive.
    pub(crate) fn command_then(&self, command: Command, reply: TakeReply) {
        if let Err(Message::Command(_, reply)) = self.inbox.put(Message::Command(command, reply)) {
            reply(Err(CommandRefusal::Stopped));
        }
    }

    /// Observes the drive, and its wear if asked to, without the distributions that the page watches. The observation comes on the
    /// thread of the drive, and never if the drive is not served any more.
    pub(crate) fn observe_then(&self, wear: bool, take: impl FnOnce(Observation) + Send + 'static) {
        drop(self.inbox.put(Message::Observe(ObservationScope { wear, recent: false }, Box::new(take))));
    }

    /// Asks for the states of zones, and returns at once. The answer comes later.
    pub fn zones(&self, query: ZoneQuery) {
        if let Err(Message::Zones(query)) = self.inbox.put(Message::Zones(query)) {
            (query.answer)(Err(JobFailure::NoPower));
        }
    }

    /// The submission queues of the drive.
    #[must_use]
    pub const fn queues(&self) -> usize {
        self.queues
    }

    /// Switches the drive off in order and ends its thread: every request is answered, and the write buffer is written back. `None`
    /// if the drive was stopped before.
    #[must_use]
    pub fn stop(&self) -> Option<FinalState> {
        let (to, ended) = channel();
        self.inbox.put(Message::Stop(to)).ok()?;
        let (status, failure) = ended.recv().ok()?;
        let RunningParts { thread, record, control, metrics, web } = self.running().take()?;
        drop((control, metrics, web));
        // A panic of the thread was reported by the thread.
        let _ = thread.join();
        Some(FinalState { status, record: record.map(Writer::finish), failure })
    }
}

fn carry_out(inbox: &Inbox<Message>, command: Command) -> Result<Reply, CommandRefusal> {
    let (to, reply) = channel();
    // The send fails only if the connection that asked is closed.
    let take = move |reply| _ = to.send(reply);
    inbox.put(Message::Command(command, Box::new(take))).map_err(|_| CommandRefusal::Stopped)?;
    reply.recv().map_err(|_| CommandRefusal::Stopped)?
}

impl Disk for Engine {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn unit(&self) -> Sectors {
        self.unit
    }

    fn submit(&self, job: Job) {
        if let Err(Message::Job(job)) = self.inbox.put(Message::Job(job)) {
            (job.answer)(Err(JobFailure::NoPower));
        }
    }

    fn submit_all(&self, jobs: &mut Vec<Job>) {
        for message in self.inbox.put_all(jobs.drain(..).map(Message::Job)) {
            if let Message::Job(job) = message {
                (job.answer)(Err(JobFailure::NoPower));
            }
        }
    }

    fn allocation(&self, query: AllocationQuery) {
        if let Err(Message::Allocation(query)) = self.inbox.put(Message::Allocation(query)) {
            (query.answer)(Err(JobFailure::NoPower));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
