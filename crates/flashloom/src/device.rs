//! Opens the device that the command line names.

use std::path::Path;

use study::catalogue::{self, Device};
use study::config::{Document, Fault, Faults};

use crate::args::{IssueArgs, RunArgs};
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

/// The device file of a run, with the keys that the command line changes: those of `--set`, and the weights of queues.
pub(crate) fn changed(args: &RunArgs) -> Result<Document, Failure> {
    let mut document = document(&args.device, &args.set)?;
    let IssueArgs { queue, weight, flow, .. } = &args.issue;
    let queues = std::iter::once((*queue, *weight)).chain(flow.iter().map(|flow| (flow.queue, flow.weight)));
    for (queue, weight) in queues.filter_map(|(queue, weight)| Some((queue, weight?))) {
        if document.set(&format!("host.queue[{queue}].weight={weight}")).is_err() {
            let message = format!("weight={weight}: the drive does not describe its queue {queue}");
            return Err(Failure::Input(format!("{message}; describe it in a [[host.queue]] of the device file")));
        }
    }
    Ok(document)
}
