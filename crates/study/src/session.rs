//! The only way to run a drive.
//!
//! A [`Session`] combines a device, its initial state, the workloads, the warm-up, the stop rule, the observers and the
//! checks. It returns an [`Outcome`], from which tables, JSON, Parquet and pages are made without a second run. Every
//! front end of Flashloom builds a session; no other code preconditions a drive, warms it up, verifies its data or
//! reconciles its counters.
//!
//! ```
//! use std::path::Path;
//!
//! use ssd::Precondition;
//! use study::catalogue;
//! use study::session::{Session, Stop, WarmUp};
//! use workload::trace::TraceOptions;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The built-in device `demo`, made smaller: every key of its file can be set.
//! let mut document = catalogue::device(Path::new("demo"))?;
//! document.set("flash.blocks=26")?;
//! document.set("ftl.capacity=100MiB")?;
//! let device = catalogue::device_from(&document)?;
//!
//! let mut session = Session::new(&device)
//!     .seed(7)
//!     .precondition(vec![Precondition::Fill])
//!     .warm_up(WarmUp::Requests(500))
//!     .stop(Stop::Requests(2_000))
//!     .verify(true);
//! let oltp = session.open(&catalogue::workload(Path::new("oltp"))?, &TraceOptions::default())?;
//! let outcome = session.flow(oltp).run()?;
//!
//! let measured = outcome.first();
//! assert_eq!(measured.result.completed, 2_000);
//! assert!(measured.verified.is_some_and(|verified| verified.reads > 0));
//! println!("{}", measured.summary().event_hash);
//! # Ok(())
//! # }
//! ```

mod about;
mod alone;
mod error;
mod flow;
mod foresight;
mod life;
mod outcome;
mod point;
mod prepare;
mod progress;
mod raid;
mod settings;
mod stages;
mod state;
mod touched;
mod translation;

use std::io;
use std::sync::atomic::AtomicBool;

use base::units::{Sectors, Span, Temperature};
use flash::nand::Stamp;
use ssd::{Drive, Memory, Precondition, Storage};
use workload::trace::TraceOptions;

use crate::catalogue::{Device, WorkloadError, WorkloadFile};
use crate::inspect::Inspect;
use crate::life::{Life, LifeError};
use crate::memory::{self, Limit, Need};
use crate::oracle::{Blank, Oracle, Payload};
use crate::plan::RunSpec;
use crate::run::{RequestLog, Window};
use crate::summary::Provenance;
use crate::watch::Watch;
use crate::worn::WornOutError;

pub use crate::run::{Amount, Course, Steady, Stop, WarmUp};
pub use error::SessionError;
pub use flow::Flow;
pub use outcome::{Measurement, Outcome};
pub use progress::Progress;
pub use settings::Program;
pub use state::Snapshot;

use flow::Origin;
use settings::Settings;

type Keep<'a> = Box<dyn FnOnce(&Snapshot<'_>) -> io::Result<()> + 'a>;

/// A device, its initial state, the workloads that run on it, and the measurements and checks to make.
pub struct Session<'a> {
    device: &'a Device,
    settings: Settings,
    flows: Vec<Flow<'a>>,
    save: Option<Keep<'a>>,
    keep: Option<Keep<'a>>,
    watch: Option<Watch>,
    // Boxes keep `Session<'a>` covariant in `'a`, so that a session can take a log or a callback with a shorter
    // lifetime.
    log: Option<Box<dyn RequestLog + 'a>>,
    progress: Option<Box<dyn FnMut(Progress) + 'a>>,
    memory: Option<Limit>,
    interrupt: Option<&'a AtomicBool>,
    /// The number of the flow, from one, if it runs alone for the comparison with the run beside others.
    alone: Option<usize>,
    /// The life in which the run is a round.
    life: Option<Life>,
    /// True if another session makes this session as one of several.
    is_part: bool,
}

impl<'a> Session<'a> {
    /// Creates a session on a new drive without a workload: seed 0, no verification, measured from the first request to
    /// the last.
    #[must_use]
    pub fn new(device: &'a Device) -> Self {
        Self {
            device,
            settings: Settings::default(),
            flows: Vec::new(),
            save: None,
            keep: None,
            watch: None,
            log: None,
            progress: None,
            memory: None,
            interrupt: None,
            alone: None,
            life: None,
            is_part: false,
        }
    }

    /// Adopts the table `run` of a study, except for the pacing and the options of traces, which belong to a [`Flow`].
    #[must_use]
    pub fn spec(mut self, spec: &RunSpec) -> Self {
        self.settings.steps.clone_from(&spec.precondition);
        (self.settings.storage, self.settings.temperature) = (spec.age, spec.temperature);
        self.settings.verify = spec.verify;
        self.settings.time_scale = spec.time_scale;
        self.settings.window = spec.window();
        self.settings.fairness = spec.fairness;
        self.settings.course = spec.series.map(|interval| Course { interval: Some(interval) });
        self.settings.load.clone_from(&spec.load_snapshot);
        self.settings.rounds = spec.rounds;
        self.settings.warranty = spec.warranty.unwrap_or(self.settings.warranty);
        self.watch = spec.explain.then(|| Watch::default().explaining());
        self
    }

    /// Names the program that runs the session; results record it.
    #[must_use]
    pub fn program(mut self, program: Program) -> Self {
        self.settings.program = program;
        self
    }

    /// Sets the seed of all random streams. Equal sessions with equal seeds have equal outcomes.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Preconditions the drive with these steps. No simulated time passes.
    #[must_use]
    pub fn precondition(mut self, steps: Vec<Precondition>) -> Self {
        self.settings.steps = steps;
        self
    }

    /// Leaves the drive without power between preconditioning and run: its data ages, which raises the bit errors of
    /// reads.
    #[must_use]
    pub fn age(mut self, storage: Storage, temperature: Option<Temperature>) -> Self {
        (self.settings.storage, self.settings.temperature) = (Some(storage), temperature);
        self
    }

    /// Adds a workload. The outcome's measurements cover the first workload; the others run at the same time, each with
    /// its own pacing, queue and results. A workload whose name is taken gets a number after its name.
    #[must_use]
    pub fn flow(mut self, mut flow: Flow<'a>) -> Self {
        let taken = |name: &str| self.flows.iter().any(|other| other.name == name);
        if taken(&flow.name) {
            let numbered = (2..).map(|n: u32| format!("{}-{n}", flow.name)).find(|name| !taken(name));
            flow.name = numbered.unwrap_or_default();
        }
        // A workload may ask for a check of its data.
        self.settings.verify |= flow.verifies;
        self.flows.push(flow);
        self
    }

    /// Runs each of several flows also alone, after all of them together: the same requests on a new drive with the
    /// same seed and preconditioning. The results then have each flow's slowdown. Must be called before
    /// [`Session::open`].
    #[must_use]
    pub fn fairness(mut self, compare: bool) -> Self {
        self.settings.fairness = compare;
        self
    }

    /// Multiplies all times of arrival: 0.5 plays a trace twice as fast.
    ///
    /// # Panics
    /// If `factor` is not a positive number.
    #[must_use]
    pub fn time_scale(mut self, factor: f64) -> Self {
        assert!(factor > 0.0 && factor.is_finite(), "{factor} cannot scale time");
        self.settings.time_scale = Some(factor);
        self
    }

    /// Records a detailed time series: distributions of latencies and queue depths, by flow if there are several. No other
    /// result changes.
    #[must_use]
    pub fn course(mut self, course: Course) -> Self {
        self.settings.course = Some(course);
        self
    }

    /// Runs the workload for a while before the measurement: latencies, counters, series and the request log begin when
    /// the warm-up ends. Submission does not pause there. Requests in flight at that moment are measured; the oracle
    /// checks all requests, those of the warm-up too.
    #[must_use]
    pub fn warm_up(mut self, warm_up: WarmUp) -> Self {
        self.settings.window = self.settings.window.warmed_up_by(warm_up);
        self
    }

    /// Ends the session by this rule, unless the workload ends first.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.settings.window = self.settings.window.stopped_by(stop);
        self
    }

    /// Lets the device finish its background work after the last completion, for at most this long: 60 s by default.
    /// The time of each die and channel can be reconciled only if all background work ends in that time. This time is
    /// not measured.
    #[must_use]
    pub fn settle(mut self, at_most: Span) -> Self {
        self.settings.settle = at_most;
        self
    }

    /// Checks that every read returns the newest completed write of each sector.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.settings.verify = verify;
        self
    }

    /// Checks the invariants of the whole drive at the end. The check visits every mapping unit.
    #[must_use]
    pub fn check_drive(mut self, check: bool) -> Self {
        self.settings.check_drive = check;
        self
    }

    /// Attaches an observer to the flash, for a timeline or to attribute the time of the requests. Results do not
    /// change.
    #[must_use]
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Logs every measured request in order of completion.
    #[must_use]
    pub fn log(mut self, log: impl RequestLog + 'a) -> Self {
        self.log = Some(Box::new(log));
        self
    }

    /// Calls `progress` after every few thousand requests or mapping units of preconditioning.
    #[must_use]
    pub fn progress(mut self, progress: impl FnMut(Progress) + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Refuses to run if the simulation needs more memory than `limit` allows.
    #[must_use]
    pub fn memory_limit(mut self, limit: Limit) -> Self {
        self.memory = Some(limit);
        self
    }

    /// Ends the session with [`RunError::Interrupted`](crate::run::RunError::Interrupted) soon after this becomes true:
    /// within some thousand requests or mapping units of preconditioning. A handler of Ctrl-C may set it.
    #[must_use]
    pub fn interrupt(mut self, interrupt: &'a AtomicBool) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// Opens a workload for this device as the next flow. The flow's index enters its seed, so that two flows of one
    /// description draw different requests.
    ///
    /// The end of a described workload depends on the stop rule:
    ///
    /// - If the session or the first workload's description has a warm-up and a stop rule, or a stop rule other than a
    ///   number of requests, this rule ends the workload; its own `requests`, `total` and `duration` do not.
    /// - A number of requests alone extends the first workload, if that has fewer `requests`; its other limits still
    ///   end it.
    ///
    /// # Errors
    ///
    /// All faults of a description, or the fault of a trace.
    pub fn open(&self, file: &WorkloadFile, options: &TraceOptions) -> Result<Flow<'a>, WorkloadError> {
        let seed = self.settings.seed.wrapping_add((self.flows.len() as u64) << 32);
        let mut file = file.clone();
        if self.settings.fairness || self.life_round().is_some() {
            file.keep()?;
        }
        Flow::open(Origin {
            file,
            options: options.clone(),
            capacity: self.device.capacity(),
            seed,
            window: self.window(),
        })
    }

    /// The part of the run that is measured, from the settings of the session and of the first workload.
    fn window(&self) -> Window {
        let own = self.settings.window;
        // Settings of workloads beside the first are ignored.
        self.flows.first().map_or(own, |first| first.window(own).fixed())
    }

    /// The workloads added so far.
    #[must_use]
    pub fn flows(&self) -> &[Flow<'a>] {
        &self.flows
    }

    /// The provenance that results record: the device, the workloads and the session.
    #[must_use]
    pub fn about(&self) -> Provenance {
        about::about(self.device, &self.settings, &self.flows)
    }

    /// Checks in advance for reasons not to run: too little memory, or preconditioning steps that the device does not
    /// allow. [`Session::run`] begins with this check.
    ///
    /// # Errors
    ///
    /// The first reason found.
    pub fn check(&self) -> Result<(), SessionError> {
        self.check_with(self.memory())
    }

    fn check_with(&self, memory: Memory) -> Result<(), SessionError> {
        let device = self.device;
        self.refuse_layers()?;
        if let Some(limit) = &self.memory {
            memory::check(vec![Need { name: device.name.clone(), memory }], 1, limit)
                .map_err(SessionError::TooLarge)?;
        }
        let is_new = self.settings.load.is_none() && self.settings.state.is_none();
        if let Some((step, fault)) = Precondition::first_fault(&self.settings.steps, &device.resolved, is_new) {
            return Err(SessionError::Precondition { step, fault });
        }
        match Storage::fault(self.settings.storage, self.settings.temperature, Some(&device.resolved)) {
            Some(fault) => Err(SessionError::Age { fault }),
            None => Ok(()),
        }
    }

    /// Creates the drive, prepares it, and runs the workloads to their end.
    ///
    /// # Errors
    ///
    /// See [`SessionError`].
    ///
    /// # Panics
    ///
    /// If the drive breaks an invariant, for example loses a request.
    pub fn run(mut self) -> Result<Outcome, SessionError> {
        self.check()?;
        if !self.is_part {
            if let Some(round) = self.life_round() {
                return self.run_life(round);
            }
            if let Some(device) = self.with_foresight()? {
                return Session { device: &device, is_part: true, ..self }.run();
            }
            if self.settings.fairness {
                return self.run_with_fairness();
            }
        }
        let watch = self.watch.take();
        if let Some(spec) = self.device.resolved.spec.raid.clone() {
            return self.run_raid(&spec, watch);
        }
        if self.device.resolved.translation.is_some() {
            return self.run_translation(watch);
        }
        if self.settings.verify {
            let mut oracle = self.oracle();
            let mut drive = self.prepared::<Stamp>(watch)?;
            self.run_stages(&mut drive, &mut oracle)
        } else {
            let mut drive = self.prepared::<()>(watch)?;
            self.run_stages(&mut drive, &mut Blank)
        }
    }

    /// Runs the workloads on a drive that the caller has created and prepared. It may have been used before. The
    /// session's preconditioning, snapshots and observers are ignored, and no flow runs alone.
    ///
    /// # Errors
    ///
    /// See [`SessionError`].
    ///
    /// # Panics
    ///
    /// If the drive breaks an invariant, for example loses a request.
    pub fn run_on<S, D, P>(mut self, drive: &mut D, payload: &mut P) -> Result<Outcome, SessionError>
    where
        D: Drive<S> + Inspect,
        P: Payload<S>,
    {
        self.refuse_foresight()?;
        if self.life_round().is_some() {
            return Err(SessionError::Life(LifeError::OwnDrive));
        }
        self.run_stages(drive, payload)
    }

    /// The oracle of a new drive.
    fn oracle(&self) -> Oracle {
        let resolved = &self.device.resolved;
        let granularity = Sectors::new(u64::from(resolved.geometry.sectors));
        let zone = resolved.zones.map_or(0, |shape| u64::from(shape.capacity));
        Oracle::blank(granularity).with_zones(Sectors::new(zone * granularity.get()))
    }

    /// A session on the same device that this session makes as one of several. It reports its progress to this session's
    /// caller, and can be interrupted in the same way.
    fn part<'p>(&'p mut self, settings: Settings, flows: Vec<Flow<'p>>) -> Session<'p> {
        let mut part =
            Session { settings, flows, interrupt: self.interrupt, is_part: true, ..Session::new(self.device) };
        if let Some(progress) = &mut self.progress {
            part.progress = Some(Box::new(progress));
        }
        part
    }
}

#[cfg(test)]
mod tests;
