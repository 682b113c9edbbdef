//! `flashloom serve`: drives as block devices for NBD clients, and as subsystems for hosts of NVMe over TCP.

mod front;
mod kept;
mod places;
mod verified;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serve::engine::{CutPolicy, Engine, EngineError, EngineOptions, FinalState, Incidents, LagStatus, Pace};
use serve::metrics::MetricsServer;
use serve::nvme_tcp::{NvmeServer, PowerSignal};
use serve::record::{Recording, RecordingTarget};
use serve::server::{BindError, Export, Hangup, Limits, Listen, Server, Tls, TlsError};
use serve::web::{HttpError, WebServer};
use study::catalogue::Device;
use study::session::SessionError;

use crate::args::ServeArgs;
use crate::exit::{Failure, note, on_interrupt, print, say};
use crate::options::ExportArg;
use crate::progress::{Bars, Tell};
use crate::{device, machine};
use front::{Front, Stop};
pub(crate) use places::Places;

/// Why there is no TLS.
const NO_TLS: &str = "--tls-certificates: has no effect here: NVMe over TCP is served without TLS; leave it out, or add --listen or --socket";

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        Self::Input(format!("--tls-certificates: {error}"))
    }
}

/// A drive that is to be served, and the names of its exports.
struct ExportedDrive {
    names: Vec<String>,
    device: Device,
}

/// Runs `flashloom serve`.
pub(crate) fn serve(args: &ServeArgs, results: &mut dyn Write) -> Result<(), Failure> {
    let tell = args.notices();
    tell.check()?;
    // The pace of a running drive changes only by `flashloom ctl` and the page.
    if args.time.pace == Pace::Max && !args.time.spin.is_zero() && args.control.is_none() && args.web.is_none() {
        let why = "has no effect here: at --pace max no answer waits for its time; leave it out";
        return Err(Failure::Input(format!("--spin: {why}")));
    }
    let served = devices(args, tell)?;
    let of = |option| move |error: HttpError| Failure::Input(format!("{option}: {error}"));
    // The directories and sockets are opened first, because a drive may take minutes to prepare.
    let directories = kept::directories(args, &served)?;
    let controls = controls(args, &served)?;
    let mut metrics = args.metrics.map(MetricsServer::bind).transpose().map_err(of("--metrics"))?;
    let watched = metrics.as_ref().map(MetricsServer::address);
    let limits = Limits { connections: args.clients.connections, ..Limits::default() };
    let tls = args.clients.tls_certificates.as_ref();
    let serves_nbd = args.nvme.nvme.is_none() || args.clients.socket.is_some() || args.clients.listen.is_some();
    if !serves_nbd && tls.is_some() {
        return Err(Failure::Input(NO_TLS.to_owned()));
    }
    let server = match tls.map(|folder| Tls::load(folder, args.clients.tls_verify_peer)).transpose()? {
        None if !serves_nbd => None,
        Some(tls) => Some(Server::bind_tls(&listen(args), limits, tls)?),
        None => Some(Server::bind(&listen(args), limits)?),
    };
    let nvme = args.nvme.nvme.map(|address| NvmeServer::bind(address, args.nvme.limits())).transpose()?;
    let mut web = args.web.map(WebServer::bind).transpose().map_err(of("--web"))?;
    let url = web.as_ref().map(WebServer::url);
    let incidents = Incidents::default();
    let mut front = Front::new(server, nvme, &incidents, tell);
    let stopper = front.stopper();
    let (mut engines, mut exports, mut drives) = (Vec::new(), Vec::new(), Vec::new());
    let power = PowerSignal::new(served.len());
    for (number, (ExportedDrive { names, device }, dir)) in served.into_iter().zip(directories).enumerate() {
        let control = controls.get(number).cloned();
        let hangup = Hangup::default();
        let description = format!("{}, simulated by Flashloom", device.name);
        let lies = verified::ignores_flushes(&device);
        let mut options = options(args, device.clone(), (&hangup, &power, number));
        // NBD has no commands for zones.
        options.zones = !serves_nbd;
        options.verify = args.verify.then(|| verified::on_violation(&description));
        options.metrics = metrics.take();
        options.control = control;
        options.keep = dir.map(|dir| kept::keep(args, dir, stopper.clone()));
        // A page has exactly one drive.
        (options.web, options.incidents) = (web.take(), incidents.clone());
        let engine = start(options, tell)?;
        drives.push((engine.clone(), device));
        let export = |name| Export {
            name,
            description: description.clone(),
            disk: Arc::new(engine.clone()),
            hangup: hangup.clone(),
        };
        exports.extend(names.into_iter().map(export));
        engines.push((description, lies, engine.clone()));
    }
    front.export(args, drives, power)?;
    let names: Vec<&str> = match &args.device {
        Some(_) => vec![""],
        None => exports.iter().map(|export| export.name.as_str()).collect(),
    };
    let places = front.places(&names);
    let on_signal = stopper.clone();
    on_interrupt(move || on_signal.stop());
    print(results, &if args.json { places.json() } else { places.lines() })?;
    for path in &controls {
        say(format_args!("it takes commands: flashloom ctl {} status", path.display()));
    }
    if let Some(address) = watched {
        say(format_args!("its metrics are at http://{address}/metrics"));
    }
    if let Some(url) = url {
        say(format_args!("its live page: {url}"));
    }
    let user = args.run.as_ref().map(|line| User::start(line, &places, stopper)).transpose()?;
    let ended = front.run(exports);
    // All drives stop before any of them is reported.
    let last: Vec<_> = engines.iter().map(|(name, lies, engine)| (name, *lies, engine.stop())).collect();
    let (mut failed, mut lost) = (None, None);
    for (name, lies, stopped) in last {
        let Some(FinalState { status, record, failure }) = stopped else { continue };
        failed = failed.or(failure);
        if let Some(verified) = &status.verify {
            say(format_args!("{name}: {}", verified::summary(verified)));
            lost = lost.or(verified::failure(name, verified, lies));
        }
        if let Some(lag) = status.lag {
            say(format_args!("{name}: {}", late(&lag)));
        }
        if let Some(Recording { path, requests, notes }) = record.transpose()? {
            notes.iter().for_each(note);
            say(format_args!("recorded {requests} requests: {}", path.display()));
        }
    }
    ended.map_err(|error| Failure::Input(format!("the system refuses to serve: {error}; see `ulimit -n`")))?;
    let user = user.map_or(Ok(()), User::end);
    // A violation of the drive may be the cause of other failures, so it comes first.
    if let Some(lost) = lost {
        if let Err(failure) = user {
            say(failure);
        }
        return Err(lost);
    }
    // If a drive and the user's command have both failed, the drive failed first.
    failed.map_or(user, |failure| Err(failure.into()))
}

/// Opens all devices of the command line, before any drive is made.
fn devices(args: &ServeArgs, tell: Tell) -> Result<Vec<ExportedDrive>, Failure> {
    let open = |path: &Path| {
        let device = device::device(path, &args.set)?;
        tell.done(|| device::resolved(path, &device));
        Ok::<_, Failure>(device)
    };
    if let Some(path) = &args.device {
        let device = open(path)?;
        return Ok(vec![ExportedDrive { names: vec![String::new(), device.name.clone()], device }]);
    }
    for (i, ExportArg { name, .. }) in args.export.iter().enumerate() {
        if args.export[..i].iter().any(|other| other.name == *name) {
            return Err(Failure::Input(format!("--export: two drives are called `{name}`; choose another name")));
        }
    }
    let named = |arg: &ExportArg| Ok(ExportedDrive { names: vec![arg.name.clone()], device: open(&arg.device)? });
    args.export.iter().map(named).collect()
}

/// The socket for commands of each drive; none without `--control`.
fn controls(args: &ServeArgs, served: &[ExportedDrive]) -> Result<Vec<PathBuf>, Failure> {
    let Some(path) = &args.control else { return Ok(Vec::new()) };
    if args.device.is_some() {
        return Ok(vec![path.clone()]);
    }
    let of_drive = |of: &ExportedDrive| {
        let mut path = path.clone().into_os_string();
        path.push(".");
        path.push(kept::file_name(&of.names[0], "--control")?);
        Ok(path.into())
    };
    served.iter().map(of_drive).collect()
}

fn listen(args: &ServeArgs) -> Listen {
    match (&args.clients.socket, args.clients.listen) {
        (Some(path), _) => Listen::Unix(path.clone()),
        (None, Some(address)) => Listen::Tcp(address),
        (None, None) => {
            #[allow(clippy::disallowed_methods)] // The place of a socket changes no result.
            let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
            let usable = runtime.filter(|folder| folder.is_absolute() && folder.is_dir());
            Listen::PrivateIn(usable.unwrap_or_else(std::env::temp_dir))
        }
    }
}

/// The options of a drive, without its files, its metrics and its page. The drive has the number `number` and reports its power to
/// `hangup` and `power`.
fn options(args: &ServeArgs, device: Device, (hangup, power, number): (&Hangup, &PowerSignal, usize)) -> EngineOptions {
    let mut options = EngineOptions::new(device);
    options.seed = args.state.seed;
    options.precondition.clone_from(&args.state.precondition);
    options.load_snapshot.clone_from(&args.state.load_snapshot);
    options.memory_limit = machine::memory(args.memory);
    (options.pace, options.spin, options.on_cut) = (args.time.pace, args.time.spin, args.time.on_cut.into());
    let inputs = args.device.iter().chain(&args.state.load_snapshot).cloned().collect();
    options.record = args.record.clone().map(|path| RecordingTarget { path, force: args.replace.force, inputs });
    if options.on_cut == CutPolicy::End {
        let (hangup, power) = (hangup.clone(), power.clone());
        options.on_power = Some(Box::new(move |on| {
            if !on {
                hangup.hang_up();
            }
            power.set(number, on);
        }));
    }
    options
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

/// The command that `--run` starts beside the server.
struct User {
    line: String,
    id: Option<rustix::process::Pid>,
    /// True once the command has ended, which stops the server. The thread may end after the server.
    has_ended: Arc<AtomicBool>,
    waiting: thread::JoinHandle<std::io::Result<std::process::ExitStatus>>,
}

impl User {
    fn start(line: &str, places: &Places, stopper: Stop) -> Result<Self, Failure> {
        let refused =
            |error| Failure::Input(format!("--run: cannot be started: {error}; write a command of the shell"));
        let mut command = Command::new("sh");
        command.args(["-c", line]).envs(places.variables());
        let child = command.spawn().map_err(refused)?;
        let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let wait = move |mut child: Child| {
            let status = child.wait();
            ended.store(true, Ordering::Release);
            stopper.stop();
            status
        };
        let waiting = thread::Builder::new().spawn(move || wait(child)).map_err(refused)?;
        Ok(Self { line: line.to_owned(), id, has_ended, waiting })
    }

    /// Ends the command after the server has stopped: the command has ended itself, or a signal came, which the command gets, too.
    fn end(self) -> Result<(), Failure> {
        let interrupted = !self.has_ended.load(Ordering::Acquire);
        if interrupted && let Some(id) = self.id {
            // The command may end at the same moment.
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        match self.waiting.join() {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) if interrupted => {
                note(format_args!("`{}` was ended: {status}", self.line));
                Ok(())
            }
            Ok(Ok(status)) => {
                let remedy = "run it by itself, with a server in another terminal, to see why";
                Err(Failure::Input(format!("--run: `{}` failed: {status}; {remedy}", self.line)))
            }
            Ok(Err(error)) => Err(Failure::Input(format!("--run: cannot be waited for: {error}; start it by itself"))),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
