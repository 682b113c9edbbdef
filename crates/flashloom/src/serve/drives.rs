//! The drives that are served: their start, their exports, and what is said of them at the end.

use std::path::PathBuf;
use std::sync::Arc;

use serve::StateDir;
use serve::engine::{CutPolicy, Engine, EngineError, EngineOptions, FinalState, Incidents, LagStatus};
use serve::nvme_tcp::PowerSignal;
use serve::record::{Recording, RecordingTarget};
use serve::server::{Export, Hangup};
use study::catalogue::Device;
use study::session::SessionError;

use super::front::Stop;
use super::{ExportedDrive, Pages, kept, serves_nbd, verified};
use crate::args::ServeArgs;
use crate::exit::{Failure, note, say};
use crate::machine;
use crate::progress::{Bars, Tell};

/// A drive that is served.
pub(super) struct RunningDrive {
    names: Vec<String>,
    description: String,
    pub(super) device: Device,
    pub(super) engine: Engine,
    hangup: Hangup,
}

impl RunningDrive {
    /// The exports of the drive, one for each of its names.
    pub(super) fn exports(&self) -> impl Iterator<Item = Export> {
        self.names.iter().map(|name| Export {
            name: name.clone(),
            description: self.description.clone(),
            disk: Arc::new(self.engine.clone()),
            hangup: self.hangup.clone(),
        })
    }
}

/// Starts the drives of a command, one after another.
pub(super) struct Starter<'a> {
    pub(super) args: &'a ServeArgs,
    pub(super) tell: Tell,
    /// Metrics and page of the first drive. Only a command with one drive has them.
    pub(super) pages: Pages,
    pub(super) incidents: Incidents,
    pub(super) power: PowerSignal,
    pub(super) stopper: Stop,
}

impl Starter<'_> {
    /// Makes the drive with this number and serves it.
    pub(super) fn start(
        &mut self,
        number: usize,
        drive: ExportedDrive,
        control: Option<PathBuf>,
        directory: Option<StateDir>,
    ) -> Result<RunningDrive, Failure> {
        let ExportedDrive { names, device } = drive;
        let args = self.args;
        let hangup = Hangup::default();
        let description = format!("{}, simulated by Flashloom", device.name);
        let mut options = self.options(device.clone(), &hangup, number);
        // NBD has no commands for zones.
        options.zones = !serves_nbd(args);
        options.verify = args.verify.then(|| verified::on_violation(&description));
        options.control = control;
        options.keep = directory.map(|directory| kept::keep(args, directory, self.stopper.clone()));
        (options.metrics, options.web) = (self.pages.metrics.take(), self.pages.web.take());
        options.incidents = self.incidents.clone();
        let engine = start(options, self.tell)?;
        Ok(RunningDrive { names, description, device, engine, hangup })
    }

    /// The options of a drive, without its files, its metrics and its page.
    fn options(&self, device: Device, hangup: &Hangup, number: usize) -> EngineOptions {
        let args = self.args;
        let mut options = EngineOptions::new(device);
        options.seed = args.state.seed;
        options.precondition.clone_from(&args.state.precondition);
        options.load_snapshot.clone_from(&args.state.load_snapshot);
        options.memory_limit = machine::memory(args.memory);
        (options.pace, options.spin, options.on_cut) = (args.time.pace, args.time.spin, args.time.on_cut.into());
        let inputs = args.device.iter().chain(&args.state.load_snapshot).cloned().collect();
        options.record = args.record.clone().map(|path| RecordingTarget { path, force: args.replace.force, inputs });
        if options.on_cut == CutPolicy::End {
            let (hangup, power) = (hangup.clone(), self.power.clone());
            options.on_power = Some(Box::new(move |on| {
                if !on {
                    hangup.hang_up();
                }
                power.set(number, on);
            }));
        }
        options
    }
}

/// Makes a drive and serves it.
fn start(options: EngineOptions, tell: Tell) -> Result<Engine, Failure> {
    if let Some((all, limit)) = options.outgrown() {
        let remedy = match &options.keep {
            Some(_) => "without --verify it would take less",
            None => "with --state DIR the content is in files",
        };
        note(format_args!(
            "{}: memory holds what clients write, up to {all} once they have written all of the drive, and {} are available \
             ({}): the system may then end this command; {remedy}",
            options.device.name, limit.bytes, limit.name
        ));
    }
    let mut bars = Bars::new(tell);
    Engine::start(options, |progress| bars.show(progress)).map_err(|error| match error {
        EngineError::Session(error) => session(&error),
        EngineError::State(error) => error.into(),
        EngineError::Record(error) => error.into(),
        EngineError::Control(error) => Failure::Input(error.to_string()),
        error @ (EngineError::Zones(_) | EngineError::KeptLayer { .. }) => Failure::Input(error.to_string()),
        error @ EngineError::Thread(_) => Failure::Input(format!("{error}; see `ulimit -u`")),
    })
}

fn session(error: &SessionError) -> Failure {
    Failure::session(error, || "that of the same drive with `flashloom run`".to_owned())
}

/// A line on the lateness of answers.
fn late(lag: &LagStatus) -> String {
    let times = &lag.times;
    format!(
        "{} answers were late by {:.0} us in the mean, 99 % by up to {:.0} us, the latest by {:.0} us; {:.1} % by more than \
         5 % of their latency",
        lag.answers,
        times.mean_us,
        times.p99_us,
        times.max_us,
        lag.late_share * 100.0
    )
}

/// The failures with which a command ends.
#[derive(Default)]
pub(super) struct Failures {
    /// The first failure of a drive.
    pub(super) failed: Option<Failure>,
    /// The first drive that broke its promises.
    pub(super) lost: Option<Failure>,
}

/// Stops all drives, and then says what there is to say of each.
pub(super) fn stop(drives: &[RunningDrive]) -> Result<Failures, Failure> {
    let last: Vec<_> = drives.iter().map(|drive| (drive, drive.engine.stop())).collect();
    let mut failures = Failures::default();
    for (RunningDrive { description: name, device, .. }, stopped) in last {
        let Some(FinalState { status, record, failure }) = stopped else { continue };
        failures.failed = failures.failed.or(failure.map(Failure::from));
        if let Some(verified) = &status.verify {
            say(format_args!("{name}: {}", verified::summary(verified)));
            let lies = verified::ignores_flushes(device);
            failures.lost = failures.lost.or(verified::failure(name, verified, lies));
        }
        if let Some(lag) = status.lag {
            say(format_args!("{name}: {}", late(&lag)));
        }
        if let Some(Recording { path, requests, notes }) = record.transpose()? {
            notes.iter().for_each(note);
            say(format_args!("recorded {requests} requests: {}", path.display()));
        }
    }
    Ok(failures)
}
