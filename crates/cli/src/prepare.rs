//! The state a disk is in before the run: new, as it was kept in a file, preconditioned.

use flash::backend::Observer;
use flash::fault::Fault;
use flash::nand::Sector;
use ssd::Ssd;
use study::snapshot::load;

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
    for step in &args.state.precondition {
        if let Some(Fault { message, remedy, .. }) = step.fault(&device.resolved) {
            return Err(Failure::Input(format!("--precondition {step}: {message}; {remedy}")));
        }
        let bar = Bar::steps(&format!("precondition {step}"), args.output.quiet);
        drive.precondition(*step, &mut |done, total| bar.step(done, total));
    }
    Ok(drive)
}

/// A snapshot holds one flash.
pub(crate) fn check_snapshots(device: &Device, args: &RunArgs) -> Result<(), Failure> {
    let option = [("--save-snapshot", &args.state.save_snapshot), ("--load-snapshot", &args.state.load_snapshot)];
    match option.into_iter().find_map(|(name, path)| Some((name, path.as_ref()?))) {
        Some((name, path)) if device.resolved.second.is_some() => Err(Failure::Input(format!(
            "{name} {}: a snapshot holds one flash, and {} has two; precondition it instead",
            path.display(),
            device.name
        ))),
        _ => Ok(()),
    }
}
