//! Records the run of a torture.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use study::catalogue::{self, Device, Stage};
use torture::{Play, PlayError, TortureSpec};
use workload::Pacing;
use workload::trace::TraceOptions;

use super::unwritable;
use crate::exit::{Failure, note};

/// Records the run of a described workload in simulated time, in a new file.
pub(super) fn play(spec: &TortureSpec, device: &Device, workload: &Path, to: &Path) -> Result<(), Failure> {
    let mut opened = catalogue::workload(workload)?.open(&TraceOptions::default(), device.capacity(), spec.seed)?;
    opened.notes.iter().for_each(note);
    if opened.stages.iter().any(|stage| stage.beside.is_some()) {
        let message = "has jobs that run at the same time, each at its own pace; give a file with one of them";
        return Err(Failure::Input(format!("{}: {message}", workload.display())));
    }
    let pauses = |stage: &Stage| {
        let source = &stage.source;
        source.think().is_some() || !source.start().is_zero() && source.pacing() != Pacing::Open
    };
    if opened.stages.iter().any(pauses) {
        let message = "has pauses or a delay, which a recording does not make; leave out `think` and `start`";
        return Err(Failure::Input(format!("{}: {message}", workload.display())));
    }
    let failed = |error: PlayError| Failure::Input(format!("{}: {error}", workload.display()));
    let file = File::create_new(to).map_err(|error| unwritable(to, &error))?;
    let mut play = Play::begin(device, spec.seed, &spec.precondition, BufWriter::new(file)).map_err(failed)?;
    let mut left = spec.limit.unwrap_or(u64::MAX);
    for stage in &mut opened.stages {
        left -= play.run(&mut *stage.source, left).map_err(failed)?;
    }
    play.finish().map(drop).map_err(|error| unwritable(to, &error))
}

#[cfg(not(unix))]
pub(super) fn serve(_: &TortureSpec, _: &Device, _: &str, _: &Path) -> Result<(), Failure> {
    Err(Failure::Input("run: drives are served on Unix only; name a workload or a journal".to_owned()))
}

#[cfg(unix)]
pub(super) use unix::serve;

#[cfg(unix)]
mod unix {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::sync::Arc;

    use serve::server::{Export, Hangup, Limits, Listen, Server};
    use torture::{RecordedDrive, quoted};

    use super::{Device, Failure, File, Path, TortureSpec, unwritable};

    /// Records the run of a command that uses the drive over NBD, in a new file.
    #[allow(clippy::disallowed_methods)] // The server has a thread of its own.
    pub(in super::super) fn serve(
        spec: &TortureSpec,
        device: &Device,
        command: &str,
        to: &Path,
    ) -> Result<(), Failure> {
        let file = File::create_new(to).map_err(|error| unwritable(to, &error))?;
        let begun = RecordedDrive::begin(device, spec.seed, &spec.precondition, (file, to));
        let (live, recordings) = begun.map_err(|error| Failure::Input(error.to_string()))?;
        let live = Arc::new(live);
        let place = Listen::PrivateIn(to.parent().map_or_else(std::env::temp_dir, Path::to_owned));
        let server = Server::bind(&place, Limits::default()).map_err(|error| Failure::Input(error.to_string()))?;
        let socket = server.socket().unwrap_or(Path::new("")).display().to_string();
        let (uri, stopper) = (server.uri(""), server.stopper());
        let description = device.name.clone();
        let export = Export { name: String::new(), description, disk: live.clone(), hangup: Hangup::default() };
        let serving = std::thread::spawn(move || server.run(vec![export]));
        // A URI may have characters that are special to the shell.
        let line = command.replace("{uri}", &quoted(Path::new(&uri))).replace("{socket}", &quoted(Path::new(&socket)));
        let ran = run(&line, &live);
        stopper.stop();
        let served = serving.join().expect("the server does not panic");
        live.finish();
        recordings.join().map_err(|error| unwritable(to, &error))?;
        served.map_err(|error| {
            Failure::Input(format!("the drive cannot be served: {error}; free some file descriptors"))
        })?;
        ran
    }

    /// Runs the command, and records the lines that it prints.
    fn run(line: &str, live: &RecordedDrive) -> Result<(), Failure> {
        let failed = |error: std::io::Error| {
            Failure::Input(format!("run: the shell cannot be started: {error}; check that `sh` is in the path"))
        };
        let mut child = Command::new("sh")
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(output) = child.stdout.take() {
            let mut lines = BufReader::new(output);
            let mut bytes = Vec::new();
            while lines.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
                live.said(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned());
                bytes.clear();
            }
        }
        let status = child.wait().map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        let remedy = "a workload ends with exit code 0, so that its run is known to be whole";
        Err(Failure::Input(format!("run: the command ended with {status}; {remedy}")))
    }
}
