//! `flashloom serve`: drives as block devices for NBD clients, and as subsystems for hosts of NVMe over TCP.

mod drives;
mod front;
mod kept;
mod places;
mod user;
mod verified;

use std::io::Write;
use std::path::{Path, PathBuf};

use serve::engine::{Incidents, Pace};
use serve::metrics::MetricsServer;
use serve::nvme_tcp::{NvmeServer, PowerSignal};
use serve::server::{BindError, Export, Limits, Listen, Server, Tls, TlsError};
use serve::web::{HttpError, WebServer};
use study::catalogue::Device;

use crate::args::ServeArgs;
use crate::device;
use crate::exit::{Failure, on_interrupt, print, say};
use crate::options::ExportArg;
use crate::progress::Tell;
use drives::{Failures, RunningDrive, Starter};
use front::Front;
pub(crate) use places::Places;
use user::User;

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
    check(args)?;
    let served = devices(args, tell)?;
    // The directories and sockets are opened first, because a drive may take minutes to prepare.
    let directories = kept::directories(args, &served)?;
    let controls = controls(args, &served)?;
    let pages = Pages::bind(args)?;
    let server = serves_nbd(args).then(|| nbd_server(args)).transpose()?;
    let nvme = args.nvme.nvme.map(|address| NvmeServer::bind(address, args.nvme.limits())).transpose()?;
    let lines: Vec<String> = controls.iter().map(|path| control_line(path)).chain(pages.lines()).collect();
    let incidents = Incidents::default();
    let mut front = Front::new(server, nvme, &incidents, tell);
    let (stopper, power) = (front.stopper(), PowerSignal::new(served.len()));
    let mut starter = Starter { args, tell, pages, incidents, power: power.clone(), stopper: stopper.clone() };
    let mut running = Vec::new();
    for (number, (drive, directory)) in served.into_iter().zip(directories).enumerate() {
        running.push(starter.start(number, drive, controls.get(number).cloned(), directory)?);
    }
    front.export(args, running.iter().map(|drive| (drive.engine.clone(), drive.device.clone())).collect(), power)?;
    let exports: Vec<Export> = running.iter().flat_map(RunningDrive::exports).collect();
    let names: Vec<&str> = match &args.device {
        Some(_) => vec![""],
        None => exports.iter().map(|export| export.name.as_str()).collect(),
    };
    let places = front.places(&names);
    let on_signal = stopper.clone();
    on_interrupt(move || on_signal.stop());
    print(results, &if args.json { places.json() } else { places.lines() })?;
    lines.iter().for_each(say);
    let user = args.run.as_ref().map(|line| User::start(line, &places, stopper)).transpose()?;
    let ended = front.run(exports);
    let Failures { failed, lost } = drives::stop(&running)?;
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
    failed.map_or(user, Err)
}

/// True if drives are served over NBD.
const fn serves_nbd(args: &ServeArgs) -> bool {
    args.nvme.nvme.is_none() || args.clients.socket.is_some() || args.clients.listen.is_some()
}

/// Checks the options that have no effect without others.
fn check(args: &ServeArgs) -> Result<(), Failure> {
    // The pace of a running drive changes only by `flashloom ctl` and the page.
    if args.time.pace == Pace::Max && !args.time.spin.is_zero() && args.control.is_none() && args.web.is_none() {
        let why = "has no effect here: at --pace max no answer waits for its time; leave it out";
        return Err(Failure::Input(format!("--spin: {why}")));
    }
    if !serves_nbd(args) && args.clients.tls_certificates.is_some() {
        return Err(Failure::Input(NO_TLS.to_owned()));
    }
    Ok(())
}

fn nbd_server(args: &ServeArgs) -> Result<Server, Failure> {
    let limits = Limits { connections: args.clients.connections, ..Limits::default() };
    let Some(folder) = &args.clients.tls_certificates else { return Ok(Server::bind(&listen(args), limits)?) };
    let tls = Tls::load(folder, args.clients.tls_verify_peer)?;
    Ok(Server::bind_tls(&listen(args), limits, tls)?)
}

/// The servers of a drive's metrics and of its page, with open sockets.
struct Pages {
    metrics: Option<MetricsServer>,
    web: Option<WebServer>,
}

impl Pages {
    fn bind(args: &ServeArgs) -> Result<Self, Failure> {
        let of = |option| move |error: HttpError| Failure::Input(format!("{option}: {error}"));
        Ok(Self {
            metrics: args.metrics.map(MetricsServer::bind).transpose().map_err(of("--metrics"))?,
            web: args.web.map(WebServer::bind).transpose().map_err(of("--web"))?,
        })
    }

    /// A line with the address of each.
    fn lines(&self) -> Vec<String> {
        let metrics = self.metrics.as_ref().map(MetricsServer::address);
        let metrics = metrics.map(|address| format!("its metrics are at http://{address}/metrics"));
        let web = self.web.as_ref().map(|web| format!("its live page: {}", web.url()));
        metrics.into_iter().chain(web).collect()
    }
}

fn control_line(path: &Path) -> String {
    format!("it takes commands: flashloom ctl {} status", path.display())
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
