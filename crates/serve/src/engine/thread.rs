//! The thread of a drive: only this thread uses the drive, reads the clock, and waits for jobs and for the next event.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use base::units::Time;
use study::output::{Kind, Outputs, publish};
use study::snapshot;
use verify::Violation;

use super::command::{Command, Reply};
use super::core::{AnsweredJob, Core};
use super::inbox::{Inbox, now};
use super::incident::{IncidentKind, Incidents};
use super::keep::{DriveFiles, FileNotice};
use super::lag::Lag;
use super::lag::RecentLag;
use super::observation::{Health, Observation, ObservationScope};
use super::pace::{END, Pace, Timeline};
use super::refused::CommandRefusal;
use super::status::{LagStatus, Status};
use crate::state::StateError;
use crate::{AllocationQuery, Job, JobFailure, ZoneQuery};

/// Takes the reply to a command: on the thread of the drive, and without waiting.
pub(crate) type TakeReply = Box<dyn FnOnce(Result<Reply, CommandRefusal>) + Send>;

pub(super) enum Message {
    Job(Job),
    Allocation(AllocationQuery),
    Zones(ZoneQuery),
    Command(Command, TakeReply),
    /// Observes the drive.
    Observe(ObservationScope, Box<dyn FnOnce(Observation) + Send>),
    /// Switches the drive off in order and ends.
    Stop(Sender<(Status, Option<StateError>)>),
}

/// The nice value with the highest priority below the real-time classes.
#[cfg(target_os = "linux")]
pub(super) const HIGHEST: i32 = -20;

/// Called when the power was cut or has come back: `true` if the power is on.
pub type PowerCallback = Box<dyn Fn(bool) + Send>;

/// Called on the thread of the drive for each violation that the verification finds, before the client gets the data.
pub type ViolationCallback = Box<dyn FnMut(&Violation) + Send>;

pub(super) struct DriveServer {
    pub(super) core: Core,
    pub(super) inbox: Arc<Inbox<Message>>,
    /// The last part of a wait, during which the thread polls the clock.
    pub(super) spin: Duration,
    pub(super) on_power: Option<PowerCallback>,
    /// The files of the flash; none for flash in memory.
    pub(super) files: Option<DriveFiles>,
    pub(super) on_violation: Option<ViolationCallback>,
    /// The list to which the thread adds the incidents of commands.
    pub(super) incidents: Incidents,
    clock: Clock,
    lag: Lag,
    answers: Vec<AnsweredJob>,
}

/// The wall clock and simulated time.
struct Clock {
    /// The wall time at which the drive was first served.
    start: Instant,
    /// None before the first job or command: simulated time begins with it, so that a recording begins as its replay does.
    line: Option<Timeline>,
    pace: Pace,
}

impl Clock {
    fn wall(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }

    /// Starts simulated time at `now` when the wall clock says `at`, unless it has started.
    fn begin(&mut self, at: Instant, now: Time) -> Timeline {
        let wall = self.wall(at);
        *self.line.get_or_insert(Timeline::new(self.pace, wall, now))
    }
}

impl DriveServer {
    pub(super) fn new(core: Core, inbox: Arc<Inbox<Message>>, pace: Pace) -> Self {
        Self {
            core,
            inbox,
            spin: Duration::ZERO,
            on_power: None,
            files: None,
            on_violation: None,
            incidents: Incidents::default(),
            clock: Clock { start: now(), line: None, pace },
            lag: Lag::default(),
            answers: Vec::new(),
        }
    }

    /// Serves the drive until a message says to stop.
    pub(super) fn run(mut self) {
        // By default Linux lets a thread oversleep by 50 us. Where that cannot be changed, the lag shows the delay.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        // The threads of clients and of connections compete for the cores. Linux has a priority for each thread, and lets few users
        // raise it.
        #[cfg(target_os = "linux")]
        if !self.spin.is_zero() {
            let _ = rustix::process::setpriority_process(None, HIGHEST);
        }
        let mut messages = Vec::new();
        loop {
            self.inbox.take(&mut messages);
            for (at, message) in messages.drain(..) {
                match message {
                    Message::Job(job) => self.job(at, job),
                    Message::Allocation(query) => self.core.allocation(query),
                    Message::Zones(query) => self.core.zones(query),
                    Message::Command(command, take) => take(self.command(at, command)),
                    Message::Observe(scope, take) => take(self.observe(scope)),
                    Message::Stop(to) => {
                        let _ = to.send(self.stop());
                        return;
                    }
                }
            }
            self.advance();
            self.give();
            self.wait();
        }
    }

    fn job(&mut self, at: Instant, job: Job) {
        let line = self.clock.begin(at, self.core.now());
        let time = line.simulated(self.clock.wall(at)).unwrap_or(self.core.now());
        self.core.submit(time, job, &mut self.answers);
    }

    /// Lets simulated time pass: up to the present, or, at the highest pace, until an answer is due or a message waits.
    fn advance(&mut self) {
        let Some(line) = &self.clock.line else { return };
        if let Some(to) = line.simulated(self.clock.wall(now())) {
            return self.core.advance(to, &mut self.answers);
        }
        while let Some(at) = self.core.next_event().filter(|at| *at <= END) {
            self.core.advance(at, &mut self.answers);
            let has_failed = self.files.as_ref().is_some_and(DriveFiles::has_failed);
            if !self.answers.is_empty() || self.inbox.has_any() || has_failed {
                break;
            }
        }
    }

    /// Stores the changes behind the answers in the files, with `promises` on their disk too. If that fails, the power is cut, and
    /// every answer becomes a failure.
    fn keep(&mut self, promises: bool) -> Result<(), CommandRefusal> {
        let Some(files) = &mut self.files else { return Ok(()) };
        let had_failed = files.failure().is_some();
        if files.settle(promises || self.answers.iter().any(|answered| answered.is_promise)) {
            return Ok(());
        }
        let failure = files.failure().expect("they have failed").clone();
        if !had_failed {
            self.core.fail(&mut self.answers);
        }
        self.answers.iter_mut().for_each(|answered| answered.result = Err(JobFailure::NoPower));
        if !had_failed {
            self.hand_out();
            if let Some(files) = &mut self.files {
                files.say(FileNotice::Failure(failure.clone()));
            }
            if let Some(on_power) = &self.on_power {
                on_power(false);
            }
        }
        Err(CommandRefusal::State(failure))
    }

    /// Gives the answers that are due, after their changes are stored in the files.
    fn give(&mut self) {
        // On a failure, `keep` ends the waiting jobs, and later commands are refused.
        let _ = self.keep(false);
        self.hand_out();
    }

    /// Gives the answers, and notes how late they are.
    fn hand_out(&mut self) {
        for violation in self.core.take_violations() {
            self.incidents.note(IncidentKind::Fault, violation.to_string());
            if let Some(on_violation) = &mut self.on_violation {
                on_violation(&violation);
            }
        }
        for answered in self.answers.drain(..) {
            let due = self.clock.line.as_ref().and_then(|line| line.wall(answered.due));
            // An answer that takes no simulated time cannot be late.
            if let (Some(due), false) = (due, answered.latency.is_zero()) {
                let latency = self.clock.pace.on_the_wall(answered.latency).unwrap_or_default();
                self.lag.note(self.clock.wall(now()).saturating_sub(due), latency);
            }
            answered.give();
        }
    }

    fn wait(&self) {
        let next = self.core.next_event().filter(|at| *at <= END);
        let Some((line, next)) = self.clock.line.as_ref().zip(next) else {
            return self.inbox.wait(None, Duration::ZERO);
        };
        if let Some(wall) = line.wall(next) {
            self.inbox.wait(self.clock.start.checked_add(wall), self.spin);
        }
    }

    fn command(&mut self, at: Instant, command: Command) -> Result<Reply, CommandRefusal> {
        if command == Command::Status {
            return Ok(Reply::Status(Box::new(self.status())));
        }
        let line = self.clock.begin(at, self.core.now());
        let time = line.simulated(self.clock.wall(at)).unwrap_or(self.core.now());
        self.core.advance(time, &mut self.answers);
        self.keep(false)?;
        let reply = match command {
            Command::Status => unreachable!("answered above"),
            Command::PowerCut => Reply::Cut(self.core.cut_power(time, &mut self.answers)?),
            Command::PowerOff => Reply::Off(self.core.power_off(time, &mut self.answers)?),
            Command::PowerOn => Reply::On(self.core.power_on(time, &mut self.answers)?),
            Command::SetPace(pace) => {
                self.clock.pace = pace;
                self.clock.line = Some(Timeline::new(pace, self.clock.wall(now()), self.core.now().max(time)));
                Reply::Pace(pace)
            }
            Command::Fault(fault) => {
                self.core.plan(fault)?;
                Reply::Fault(fault)
            }
            Command::FailDie { die, drive } => {
                self.core.fail_die(die, drive)?;
                Reply::DieFailed(die)
            }
            Command::FailDrive(drive) => Reply::DriveFailed(drive, self.core.fail_drive(drive)?),
            Command::PowerState(state) => Reply::PowerState(state, self.core.select_power_state(state)?),
            Command::HostMemory(size) => {
                let (used, until) = self.core.set_host_memory(size)?;
                Reply::HostMemory(used, until)
            }
            Command::Snapshot { path, force } => {
                let saved = self.snapshot(&path, force);
                // No simulated time passes during the snapshot.
                self.clock.line = Some(Timeline::new(self.clock.pace, self.clock.wall(now()), time));
                Reply::Snapshot(saved?)
            }
        };
        let is_on = match reply {
            Reply::Cut(_) | Reply::Off(_) => Some(false),
            Reply::On(_) => Some(true),
            _ => None,
        };
        self.keep(is_on == Some(false))?;
        self.hand_out();
        self.incidents.carried_out(&reply);
        if let (Some(is_on), Some(on_power)) = (is_on, &self.on_power) {
            on_power(is_on);
        }
        Ok(reply)
    }

    fn snapshot(&self, path: &Path, force: bool) -> Result<Vec<String>, CommandRefusal> {
        let drive = self.core.drive();
        let layers = [drive.raid().map(|_| "raid"), drive.translation().map(|_| "translation")];
        if let Some(layer) = layers.into_iter().flatten().next() {
            return Err(CommandRefusal::Layer(layer));
        }
        let mut file = Outputs::new([""; 0], force).file("snapshot", path, Kind::Snapshot)?;
        file.fill(|out| snapshot::save(&drive.drives()[0], out))?;
        Ok(publish(vec![file], None)?)
    }

    fn status(&self) -> Status {
        let uptime = self.clock.wall(now()).as_secs_f64();
        Status {
            pace: self.clock.pace.to_string(),
            uptime_s: uptime,
            requests_per_s: if uptime > 0.0 { self.core.moved() as f64 / uptime } else { 0.0 },
            lag: LagStatus::of(&self.lag),
            damaged_reads: self.files.as_ref().map(DriveFiles::damaged),
            ..self.core.status()
        }
    }

    fn observe(&mut self, scope: ObservationScope) -> Observation {
        let seen = self.core.observe(scope);
        Observation {
            uptime: self.clock.wall(now()),
            pace: self.clock.pace.to_string(),
            lag: if scope.recent { self.lag.take_recent() } else { RecentLag::default() },
            health: Health { damaged_reads: self.files.as_ref().map(DriveFiles::damaged), ..seen.health },
            ..seen
        }
    }

    /// Switches the drive off in order, and answers every job.
    fn stop(&mut self) -> (Status, Option<StateError>) {
        self.advance();
        // The drive may be off already.
        let _ = self.core.power_off(self.core.now(), &mut self.answers);
        self.core.end(&mut self.answers);
        // A failure of the files is part of the result.
        let _ = self.keep(true);
        self.hand_out();
        let failure = self.files.as_ref().and_then(DriveFiles::failure).cloned();
        (self.status(), failure)
    }
}

impl Drop for DriveServer {
    /// Senders get their messages back from now on; jobs that wait are lost with the drive.
    fn drop(&mut self) {
        drop(self.inbox.close());
    }
}
