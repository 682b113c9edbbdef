//! Cuts the power of a recorded drive at all requested moments, on all cores.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base::units::{Sectors, Span};
use flash::nand::Stamp;
use ssd::{Drive, ParsePreconditionError, Precondition, Ssd};
use study::catalogue::Device;
use study::config::Faults;
use study::session::{Session, SessionError};

use crate::check::{Check, CheckError, CheckResult};
use crate::cut::{Cut, PointsSpec, Sample, cuts};
use crate::image::DriveContents;
use crate::journal::{Journal, JournalError, JournalEvent};
use crate::promises::{BrokenPromise, Promises};
use crate::recovered::RecoveredDrive;
use crate::replay::{Divergence, Honesty, Replay};

/// The most broken promises that are kept for a cut; a drive that lies may break thousands.
const MOST_FOUND: usize = 8;

/// The reason for which a journal cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The journal cannot be read.
    Journal(JournalError),
    /// The device in the journal has faults.
    Device(Faults),
    /// A step of preconditioning has a fault.
    Precondition(ParsePreconditionError),
    /// The drive cannot be made or preconditioned.
    Drive(SessionError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(error) => error.fmt(f),
            Self::Device(faults) => write!(f, "has a device that this program does not know: {faults}"),
            Self::Precondition(error) => write!(f, "has a step of preconditioning that is wrong: {error}"),
            Self::Drive(SessionError::Precondition { step, fault }) => {
                let why = format_args!("{step}: {}; {}", fault.message, fault.remedy);
                write!(f, "has a step of preconditioning that its device cannot have: {why}")
            }
            Self::Drive(error) => write!(f, "has a drive that cannot be prepared: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<JournalError> for OpenError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// The result of one cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutResult {
    /// The moment of the cut.
    pub cut: Cut,
    /// The simulated time of the scan of the spare areas.
    pub recovery: Span,
    /// False if the drive did not come back.
    pub is_ready: bool,
    /// The first broken promises.
    pub broken: Vec<BrokenPromise>,
    /// The number of sectors with another content than was promised.
    pub sectors: u64,
    /// The result of the user's check, if there is one.
    pub checked: Option<CheckResult>,
}

impl CutResult {
    /// True if the drive broke a promise.
    #[must_use]
    pub const fn breaks_promises(&self) -> bool {
        self.sectors > 0 || !self.is_ready
    }

    /// True if the user's check ran and failed.
    #[must_use]
    pub fn fails_check(&self) -> bool {
        self.checked.as_ref().is_some_and(|checked| checked.ending != super::CheckOutcome::Good)
    }

    /// True if a promise was broken or the user's check failed.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.breaks_promises() || self.fails_check()
    }
}

/// A recorded run, ready for power cuts.
#[derive(Clone, Debug)]
pub struct Laboratory {
    journal: Journal,
    contents: DriveContents,
    device: Device,
    /// The drive before the first request.
    drive: Ssd<Stamp>,
}

/// The drive at the begin of a run: new, and then preconditioned.
///
/// # Errors
/// If a step does not fit the device, or wears it out.
pub(crate) fn prepared(device: &Device, seed: u64, steps: &[Precondition]) -> Result<Ssd<Stamp>, OpenError> {
    Session::new(device).seed(seed).precondition(steps.to_vec()).prepare().map_err(OpenError::Drive)
}

impl Laboratory {
    /// Opens the journal at `path`.
    ///
    /// # Errors
    /// If it is no sound journal, or names a device that cannot be built.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let mut file = BufReader::new(File::open(path).map_err(JournalError::Io)?);
        let journal = Journal::read(&mut file)?;
        let device = Device::parse(journal.header.device.clone()).map_err(OpenError::Device)?;
        let steps = journal.header.precondition.iter().map(|step| step.parse()).collect::<Result<Vec<_>, _>>();
        let drive = prepared(&device, journal.header.seed, &steps.map_err(OpenError::Precondition)?)?;
        Ok(Self { journal, contents: DriveContents::of(path), device, drive })
    }

    /// The journal of the recorded run.
    #[must_use]
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The device of the recorded run.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    fn capacity(&self) -> Sectors {
        self.drive.capacity()
    }

    /// The moments of the cuts. The call replays the run once, and compares the replay with the recorded run.
    ///
    /// # Errors
    /// If the replay differs from the recorded run.
    pub fn cuts(&self, points: &PointsSpec, seed: u64) -> Result<Vec<Cut>, Divergence> {
        let mut sample = Sample::new(seed, points.random);
        Replay::new(&self.journal, self.drive.clone(), Honesty::Honest).survey(&mut sample)?;
        Ok(cuts(&self.journal, points, sample))
    }

    /// Cuts the power at each of these moments, which are in the order of time, on `jobs` threads. `dir` is an empty
    /// directory for images. `progress` receives the number of cuts that are done.
    ///
    /// # Errors
    /// If the check cannot be run.
    pub fn test(
        &self,
        cuts: &[Cut],
        honesty: Honesty,
        check: Option<(&Check, &Path)>,
        jobs: NonZeroUsize,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<CutResult>, CheckError> {
        let promises = Promises::new(&self.journal, self.capacity());
        // The run is replayed once: each worker advances the replay to the next moment and takes a copy of the drive.
        let replay = Mutex::new((Replay::new(&self.journal, self.drive.clone(), honesty), cuts.iter().enumerate()));
        let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let worker = || -> Result<Vec<(usize, CutResult)>, CheckError> {
            let mut tested = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let (number, cut, drive) = {
                    let mut replay = replay.lock().expect("no holder panics");
                    let Some((number, cut)) = replay.1.next() else { break };
                    replay.0.advance_to(cut);
                    (number, *cut, replay.0.drive().clone())
                };
                let result = self.cut(drive, cut, &promises, check.map(|(check, dir)| (check, dir, number)));
                tested.push((number, result.inspect_err(|_| stop.store(true, Ordering::Relaxed))?));
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
            Ok(tested)
        };
        let all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs.get().min(cuts.len())).map(|_| scope.spawn(worker)).collect();
            let joined = threads.into_iter().map(|thread| thread.join().expect("a worker does not panic"));
            joined.collect::<Result<Vec<_>, _>>()
        });
        let mut all: Vec<_> = all?.into_iter().flatten().collect();
        all.sort_by_key(|(number, _)| *number);
        Ok(all.into_iter().map(|(_, tested)| tested).collect())
    }

    fn cut(
        &self,
        drive: Ssd<Stamp>,
        cut: Cut,
        promises: &Promises<'_>,
        check: Option<(&Check, &Path, usize)>,
    ) -> Result<CutResult, CheckError> {
        let mut tested =
            CutResult { cut, recovery: Span::ZERO, is_ready: false, broken: Vec::new(), sectors: 0, checked: None };
        let Some(recovered) = RecoveredDrive::after_cut(drive, &promises.extents) else { return Ok(tested) };
        (tested.is_ready, tested.recovery) = (true, recovered.recovery.time);
        let mut broken = promises.broken(&cut, &recovered);
        tested.sectors = broken.iter().map(|found| found.sectors.get()).sum();
        broken.truncate(MOST_FOUND);
        tested.broken = broken;
        let Some((check, dir, number)) = check else { return Ok(tested) };
        let dir = dir.join(number.to_string());
        let failed = |what: &Path| {
            let what = what.to_owned();
            move |error| CheckError { what, error }
        };
        fs::create_dir(&dir).map_err(failed(&dir))?;
        let (image, log) = self.write(&recovered, promises, &cut, &dir).map_err(failed(&dir))?;
        tested.checked = Some(check.run(&dir, &image, &log, number)?);
        fs::remove_dir_all(&dir).map_err(failed(&dir))?;
        Ok(tested)
    }

    /// Writes the image and the lines that the workload had printed into a directory; returns their paths.
    fn write(
        &self,
        recovered: &RecoveredDrive,
        promises: &Promises<'_>,
        cut: &Cut,
        dir: &Path,
    ) -> io::Result<(PathBuf, PathBuf)> {
        let (image, log) = (dir.join("image"), dir.join("log"));
        let mut file = File::create(&image)?;
        self.contents.write_image((&self.journal, &promises.extents), recovered, self.capacity(), &mut file)?;
        fs::write(&log, self.said(cut))?;
        Ok((image, log))
    }

    /// The lines that the workload had printed before a cut.
    fn said(&self, cut: &Cut) -> String {
        let before = self.journal.events[..cut.after].iter();
        let lines = before.filter_map(|(_, event)| match event {
            JournalEvent::Said(line) => Some(&self.journal.lines[*line as usize]),
            _ => None,
        });
        lines.flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    /// Tests one cut alone, and leaves the image and the lines in `dir`.
    ///
    /// # Errors
    /// If the image cannot be written, or the check cannot be run.
    pub fn rebuild(
        &self,
        cut: &Cut,
        honesty: Honesty,
        check: Option<&Check>,
        dir: &Path,
    ) -> Result<CutResult, CheckError> {
        let promises = Promises::new(&self.journal, self.capacity());
        let mut replay = Replay::new(&self.journal, self.drive.clone(), honesty);
        replay.advance_to(cut);
        let recovered = RecoveredDrive::after_cut(replay.drive().clone(), &promises.extents);
        let mut tested = self.cut(replay.drive().clone(), *cut, &promises, None)?;
        let Some(recovered) = recovered else { return Ok(tested) };
        let (image, log) =
            self.write(&recovered, &promises, cut, dir).map_err(|error| CheckError { what: dir.to_owned(), error })?;
        tested.checked = check.map(|check| check.run(dir, &image, &log, 0)).transpose()?;
        Ok(tested)
    }
}

#[cfg(test)]
mod tests;
