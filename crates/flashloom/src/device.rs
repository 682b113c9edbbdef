//! Opens the device that the command line names.

use std::path::Path;

use study::catalogue::{self, Device};
use study::config::{Document, Fault, Faults};

use crate::exit::Failure;

/// Reads a device file and overrides some of its keys (`key=value`).
pub(crate) fn document(path: &Path, set: &[String]) -> Result<Document, Failure> {
    let mut document = catalogue::device(path)?;
    let faults: Vec<Fault> = set.iter().filter_map(|set| document.set(set).err()).flat_map(|faults| faults.0).collect();
    if faults.is_empty() { Ok(document) } else { Err(Faults(faults).into()) }
}

/// The device of such a document.
pub(crate) fn device(path: &Path, set: &[String]) -> Result<Device, Failure> {
    Ok(catalogue::device_from(&document(path, set)?)?)
}
