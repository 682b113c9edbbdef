//! `flashloom convert-mqsim`: a device file, and workload files, from MQSim's configuration.
//!
//! Facts about MQSim's format are from its documentation and its sample files (Tavakkol et al., "MQSim", FAST 2018).

mod array;
mod device;
mod flow;
mod queues;
mod sheet;
mod suspend;
mod toml_text;
mod xml;

use std::io::Write;
use std::path::Path;

use base::units::{Bytes, Exact};
use study::catalogue::{Device, WorkloadError, WorkloadFile};
use study::config::{ConfigFault, Faults};
use study::output::{Outputs, publish};

use crate::args::ConvertArgs;
use crate::exit::{Failure, note, print};

use flow::{Flow, FlowRequests, scenarios};
use queues::Queues;
use sheet::Sheet;
use xml::{XmlFaults, XmlFile};

/// The model that a drive follows where MQSim differs from a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    Mqsim,
    Controller,
}

/// The file of the drive.
const DEVICE: &str = "device.toml";

/// The first line of a converted file.
const HEAD: &str = "Written by Flashloom";

impl From<XmlFaults> for Failure {
    fn from(faults: XmlFaults) -> Self {
        Self::Input(faults.to_string())
    }
}

/// Converts a configuration of MQSim, and its workloads if there are any.
pub(crate) fn convert(args: &ConvertArgs, results: &mut dyn Write) -> Result<(), Failure> {
    let text = xml::repaired(&study::config::text(&args.config, "a configuration of MQSim")?);
    let config = XmlFile::parse(&args.config, &text, "Execution_Parameter_Set")?;
    let flows = match &args.flows {
        Some(path) => {
            let text = xml::repaired(&study::config::text(path, "a workload file of MQSim")?);
            let file = XmlFile::parse(path, &text, "MQSim_IO_Scenarios")?;
            let flows = scenarios(&file, &config);
            file.check()?;
            flows
        }
        None => Vec::new(),
    };
    let name = args.config.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let queues = if flows.is_empty() { Queues::one() } else { Queues::new(&flows) };
    let mut drive = Sheet::default();
    let likeness = if args.as_controllers_do { Likeness::Controller } else { Likeness::Mqsim };
    device::device(&config, &name, (&queues, likeness), &mut drive);
    config.check()?;
    let toml = drive.toml(&head(&args.config, "its drive"));
    let made = made(&toml, Device::parse(toml.clone()), |name| config.place(name))?;
    let workloads = described(&flows, args.flows.as_deref(), &made)?;
    let notes = drive.notes();
    notes.iter().for_each(|said| note(format_args!("{}: {said}", args.config.display())));
    if let Some(path) = &args.flows {
        let mut said: Vec<String> = Vec::new();
        for line in flows.iter().flatten().flat_map(|flow| flow.sheet.notes()).filter(|line| !line.is_empty()) {
            if !said.contains(&line) {
                note(format_args!("{}: {line}", path.display()));
                said.push(line);
            }
        }
    }
    let Some(out) = &args.out else { return print(results, &toml) };
    let names: Vec<String> =
        [DEVICE.to_owned()].into_iter().chain(workloads.iter().map(|(name, _)| name.clone())).collect();
    let inputs = [&args.config].into_iter().chain(&args.flows);
    let mut folder = Outputs::new(inputs, args.replace.force).folder("--out", out, &names)?;
    folder.add(DEVICE, |file| file.write_all(toml.as_bytes()))?;
    for (name, text) in &workloads {
        folder.add(name, |file| file.write_all(text.as_bytes()))?;
    }
    publish(Vec::new(), Some(folder))?.iter().for_each(note);
    let is_preconditioned = config
        .groups(&["Device_Parameter_Set"])
        .iter()
        .any(|of| of.has("Enabled_Preconditioning") && of.flag("Enabled_Preconditioning"));
    let one_queue = made.resolved.host.queues.queues.len() == 1;
    let command = |(number, flows): (usize, &Vec<Flow>)| {
        let steps = is_preconditioned.then(|| precondition(flows, &made)).flatten();
        command(out, number + 1, flows, steps.as_deref(), one_queue)
    };
    let mut commands: Vec<String> =
        flows.iter().enumerate().filter(|(_, flows)| !flows.is_empty()).map(command).collect();
    if commands.is_empty() {
        commands.push(format!("flashloom check {}\n", word(&out.join(DEVICE).to_string_lossy())));
    }
    print(results, &commands.concat())
}

/// The comments at the head of a converted file.
fn head(from: &Path, what: &str) -> Vec<String> {
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    vec![HEAD.to_owned(), format!("from {name} of MQSim: {what}. A comment behind a value names its origin.")]
}

/// The result of parsing a converted text, or the failure with the faults of the text. `origin` gives the place of a parameter.
fn made<T>(text: &str, made: Result<T, Faults>, origin: impl Fn(&str) -> String) -> Result<T, Failure> {
    made.map_err(|faults| {
        let line = |fault: &ConfigFault| {
            let line = fault.line.and_then(|line| text.lines().nth(line.saturating_sub(1)));
            // The comment behind the value, which begins with the name of a parameter.
            let from = line.and_then(|line| Some(line.split_once("  # ")?.1)).unwrap_or_default();
            let name = from.split([' ', ',']).next().unwrap_or_default();
            format!("{}: {}: {}; {}", origin(name), fault.key, fault.message, fault.remedy)
        };
        Failure::Input(faults.0.iter().map(line).collect::<Vec<_>>().join("\n"))
    })
}

/// The workload files of all synthetic flows by their names. Each is checked by opening it on the drive.
fn described(flows: &[Vec<Flow>], from: Option<&Path>, device: &Device) -> Result<Vec<(String, String)>, Failure> {
    let from = from.unwrap_or(Path::new(""));
    let mut files = Vec::new();
    for (scenario, flows) in flows.iter().enumerate() {
        for (number, flow) in
            flows.iter().enumerate().filter(|(_, flow)| matches!(flow.requests, FlowRequests::Described))
        {
            let name = flow_file(scenario + 1, number);
            let text = flow.sheet.toml(&head(from, &format!("flow {} of scenario {}", number + 1, scenario + 1)));
            let place = |parameter: &str| {
                format!("{}: flow {} of scenario {}: {parameter}", from.display(), number + 1, scenario + 1)
            };
            let file = made(&text, WorkloadFile::parse(text.clone()), place)?;
            match file.resolved(device.capacity()) {
                Ok(_) => {}
                Err(WorkloadError::Faults(faults)) => made(&text, Err(faults), place)?,
                Err(error) => return Err(error.into()),
            }
            files.push((name, text));
        }
    }
    Ok(files)
}

fn flow_file(scenario: usize, number: usize) -> String {
    format!("scenario-{scenario}-flow-{}.toml", number + 1)
}

/// The preconditioning of a scenario. Each flow has a part of the drive; everything is written up to the end of the last part that
/// the flows have written before.
fn precondition(flows: &[Flow], device: &Device) -> Option<String> {
    const PIECE: u64 = 64 << 10;
    const MIB: u64 = 1 << 20;
    // Shares are exact but for the last digits of binary fractions.
    const DIGITS: f64 = 1e-9;
    let used = flows.iter().filter(|flow| flow.occupied > 0);
    let end = used.map(|flow| flow.part.0 + flow.part.1 * flow.occupied as f64 / 100.0).max_by(f64::total_cmp)?;
    if end > 1.0 - DIGITS {
        return Some("fill".to_owned());
    }
    let bytes = (device.capacity().bytes().get() as f64 * (end + DIGITS)) as u64;
    Some(format!("preload:64KiB:{}", Bytes::new((bytes / MIB * MIB).max(PIECE)).exact()))
}

fn command(out: &Path, scenario: usize, flows: &[Flow], steps: Option<&str>, one_queue: bool) -> String {
    let workload = |(number, flow): (usize, &Flow)| match &flow.requests {
        FlowRequests::Described => out.join(flow_file(scenario, number)).to_string_lossy().into_owned(),
        FlowRequests::Trace { path, .. } => path.clone(),
    };
    let all: Vec<String> = flows.iter().enumerate().map(workload).collect();
    let mut text = format!("flashloom run {} {}", word(&out.join(DEVICE).to_string_lossy()), word(&all[0]));
    for (number, workload) in all.iter().enumerate().skip(1) {
        let queue = if one_queue { String::new() } else { format!(",queue={number}") };
        text += &format!(" --flow {}", word(&format!("{workload}{queue}")));
    }
    if let Some(FlowRequests::Trace { repeat, unit, .. }) =
        flows.iter().map(|flow| &flow.requests).find(|requests| matches!(requests, FlowRequests::Trace { .. }))
    {
        // MQSim ignores the column of the device, and starts again at the first sector behind the last one.
        text += &format!(" --format mqsim --time-unit {unit} --volumes overlay --extent wrap");
        if *repeat > 1 {
            text += &format!(" --repeat {repeat}");
        }
    }
    if let Some(steps) = steps {
        text += &format!(" --precondition {steps}");
    }
    text + "\n"
}

/// A word of a command line.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
