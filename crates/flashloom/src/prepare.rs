//! The state a disk is in before the run: new, as it was kept in a file, preconditioned.

use base::fault::Fault;
use flash::backend::Observer;
use flash::nand::Sector;
use ssd::Ssd;
use study::snapshot::load;
use study::worn::WornOut;

use crate::args::RunArgs;
use crate::exit::Failure;
use crate::progress::Bar;
use study::catalogue::Device;

/// Builds the disk and brings it into the state that is asked for.
pub(crate) fn prepare<S: Sector, O: Observer>(
    device: &Device,
    args: &RunArgs,
    observer: O,
) -> Result<Ssd<S, O>, Failure> {
    let mut drive = match &args.state.load_snapshot {
        Some(path) => load(path, &device.resolved, args.seed, observer)?,
        None => Ssd::observed(&device.resolved, args.seed, observer),
    };
    if args.state.save_snapshot.is_some() {
        drive = drive.noting(None);
    }
    for step in &args.state.precondition {
        if let Some(Fault { message, remedy, .. }) = step.fault(&device.resolved) {
            return Err(Failure::Input(format!("--precondition {step}: {message}; {remedy}")));
        }
        let bar = Bar::steps(&format!("precondition {step}"), args.output.quiet);
        let done = drive.precondition(*step, &mut |done, total| bar.step(done, total));
        WornOut::check(*step, &done, &device.resolved).map_err(|worn| Failure::Input(worn.to_string()))?;
    }
    Ok(drive)
}
