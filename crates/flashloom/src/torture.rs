//! `flashloom torture`: power cuts of a recorded run, and the content of each recovered drive.

mod record;
mod table;

use std::fs;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use study::config::{Document, load};
use study::output::{Kind, OutFile, Outputs, TEXT, publish};
use tempfile::TempDir;
use torture::{Cut, CutResult, Honesty, Laboratory, LossSpec, Recording, TortureSpec, quoted};

use crate::args::TortureArgs;
use crate::exit::{Failure, note, print};
use crate::progress::Bar;

pub(crate) use table::TortureResult;

/// Runs `flashloom torture`.
pub(crate) fn torture(args: &TortureArgs, results: &mut dyn std::io::Write) -> Result<(), Failure> {
    match (&args.replay, &args.into, &args.torture) {
        (Some(loss), Some(into), _) => replay(loss, into, args.json, results),
        (_, _, Some(file)) => run(file, args, results),
        _ => Err(Failure::Input("name the file of a torture, e.g. flashloom torture torture.toml".to_owned())),
    }
}

fn run(file: &Path, args: &TortureArgs, results: &mut dyn std::io::Write) -> Result<(), Failure> {
    let task = TortureTask::read(file, args)?;
    let TortureTask { spec, kept, .. } = &task;
    let mut inputs = vec![file.to_owned()];
    inputs.extend(kept.iter().filter(|_| args.journal.is_none()).cloned());
    let mut outputs = Outputs::new(&inputs, args.replace.force);
    let loss = args.loss.as_deref().map(|path| outputs.file("--loss", path, Kind::Text)).transpose()?;
    let scratch = scratch()?;
    let journal = task.record(args, &mut outputs, scratch.path())?;
    let laboratory = open(&journal)?;
    if laboratory.journal().end.is_none() {
        note(format_args!("{}: the journal was cut short; what is whole of it is used", journal.display()));
    }
    let cuts = task.cuts(args, &laboratory, &journal)?;
    note_idle_lies(spec.drive, &laboratory);
    let check = spec.checking();
    let images = scratch.path().join("images");
    fs::create_dir(&images).map_err(|error| unwritable(&images, &error))?;
    let bar = Bar::steps("torture", args.quiet);
    let done = |done: usize| bar.step(done as u64, cuts.len() as u64);
    let jobs = args.jobs.or(spec.jobs).unwrap_or_else(cores);
    let tested = laboratory.test(&cuts, spec.drive, check.as_ref().map(|check| (check, &*images)), jobs, &done);
    let tested = tested.map_err(|error| Failure::Input(error.to_string()))?;
    drop(bar);
    let first = tested.iter().find(|tested| tested.is_loss());
    if let (Some(out), Some(first), Some(journal)) = (loss, first, kept) {
        write_loss(out, spec, journal, first)?;
    }
    let result = TortureResult::new(&spec.name, &laboratory, spec.drive, &tested);
    print(results, &if args.json { result.json() } else { result.text() })?;
    ended(&tested)
}

/// A torture file, and the journal of its run.
struct TortureTask<'a> {
    file: &'a Path,
    spec: TortureSpec,
    recording: Recording,
    /// The journal, if it is a file of the user: the one that the torture file names, or one that the command writes.
    kept: Option<PathBuf>,
}

impl<'a> TortureTask<'a> {
    fn read(file: &'a Path, args: &TortureArgs) -> Result<Self, Failure> {
        let document = Document::read(file)?;
        let (mut spec, mut recording) = document.decode_and(TortureSpec::recording)?;
        let here = file.canonicalize().ok().and_then(|file| file.parent().map(quoted)).unwrap_or_default();
        spec.check = spec.check.map(|check| check.replace("{here}", &here));
        if let Recording::Command { command, .. } = &mut recording {
            *command = command.replace("{here}", &here);
        }
        let kept = match &recording {
            Recording::Journal(journal) => Some(beside(file, journal)),
            Recording::Workload { .. } | Recording::Command { .. } => args.journal.clone(),
        };
        if args.loss.is_some() && kept.is_none() {
            let remedy = "add --journal RUN.journal, which the reproduction reads";
            return Err(Failure::Input(format!("--loss: the recorded run is not kept; {remedy}")));
        }
        if args.journal.is_some() && matches!(recording, Recording::Journal(_)) {
            let why = "the run is in a journal already";
            return Err(Failure::Input(format!("--journal: has no effect here: {why}; leave it out")));
        }
        Ok(Self { file, spec, recording, kept })
    }

    /// Records the run, unless the file names its journal. Returns the path of the journal.
    fn record(&self, args: &TortureArgs, outputs: &mut Outputs, scratch: &Path) -> Result<PathBuf, Failure> {
        let Self { file, spec, .. } = self;
        let (Recording::Workload { device, .. } | Recording::Command { device, .. }) = &self.recording else {
            return Ok(self.kept.clone().unwrap_or_default());
        };
        let out = args.journal.as_deref().map(|path| outputs.file("--journal", path, Kind::Journal)).transpose()?;
        let device = crate::device::device(&beside(file, device), &spec.set)?;
        let own = scratch.join("journal");
        match &self.recording {
            Recording::Workload { workload, .. } => record::play(spec, &device, &beside(file, workload), &own)?,
            Recording::Command { command, .. } => record::serve(spec, &device, command, &own)?,
            Recording::Journal(_) => {}
        }
        keep(out, own)
    }

    /// The moments at which the power is cut.
    fn cuts(&self, args: &TortureArgs, laboratory: &Laboratory, journal: &Path) -> Result<Vec<Cut>, Failure> {
        let mut points = self.spec.points;
        points.most = args.points.unwrap_or(points.most);
        let cuts = laboratory.cuts(&points, self.spec.seed).map_err(|diverged| {
            let why = "the replay is not the recorded run";
            let remedy = "record it again with this version of Flashloom";
            Failure::Input(format!("{}: {why}: {diverged}; {remedy}", journal.display()))
        })?;
        if cuts.is_empty() {
            let remedy = "raise points.random, or record a run with flushes";
            let why = "there is no moment to cut the power at";
            return Err(Failure::Input(format!("{}: {why}; {remedy}", self.file.display())));
        }
        Ok(cuts)
    }
}

/// Says why a drive that lies does as an honest one, if it does.
fn note_idle_lies(drive: Honesty, laboratory: &Laboratory) {
    let requests = &laboratory.journal().requests;
    if drive == Honesty::IgnoresFua && !requests.iter().any(|asked| asked.kind.is_fua()) {
        note("no request of the run has forced unit access: a drive that ignores it does as an honest one");
    } else if drive != Honesty::Honest && laboratory.device().resolved.buffer.is_none() {
        note("the drive has no write buffer: every write is durable when it is answered, with a flush or without");
    }
}

/// Writes the file that repeats the first loss.
fn write_loss(mut out: OutFile, spec: &TortureSpec, journal: &Path, first: &CutResult) -> Result<(), Failure> {
    let reproduction = LossSpec {
        journal: path_from(out.path(), journal)?,
        drive: spec.drive,
        check: spec.check.clone(),
        check_limit: spec.check_limit,
        cut: first.cut,
    };
    let text = toml::to_string(&reproduction)
        .map_err(|error| Failure::Bug { message: error.to_string(), replay: "that of the torture".to_owned() })?;
    let name = name(out.path());
    out.fill(|to| write!(to, "{TEXT}# flashloom torture --replay {name} --into loss\n{text}"))?;
    publish(vec![out], None)?.iter().for_each(note);
    Ok(())
}

/// The last part of a path, which is the name that a user types.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Fails with exit code 1 if a cut lost something.
fn ended(tested: &[CutResult]) -> Result<(), Failure> {
    match tested.iter().filter(|tested| tested.is_loss()).count() {
        0 => Ok(()),
        lost => {
            let all = tested.len();
            let cuts = if all == 1 { "cut" } else { "cuts" };
            Err(Failure::Unexpected(format!("{lost} of {all} power {cuts} lost something")))
        }
    }
}

fn replay(loss: &Path, into: &Path, json: bool, results: &mut dyn std::io::Write) -> Result<(), Failure> {
    let spec: LossSpec = load(loss)?;
    let laboratory = open(&beside(loss, &spec.journal))?;
    if spec.cut.after > laboratory.journal().len() {
        let count = laboratory.journal().len();
        let message = format!("cut.after: is {}, and the journal has {count} records", spec.cut.after);
        return Err(Failure::Input(format!("{}: {message}; take the journal of the loss", loss.display())));
    }
    if into.exists() {
        let remedy = "name a directory that is not there";
        return Err(Failure::Input(format!("--into {}: exists already; {remedy}", into.display())));
    }
    fs::create_dir(into).map_err(|error| unwritable(into, &error))?;
    let into = into.canonicalize().map_err(|error| unwritable(into, &error))?;
    let tested = laboratory.rebuild(&spec.cut, spec.drive, spec.checking().as_ref(), &into);
    let tested = [tested.map_err(|error| Failure::Input(error.to_string()))?];
    let result = TortureResult::new(&name(loss), &laboratory, spec.drive, &tested);
    print(results, &if json { result.json() } else { result.text() })?;
    ended(&tested)
}

/// Moves the journal to the path that the user names, if any; returns the journal's path.
fn keep(out: Option<OutFile>, own: PathBuf) -> Result<PathBuf, Failure> {
    let Some(mut out) = out else { return Ok(own) };
    let path = out.path().to_owned();
    out.fill(|to| fs::File::open(&own).and_then(|mut from| std::io::copy(&mut from, to)).map(drop))?;
    publish(vec![out], None)?.iter().for_each(note);
    Ok(path)
}

fn open(journal: &Path) -> Result<Laboratory, Failure> {
    Laboratory::open(journal).map_err(|error| Failure::Input(format!("{}: {error}", journal.display())))
}

fn scratch() -> Result<TempDir, Failure> {
    let place = std::env::temp_dir();
    tempfile::Builder::new().prefix("flashloom-torture-").tempdir().map_err(|error| unwritable(&place, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Input(format!("{}: cannot be written: {error}; check its directory and the free space", path.display()))
}

/// The place of a file that another file names: beside that file, in the current folder, or in the catalogue.
fn beside(file: &Path, path: &Path) -> PathBuf {
    let there = file.parent().map(|folder| folder.join(path));
    there.filter(|there| there.exists()).unwrap_or_else(|| path.to_owned())
}

/// The path of `to` as a file at `from` names it: the file name alone if both are in one folder.
fn path_from(from: &Path, to: &Path) -> Result<PathBuf, Failure> {
    let whole = to.canonicalize().map_err(|error| unwritable(to, &error))?;
    let folder = from.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let same = folder.canonicalize().ok().as_deref() == whole.parent();
    Ok(whole.file_name().filter(|_| same).map(PathBuf::from).unwrap_or(whole))
}

fn cores() -> NonZeroUsize {
    available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
