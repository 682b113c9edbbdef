//! MQSim's flows: each synthetic one is a workload file, each scenario a command that runs its flows together.

use base::units::{Bytes, Exact, SECTOR};

use super::sheet::Sheet;
use super::toml_text::{quoted, time};
use super::xml::{XmlFile, XmlGroup};

const SYNTHETIC: &str = "IO_Flow_Parameter_Set_Synthetic";
const TRACE: &str = "IO_Flow_Parameter_Set_Trace_Based";

/// The classes of queues with their weights (`IO_Flow_Priority_Class`). The scheduler of MQSim takes urgent transactions
/// before all others (`TSU_Priority_OutOfOrder`).
const CLASSES: [(&str, Class); 4] = [
    ("URGENT", Class::Urgent),
    ("HIGH", Class::Weighted(4)),
    ("MEDIUM", Class::Weighted(2)),
    ("LOW", Class::Weighted(1)),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Served before all other classes.
    Urgent,
    /// Served in proportion to this weight.
    Weighted(u32),
}

/// The parameters of a flow's planes, and the parameters of the array's sizes, in the same order.
pub(super) const RESOURCES: [(&str, &str); 4] = [
    ("Channel_IDs", "Flash_Channel_Count"),
    ("Chip_IDs", "Chip_No_Per_Channel"),
    ("Die_IDs", "Die_No_Per_Chip"),
    ("Plane_IDs", "Plane_No_Per_Die"),
];

pub(super) struct Flow {
    pub(super) requests: FlowRequests,
    pub(super) class: Class,
    /// The channels, chips, dies and planes of the flow.
    pub(super) resources: Resources,
    pub(super) caches_writes: bool,
    /// The start and the size of the flow's part of the drive, as shares of the drive.
    pub(super) part: (f64, f64),
    /// The share of the flow's part that is written before the run, in percent.
    pub(super) occupied: u64,
    pub(super) sheet: Sheet,
}

pub(super) enum FlowRequests {
    /// The requests are generated; the workload file is the sheet of the flow.
    Described,
    /// A trace file, played `repeat` times.
    Trace { path: String, repeat: u64, unit: &'static str },
}

/// The flows of each scenario. The flows of a scenario divide the planes that are used by any flow of any scenario.
pub(super) fn scenarios(file: &XmlFile<'_>, drive: &XmlFile<'_>) -> Vec<Vec<Flow>> {
    let counts = counts(drive);
    let scenarios = file.groups(&["IO_Scenario"]);
    let flows: Vec<Vec<_>> = scenarios.iter().map(|group| group.groups(&[SYNTHETIC, TRACE])).collect();
    let resources: Vec<Vec<Resources>> =
        flows.iter().map(|flows| flows.iter().map(|flow| resources(flow, counts)).collect()).collect();
    let planes = union(resources.iter().flatten()).iter().map(Vec::len).product();
    let scenario = |(number, (flows, resources)): (usize, (&Vec<XmlGroup<'_, '_>>, &Vec<Resources>))| {
        let parts = parts(resources, planes);
        let flow = |(i, (flow, resources)): (usize, (&XmlGroup<'_, '_>, &Resources))| {
            let name = format!("scenario-{}-flow-{}", number + 1, i + 1);
            read(flow, &name, resources.clone(), (i, &parts))
        };
        flows.iter().zip(resources).enumerate().map(flow).collect()
    };
    flows.iter().zip(&resources).enumerate().map(scenario).collect()
}

/// The sizes of the array; none for a size that is wrong.
fn counts(drive: &XmlFile<'_>) -> [Option<u64>; 4] {
    let groups = drive.groups(&["Device_Parameter_Set"]);
    let flash = groups.first().and_then(|drive| drive.groups(&["Flash_Parameter_Set"]).into_iter().next());
    let count = |name: &str| {
        let places = [groups.first(), flash.as_ref()];
        places.into_iter().flatten().find_map(|group| group.sound_count(name))
    };
    RESOURCES.map(|(_, name)| count(name))
}

/// The channels, chips, dies and planes that at least one of these flows has.
pub(super) fn union<'a>(flows: impl Iterator<Item = &'a Resources> + Clone) -> Resources {
    std::array::from_fn(|of| {
        let mut all: Vec<u64> = flows.clone().flat_map(|flow| flow[of].iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    })
}

/// The channels, chips, dies and planes of a flow.
pub(super) type Resources = [Vec<u64>; 4];

/// The most planes that a flow may have.
const PLANES: usize = 1 << 16;

fn resources(flow: &XmlGroup<'_, '_>, counts: [Option<u64>; 4]) -> Resources {
    let mut lists = RESOURCES.map(|(name, _)| flow.list(name));
    for (list, ((name, of), count)) in lists.iter_mut().zip(RESOURCES.iter().zip(counts)) {
        list.sort_unstable();
        list.dedup();
        if let (Some(last), Some(count)) = (list.last().copied(), count)
            && last >= count
        {
            let last_there = count - 1;
            flow.fault(
                name,
                &format!("{last} is beyond {of}, {count}: the last is {last_there}, and MQSim refuses it, too"),
            );
            list.retain(|id| *id < count);
        }
    }
    if lists.iter().try_fold(1_usize, |all, list| all.checked_mul(list.len())).is_none_or(|all| all > PLANES) {
        flow.fault(RESOURCES[0].0, "a flow has 65,536 planes at most; write e.g. 0,1,2,3");
        return Resources::default();
    }
    lists
}

/// The start and the size of each flow's part of the drive, as shares of the drive. As in MQSim
/// (`Logical_Address_Partitioning_Unit`), a flow has the capacity of its planes, and flows share a plane equally.
fn parts(flows: &[Resources], of_drive: usize) -> Vec<(f64, f64)> {
    let planes = |[channels, chips, dies, planes]: &Resources| -> f64 {
        let mut all = 0.0;
        for channel in channels {
            let flows: Vec<_> = flows.iter().filter(|flow| flow[0].contains(channel)).collect();
            for chip in chips {
                let flows: Vec<_> = flows.iter().filter(|flow| flow[1].contains(chip)).collect();
                for die in dies {
                    let flows: Vec<_> = flows.iter().filter(|flow| flow[2].contains(die)).collect();
                    let shared = |plane| flows.iter().filter(|flow| flow[3].contains(plane)).count() as f64;
                    all += planes.iter().map(|plane| 1.0 / shared(plane)).sum::<f64>();
                }
            }
        }
        all
    };
    let sizes: Vec<f64> = flows.iter().map(planes).collect();
    // A flow without planes is a fault that is reported elsewhere; the value avoids a division by zero.
    let all = (of_drive as f64).max(1.0);
    let mut start = 0.0;
    let part = |size: f64| {
        let from = start;
        start += size;
        (from / all, size / all)
    };
    sizes.into_iter().map(part).collect()
}

fn read(flow: &XmlGroup<'_, '_>, name: &str, resources: Resources, (number, parts): (usize, &[(f64, f64)])) -> Flow {
    let count = parts.len();
    let mut sheet = Sheet::default();
    let class = flow.choice("Priority_Class", &CLASSES).unwrap_or(Class::Weighted(1));
    let modes = [("WRITE_CACHE", true), ("READ_CACHE", false), ("WRITE_READ_CACHE", true), ("TURNED_OFF", false)];
    let caches_writes = flow.choice("Device_Level_Data_Caching_Mode", &modes).unwrap_or_default();
    sheet.approximated("Device_Level_Data_Caching_Mode", "the drive has a buffer for the writes of all flows, or none");
    let occupied = flow.percent("Initial_Occupancy_Percentage", "75");
    if count > 1 {
        let why =
            "all of the drive is written up to the end of what the last flow has written, parts of others included";
        sheet.approximated("Initial_Occupancy_Percentage", why);
    }
    let requests = match flow.name() {
        TRACE => trace(flow, &mut sheet),
        _ => {
            synthetic(flow, name, (number, parts), &mut sheet);
            FlowRequests::Described
        }
    };
    for name in flow.others() {
        sheet.without(name, "Flashloom does not know this parameter");
    }
    Flow { requests, class, resources, caches_writes, part: parts[number], occupied, sheet }
}

fn trace(flow: &XmlGroup<'_, '_>, sheet: &mut Sheet) -> FlowRequests {
    let path = flow.text("File_Path", "traces/a.trace").replace('\\', "/");
    // MQSim has a default for each missing parameter.
    let mut given = |name: &str, usual: &str| {
        let is_given = flow.has(name);
        if !is_given {
            sheet.approximated(name, &format!("it is missing, and {usual} is what MQSim takes then"));
        }
        is_given
    };
    let repeat = if given("Relay_Count", "1") { flow.count("Relay_Count", "1") } else { 1 };
    let units = [("NANOSECOND", "ns"), ("MICROSECOND", "us"), ("PICOSECOND", "ps")];
    let unit = if given("Time_Unit", "NANOSECOND") { flow.choice("Time_Unit", &units).unwrap_or("ns") } else { "ns" };
    let is_partial = given("Percentage_To_Be_Executed", "100");
    if is_partial && flow.percent("Percentage_To_Be_Executed", "100") < 100 {
        sheet.without("Percentage_To_Be_Executed", "the whole trace runs; --limit N ends after a number of requests");
    }
    FlowRequests::Trace { path, repeat, unit }
}

fn synthetic(flow: &XmlGroup<'_, '_>, name: &str, (number, parts): (usize, &[(f64, f64)]), sheet: &mut Sheet) {
    sheet.line(&format!("name = {}", quoted(name)), "");
    let [stop, total] = [("Stop_Time", "1000000000"), ("Total_Requests_To_Generate", "0")]
        .map(|(name, example)| flow.whole(name, example));
    match (stop, total) {
        (0, 0) => {
            flow.fault("Stop_Time", "the flow never ends: give Stop_Time or Total_Requests_To_Generate, e.g. 100000")
        }
        (0, total) => sheet.line(&format!("requests = {total}"), "Total_Requests_To_Generate"),
        (stop, _) => sheet.line(&format!("duration = \"{}\"", time(stop)), "Stop_Time"),
    }
    let sectors = flow.count("Average_Request_Size", "8");
    arrivals(flow, sectors, sheet);
    sheet.table("[[stream]]");
    let reads = flow.percent("Read_Percentage", "50");
    sheet.line(&format!("reads = \"{reads}%\""), "Read_Percentage");
    let aligned = flow.has("Generated_Aligned_Addresses") && flow.flag("Generated_Aligned_Addresses");
    let align = if aligned { flow.count("Address_Alignment_Unit", "8") } else { 1 };
    let from = if aligned { "Address_Alignment_Unit" } else { "Generated_Aligned_Addresses" };
    if !aligned && flow.has("Address_Alignment_Unit") {
        sheet.without("Address_Alignment_Unit", "Generated_Aligned_Addresses is false");
    }
    sheet.line(&format!("align = \"{}\"", bytes(align)), from);
    sizes(flow, (sectors, align), sheet);
    // In percent, rounded to drop the errors of binary fractions.
    let share = |of: f64| format!("{}%", (of * 1e6 + 1e-6).floor() / 1e4);
    let used = flow.percent("Working_Set_Percentage", "50");
    let (count, (start, size)) = (parts.len(), parts[number]);
    let (start, size) = (share(start), share(size * used as f64 / 100.0));
    let region = match number {
        0 => format!("region = {{ size = \"{size}\" }}"),
        _ => format!("region = {{ start = \"{start}\", size = \"{size}\" }}"),
    };
    let of =
        if count > 1 { format!("Working_Set_Percentage of part {} of {count}", number + 1) } else { String::new() };
    sheet.line(&region, if of.is_empty() { "Working_Set_Percentage" } else { &of });
    address(flow, sheet);
    sheet.without("Seed", "the seed is an option of a run: --seed");
    if flow.has("Seed") {
        flow.whole("Seed", "1");
    }
}

fn bytes(sectors: u64) -> String {
    Bytes::new(sectors.saturating_mul(SECTOR.get())).exact()
}

fn arrivals(flow: &XmlGroup<'_, '_>, sectors: u64, sheet: &mut Sheet) {
    let kinds = [("QUEUE_DEPTH", true), ("BANDWIDTH", false), ("ARRIVAL_RATE", false)];
    let is_closed = flow.choice("Synthetic_Generator_Type", &kinds).unwrap_or(true);
    let names = ["Bandwidth", "Intensity"];
    let rate = names.into_iter().find(|name| flow.has(name)).unwrap_or(names[0]);
    if is_closed {
        let depth = flow.count("Average_No_of_Reqs_in_Queue", "16");
        let line = format!("arrivals = {{ kind = \"closed\", depth = {depth} }}");
        sheet.line(&line, "Synthetic_Generator_Type, Average_No_of_Reqs_in_Queue");
        if flow.has(rate) {
            sheet.without(rate, "Synthetic_Generator_Type is QUEUE_DEPTH");
        }
        return;
    }
    let per_s = flow.count(rate, "100000000") as f64 / (sectors * SECTOR.get()) as f64;
    let per_s = ((per_s * 1e3).round() / 1e3).max(1e-3);
    let line = format!("arrivals = {{ kind = \"poisson\", rate = \"{per_s}/s\" }}");
    sheet.line(&line, &format!("{rate} / Average_Request_Size"));
    if flow.has("Average_No_of_Reqs_in_Queue") {
        sheet.without("Average_No_of_Reqs_in_Queue", "requests arrive at a rate");
    }
}

fn sizes(flow: &XmlGroup<'_, '_>, (sectors, align): (u64, u64), sheet: &mut Sheet) {
    let kinds = [("FIXED", true), ("NORMAL", false)];
    let is_fixed = flow.choice("Request_Size_Distribution", &kinds).unwrap_or(true);
    // MQSim uses the value as the standard deviation: `IO_Flow_Synthetic` passes it to `RandomGenerator::Normal(mean, deviation)`.
    let deviation = flow.number("Variance_Request_Size", "0");
    // Half of the range of uniform sizes with this deviation.
    let reach = 3_f64.sqrt() * deviation;
    if is_fixed || reach < 1.0 {
        sheet.line(&format!("sizes = [{{ size = \"{}\" }}]", bytes(sectors)), "Average_Request_Size");
        if deviation > 0.0 {
            sheet.without("Variance_Request_Size", "all requests have one size");
        }
        return;
    }
    let whole = |sectors: f64| ((sectors / align as f64).round().max(1.0) as u64).saturating_mul(align);
    let (least, most) = (whole(sectors as f64 - reach), whole(sectors as f64 + reach));
    let line = format!("sizes = [{{ size = \"{}..{}\" }}]", bytes(least), bytes(most));
    sheet.line(&line, "Average_Request_Size, Variance_Request_Size");
    let why = match reach < sectors as f64 {
        true => "NORMAL is a range of sizes with the same mean and standard deviation, all equally likely",
        false => "NORMAL is a range of sizes, all equally likely; the mean is larger, because no size is below zero",
    };
    sheet.approximated("Request_Size_Distribution", why);
    sheet.approximated("Variance_Request_Size", "MQSim uses it as the standard deviation, in sectors");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Sequential,
    Uniform,
    HotCold,
    Mixed,
}

fn address(flow: &XmlGroup<'_, '_>, sheet: &mut Sheet) {
    let name = "Address_Distribution";
    // Versions of MQSim name these patterns differently.
    let patterns = [
        ("STREAMING", Pattern::Sequential),
        ("RANDOM_UNIFORM", Pattern::Uniform),
        ("UNIFORM_RANDOM", Pattern::Uniform),
        ("RANDOM_HOTCOLD", Pattern::HotCold),
        ("HOTCOLD_RANDOM", Pattern::HotCold),
        ("MIXED_STREAMING_RANDOM", Pattern::Mixed),
    ];
    let pattern = flow.choice(name, &patterns).unwrap_or(Pattern::Uniform);
    match pattern {
        Pattern::Sequential => sheet.line("address = { pattern = \"sequential\" }", name),
        Pattern::Uniform => sheet.line("address = { pattern = \"uniform\" }", name),
        Pattern::Mixed => {
            sheet.line("address = { pattern = \"uniform\" }", name);
            sheet.line("sequential = { share = \"50%\" }", name);
            sheet
                .approximated(name, "half of the requests continue the one before, the others are at random addresses");
        }
        Pattern::HotCold => {
            let hot = flow.percent("Percentage_of_Hot_Region", "10");
            if hot == 0 || hot == 100 {
                flow.fault("Percentage_of_Hot_Region", "leaves one region; write a percentage between, e.g. 10");
            }
            let line = format!(
                "address = {{ pattern = \"hot-cold\", hot_space = \"{hot}%\", hot_access = \"{}%\" }}",
                100 - hot.min(100)
            );
            sheet.line(&line, &format!("{name}, Percentage_of_Hot_Region"));
        }
    }
    if pattern != Pattern::HotCold && flow.has("Percentage_of_Hot_Region") {
        sheet.without("Percentage_of_Hot_Region", "addresses are not hot and cold");
    }
}
