//! Opens the device that the command line names.

use std::io::{self, Read};
use std::path::Path;

use base::units::Bytes;
use study::catalogue::{self, Device};
use study::config::{ConfigFault, Document, Faults};

use crate::args::{IssueArgs, RunArgs};
use crate::exit::{Failure, note};

/// The name that stands for the standard input.
const STDIN: &str = "-";

/// Reads a device file and overrides some of its keys (`key=value`).
pub(crate) fn document(path: &Path, set: &[String]) -> Result<Document, Failure> {
    set_all(catalogue::device(path)?, set)
}

/// Opens the device of a file with some of its keys overridden.
pub(crate) fn device(path: &Path, set: &[String]) -> Result<Device, Failure> {
    open_device(&document(path, set)?)
}

/// Opens the device of a document, and notes which of its keys are replaced.
pub(crate) fn open_device(document: &Document) -> Result<Device, Failure> {
    let device = catalogue::device_from(document)?;
    device.replaced.iter().for_each(note);
    Ok(device)
}

/// Opens a device as [`device`] does; the path `-` reads the device file from the standard input.
pub(crate) fn device_or_stdin(path: &Path, set: &[String]) -> Result<Device, Failure> {
    if path.as_os_str() != STDIN {
        return device(path, set);
    }
    let mut bytes = Vec::new();
    let unreadable = |why: String| {
        Failure::Input(format!("-: the standard input cannot be read: {why}; pipe a device file into it"))
    };
    io::stdin().read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is no text in UTF-8".to_owned()))?;
    open_device(&set_all(Document::parse(path, text)?, set)?)
}

/// Refuses a list that names the standard input twice: a pipe delivers its bytes once.
pub(crate) fn one_stdin(paths: &[std::path::PathBuf]) -> Result<(), Failure> {
    if paths.iter().filter(|path| path.as_os_str() == STDIN).count() > 1 {
        return Err(Failure::Input(
            "-: two devices cannot share the standard input; keep one of them in a file".to_owned(),
        ));
    }
    Ok(())
}

fn set_all(mut document: Document, set: &[String]) -> Result<Document, Failure> {
    let faults: Vec<ConfigFault> =
        set.iter().filter_map(|set| document.set(set).err()).flat_map(|faults| faults.0).collect();
    if faults.is_empty() { Ok(document) } else { Err(Faults(faults).into()) }
}

/// A line on a device, with the origin of its description.
pub(crate) fn resolved(path: &Path, device: &Device) -> String {
    let from = if path.exists() { path.display().to_string() } else { "comes with Flashloom".to_owned() };
    let Device { name, resolved, .. } = device;
    let (host, raw): (Bytes, Bytes) = (resolved.capacity().bytes(), resolved.raw_capacity());
    let dies = resolved.geometry.die_count();
    format!("device {name} ({from}): {host} for the host of {raw} of {} on {dies} dies", resolved.part.name)
}

/// The device of a run, with the keys that the command line changes.
pub(crate) fn device_of(args: &RunArgs) -> Result<Device, Failure> {
    let opened = changed(args).and_then(|document| open_device(&document));
    opened.map_err(|failure| if are_swapped(args) { swapped(args) } else { failure })
}

/// True if the first argument is a workload and the second a device.
fn are_swapped(args: &RunArgs) -> bool {
    let is_drive = |path: &Path| catalogue::device(path).and_then(|document| catalogue::device_from(&document)).is_ok();
    is_drive(&args.workload) && catalogue::workload(&args.device).is_ok_and(|workload| !workload.is_missing())
}

fn swapped(args: &RunArgs) -> Failure {
    let (drive, workload) = (args.workload.display(), args.device.display());
    let message =
        format!("{workload} is a workload, and {drive} is a drive; write the drive first: {drive} {workload}");
    Failure::Input(message)
}

/// The device file of a run, with the keys that the command line changes: the keys of `--set`, and the weights of
/// queues.
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
