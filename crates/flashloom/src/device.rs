//! Opens the device that the command line names.

use std::path::Path;

use study::catalogue::{self, Device};
use study::config::{Fault, Faults};

use crate::exit::Failure;

/// The weight of a submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) queue: u16,
    pub(crate) weight: u32,
}

/// Reads a device and overrides some of its keys (`key=value`).
pub(crate) fn device(path: &Path, set: &[String]) -> Result<Device, Failure> {
    weighted(path, set, [])
}

/// The same with these weights of its queues.
pub(crate) fn weighted(
    path: &Path,
    set: &[String],
    weights: impl IntoIterator<Item = Weight>,
) -> Result<Device, Failure> {
    let mut document = catalogue::device(path)?;
    for Weight { queue, weight } in weights {
        if document.set(&format!("host.queue[{queue}].weight={weight}")).is_err() {
            let message = format!("weight={weight}: the drive does not describe its queue {queue}");
            return Err(Failure::Input(format!("{message}; describe it in a [[host.queue]] of the device file")));
        }
    }
    let faults: Vec<Fault> = set.iter().filter_map(|set| document.set(set).err()).flat_map(|faults| faults.0).collect();
    if !faults.is_empty() {
        return Err(Faults(faults).into());
    }
    Ok(catalogue::device_from(&document)?)
}
