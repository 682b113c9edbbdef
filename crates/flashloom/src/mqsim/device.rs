//! MQSim's description of a drive as a device file. A comment behind each value names its parameter.

use super::Likeness;
use super::array::{array, is_merged};
use super::queues::Queues;
use super::sheet::Sheet;
use super::toml_text::{quoted, rate, size, time};
use super::xml::{XmlFile, XmlGroup};

/// The orders of address dimensions by their letters, in MQSim's words.
const DIMENSIONS: [(char, &str); 4] = [('C', "channel"), ('W', "chip"), ('D', "die"), ('P', "plane")];

/// Parameters of MQSim without a counterpart in Flashloom, each with the reason. Some versions of MQSim lack some of them.
const WITHOUT: [(&str, &str); 11] = [
    ("Seed", "the seed is an option of a run: --seed"),
    ("Enabled_Preconditioning", "the state of a drive is an option of a run: --precondition"),
    ("IO_Queue_Depth", "a submission queue takes any number of requests"),
    ("Caching_Mechanism", "there is one kind of buffer: it holds writes"),
    ("Data_Cache_Sharing_Mode", "all queues share the buffer"),
    ("CMT_Sharing_Mode", "all queues share the map cache"),
    ("Data_Cache_DRAM_Row_Size", "RAM has a rate, and no rows"),
    ("Data_Cache_DRAM_tRCD", "RAM has a rate, and no rows"),
    ("Data_Cache_DRAM_tCL", "RAM has a rate, and no rows"),
    ("Data_Cache_DRAM_tRP", "RAM has a rate, and no rows"),
    ("GC_Hard_Threshold", "collection that is preemptible takes turns with writes at any number of free blocks"),
];

/// Writes the drive of a configuration file.
pub(super) fn device(file: &XmlFile<'_>, name: &str, (queues, likeness): (&Queues, Likeness), sheet: &mut Sheet) {
    let [host, drive] = ["Host_Parameter_Set", "Device_Parameter_Set"].map(|name| file.group(name));
    let Some((host, drive)) = host.zip(drive) else { return };
    let Some(flash) = drive.group("Flash_Parameter_Set") else { return };
    sheet.line(&format!("name = {}", quoted(name)), "the file's name");
    array(&drive, &flash, (queues, likeness), sheet);
    part(&drive, &flash, (name, likeness), sheet);
    link(&host, &drive, queues, sheet);
    cache(&drive, &flash, (queues, likeness), sheet);
    ftl(&drive, &flash, (queues, likeness), sheet);
    for name in ["Enable_ResponseTime_Logging", "ResponseTime_Logging_Period_Length"] {
        if host.has(name) {
            sheet.without(name, "the course of a run is an option of the run: --series INTERVAL");
        }
    }
    for (name, why) in WITHOUT {
        if drive.has(name) {
            sheet.without(name, why);
        }
    }
    for group in [host, drive, flash] {
        for name in group.others() {
            sheet.without(name, "Flashloom does not know this parameter");
        }
    }
}

/// The kinds of cells: the name in Flashloom, the bits, and the page types.
const CELLS: [(&str, Cell); 4] = [
    ("SLC", Cell { name: "slc", types: &["LSB"] }),
    ("MLC", Cell { name: "mlc", types: &["LSB", "MSB"] }),
    ("TLC", Cell { name: "tlc", types: &["LSB", "CSB", "MSB"] }),
    ("QLC", Cell { name: "qlc", types: &["LSB", "CSB", "MSB"] }),
];

#[derive(Clone, Copy)]
struct Cell {
    name: &'static str,
    types: &'static [&'static str],
}

fn part(drive: &XmlGroup<'_, '_>, flash: &XmlGroup<'_, '_>, (name, likeness): (&str, Likeness), sheet: &mut Sheet) {
    let cell = flash.choice("Flash_Technology", &CELLS).unwrap_or(CELLS[1].1);
    let bits = CELLS.iter().position(|(_, other)| other.name == cell.name).map_or(1, |at| at as u64 + 1);
    sheet.table("[flash.custom-part]");
    sheet.line(&format!("name = {}", quoted(name)), "the file's name");
    sheet.line("source = \"Numbers from a configuration of MQSim; energies are assumed.\"", "");
    sheet.line(&format!("cell = \"{}\"", cell.name), "Flash_Technology");
    let cycles = flash.count("Block_PE_Cycles_Limit", "10000");
    sheet.line(&format!("endurance = {cycles}"), "Block_PE_Cycles_Limit");
    sheet.line("initial_bad_blocks = \"0%\"", "MQSim has none");
    sheet.table("[flash.custom-part.geometry]");
    let page = flash.count("Page_Capacity", "8192");
    sheet.line(&format!("page = \"{}\"", size(page)), "Page_Capacity");
    let spare = flash.whole("Page_Metadat_Capacity", "448");
    sheet.line(&format!("spare = \"{}\"", size(spare)), "Page_Metadat_Capacity");
    let pages = flash.count("Page_No_Per_Block", "256");
    let whole = (pages / bits * bits).max(bits);
    sheet.line(&format!("pages_per_block = {whole}"), "Page_No_Per_Block");
    if whole != pages {
        let why = format!("{whole} instead of {pages}: a block has whole word lines, of {bits} pages each");
        sheet.approximated("Page_No_Per_Block", &why);
    }
    sheet.table("[flash.custom-part.timing]");
    for (key, what) in [("read", "Read"), ("program", "Program")] {
        times(flash, cell, (key, what), sheet);
    }
    let erase = flash.count("Block_Erase_Latency", "3800000");
    sheet.line(&format!("erase = \"{}\"", time(erase)), "Block_Erase_Latency");
    sheet.line("cache_read_copy = \"0ns\"", "MQSim has no cache mode");
    sheet.line("cache_program_copy = \"0ns\"", "MQSim has no cache mode");
    sheet.line("one_shot = 1", "MQSim programs page by page");
    sheet.table("[flash.custom-part.bus]");
    drive.choice("Flash_Comm_Protocol", &[("NVDDR2", ())]);
    // `ONFI_Channel_NVDDR2`: a read is tCS + 6 tWC + tWB + tRR = 20 + 150 + 100 + 20 ns, a program tCS + 6 tWC + tADL + tWPST
    // + tWPSTH + tWB = 361 ns, an erase 220 ns.
    sheet.line("command = \"290ns\"", "Flash_Comm_Protocol: a read of MQSim's NV-DDR2");
    sheet.line("t_adl = \"71ns\"", "Flash_Comm_Protocol: a program takes 361 ns");
    sheet.line("transfer_spare = false", "MQSim moves the data alone");
    sheet.approximated("Flash_Comm_Protocol", "an erase has the cycles of a read: 290 ns instead of 220");
    sheet.table("[flash.custom-part.features]");
    let several = flash.count("Plane_No_Per_Die", "2") > 1 && likeness == Likeness::Controller;
    sheet.line(&format!("multi_plane = {several}"), "Plane_No_Per_Die");
    sheet.line("cache_read = false", "MQSim has no cache mode");
    sheet.line("cache_program = false", "MQSim has no cache mode");
    sheet.line(&format!("copy_back = {}", drive.flag("Use_Copyback_for_GC")), "Use_Copyback_for_GC");
    sheet.table("[flash.custom-part.electrical]");
    sheet.line("voltage = \"3.3V\"", "assumed: MQSim has no energies");
    for key in ["read_current", "program_current", "erase_current"] {
        sheet.line(&format!("{key} = \"25mA\""), "assumed");
    }
    sheet.line("bus_pj_per_byte = 435.6", "assumed: 20 pF on eight lines at 3.3 V");
}

/// The times of an operation for each page type.
fn times(flash: &XmlGroup<'_, '_>, cell: Cell, (key, what): (&str, &str), sheet: &mut Sheet) {
    let names: Vec<String> = cell.types.iter().map(|of| format!("Page_{what}_Latency_{of}")).collect();
    let mut all: Vec<u64> = names.iter().map(|name| flash.count(name, "75000")).collect();
    if cell.name == "qlc" {
        let why = "MQSim has three page types; the most significant page counts twice";
        all.push(all[2]);
        sheet.approximated(&names[2], why);
    }
    if all.iter().all(|time| *time == all[0]) {
        all.truncate(1);
    }
    let texts: Vec<String> = all.iter().map(|ns| format!("\"{}\"", time(*ns))).collect();
    sheet.line(&format!("{key} = [{}]", texts.join(", ")), &names.join(", "));
    for of in ["LSB", "CSB", "MSB"].iter().filter(|of| !cell.types.contains(of)) {
        let name = format!("Page_{what}_Latency_{of}");
        if flash.has(&name) {
            sheet.without(&name, &format!("{} flash has no such pages", cell.name.to_ascii_uppercase()));
        }
    }
}

fn link(host: &XmlGroup<'_, '_>, drive: &XmlGroup<'_, '_>, queues: &Queues, sheet: &mut Sheet) {
    sheet.table("[host]");
    let lanes = host.count("PCIe_Lane_Count", "4");
    let whole = rate(host.number("PCIe_Lane_Bandwidth", "1.0") * 1e9 * lanes as f64);
    let is_sata = drive.choice("HostInterface_Type", &[("NVME", false), ("SATA", true)]).unwrap_or_default();
    let fetched = drive.count("Queue_Fetch_Size", "512");
    if is_sata {
        let overhead = time(host.whole("SATA_Processing_Delay", "400000"));
        let link = format!("link = {{ rate = \"{whole}\", overhead = \"{overhead}\", duplex = \"half\" }}");
        sheet.line(&link, "PCIe_Lane_Bandwidth x PCIe_Lane_Count, SATA_Processing_Delay");
        let why = "the delay counts once for each command, not for each message, and one direction works at a time";
        sheet.approximated("SATA_Processing_Delay", why);
    } else {
        let link = format!("link = {{ rate = \"{whole}\", duplex = \"full\" }}");
        sheet.line(&link, "PCIe_Lane_Bandwidth x PCIe_Lane_Count");
        let why = "packets of the link have no headers, and doorbells and entries of queues no transfers";
        sheet.approximated("PCIe_Lane_Bandwidth", why);
        if host.has("SATA_Processing_Delay") {
            sheet.without("SATA_Processing_Delay", "the interface is NVMe");
        }
    }
    let count = if is_sata { 1 } else { queues.count() as u64 };
    let depth = fetched.saturating_mul(count).min(1 << 16);
    let of = if count > 1 { format!("Queue_Fetch_Size of {count} queues") } else { "Queue_Fetch_Size".to_owned() };
    sheet.line(&format!("queue-depth = {depth}"), &of);
    if depth < fetched.saturating_mul(count) {
        sheet.approximated("Queue_Fetch_Size", "a drive works on 65,536 requests at once at most");
    }
    queues.write(fetched, count > 1, sheet);
}

fn cache(
    drive: &XmlGroup<'_, '_>,
    flash: &XmlGroup<'_, '_>,
    (queues, likeness): (&Queues, Likeness),
    sheet: &mut Sheet,
) {
    drive.choice("Memory_Type", &[("FLASH", ())]);
    let capacity = drive.whole("Data_Cache_Capacity", "268435456");
    // Versions of MQSim spell this parameter differently.
    let bursts = ["Data_Cache_DRAM_Data_Busrt_Size", "Data_Cache_DRAM_Data_Burst_Size"];
    let burst = bursts.into_iter().find(|name| drive.has(name)).unwrap_or(bursts[1]);
    let bytes = drive.count(burst, "8");
    let transfers = drive.count("Data_Cache_DRAM_Data_Rate", "800");
    if capacity == 0 || !queues.caches_writes() {
        let why =
            if capacity == 0 { "no cache, no buffer" } else { "no flow caches its writes, so there is no buffer" };
        for name in ["Data_Cache_Capacity", "Data_Cache_DRAM_Data_Rate", burst] {
            sheet.without(name, why);
        }
        return;
    }
    sheet.table("[ram]");
    // In Flashloom a write crosses the RAM twice, into the buffer and out of it; in MQSim once.
    let (times, why) = match likeness {
        Likeness::Mqsim => {
            (4, "MQSim moves two bursts in a period of its data rate, and a write once; rows take no time")
        }
        Likeness::Controller => (2, "MQSim moves two bursts in a period of its data rate; rows take no time"),
    };
    let speed = rate(f64::from(times) * 1e6 * transfers as f64 * bytes as f64);
    sheet.line(&format!("rate = \"{speed}\""), &format!("{times} x Data_Cache_DRAM_Data_Rate x {burst}"));
    sheet.approximated("Data_Cache_DRAM_Data_Rate", why);
    sheet.table("[buffer]");
    if likeness == Likeness::Controller {
        sheet.line(&format!("size = \"{}\"", size(capacity)), "Data_Cache_Capacity");
        let why = "the whole cache holds writes, and writes back from half of its size on; MQSim writes back at once, and \
                   takes no more writes than one page for each plane";
        sheet.approximated("Data_Cache_Capacity", why);
        return;
    }
    // `back_pressure_buffer_max_depth` of `Data_Cache_Manager_Flash_Advanced`: a write is answered when it is in RAM, and goes to
    // flash at once; no more are taken while as many pages are on their way as there are planes.
    let planes = queues.planes(drive, flash);
    let page = flash.count("Page_Capacity", "8192");
    let held = planes.saturating_mul(page).min(capacity);
    sheet.line(&format!("size = \"{}\"", size(held)), "a page for each plane, the most on their way to flash");
    sheet.line("high = \"0%\"", "MQSim writes back at once");
    sheet.line("low = \"0%\"", "MQSim writes back at once");
    let why = "only pages on their way to flash are held; MQSim also keeps an address that is written twice within a second, and \
               may keep what is read";
    sheet.approximated("Data_Cache_Capacity", why);
}

fn ftl(drive: &XmlGroup<'_, '_>, flash: &XmlGroup<'_, '_>, (queues, likeness): (&Queues, Likeness), sheet: &mut Sheet) {
    sheet.table("[ftl]");
    let is_page = drive.choice("Address_Mapping", &[("PAGE_LEVEL", true), ("HYBRID", false)]).unwrap_or(true);
    sheet.line("kind = \"page\"", "Address_Mapping");
    if !is_page {
        sheet.approximated("Address_Mapping", "HYBRID has no implementation in MQSim; this is a map of pages");
    }
    let page = flash.count("Page_Capacity", "8192").min(32 << 10);
    sheet.line(&format!("map-unit = \"{}\"", size(page)), "Page_Capacity, and at most 32 KiB");
    let spare = drive.number("Overprovisioning_Ratio", "0.07");
    if spare >= 1.0 {
        drive.fault("Overprovisioning_Ratio", &format!("{spare} leaves nothing for the host; write e.g. 0.07"));
    }
    // The percentage is rounded, to drop the errors of binary fractions.
    let percent = (spare * 1e10).round() / 1e8;
    sheet.line(&format!("over-provisioning = \"{percent}%\""), "Overprovisioning_Ratio");
    sheet.line("unmapped-reads = \"flash-read\"", "MQSim reads pages that were never written from flash");
    placement(drive, flash, likeness, sheet);
    sheet.table("[ftl.map]");
    let capacity = drive.count("CMT_Capacity", "2097152");
    if is_ideal(drive) {
        sheet.line("kind = \"ram\"", "Ideal_Mapping_Table");
        sheet.without("CMT_Capacity", "the whole map is in RAM");
    } else {
        sheet.line("kind = \"dftl\"", "Ideal_Mapping_Table");
        sheet.line(&format!("cmt = \"{}\"", size(capacity)), "CMT_Capacity");
        sheet.line("costs = \"ideal\"", "MQSim's look-ups take no time");
        sheet.line("outstanding = 512", "MQSim's look-ups wait for each other only on one page");
        sheet.line("shared-loads = true", "MQSim loads a page once for all that wait for it");
        let why = "a cache of blocks of 64 bytes in sets of four; MQSim's has single entries in one set, and entries of \
                   another size";
        sheet.approximated("CMT_Capacity", why);
    }
    collection(drive, flash, (queues, likeness), sheet);
    sheet.table("[ftl.wear]");
    sheet.line(&format!("dynamic = {}", drive.flag("Dynamic_Wearleveling_Enabled")), "Dynamic_Wearleveling_Enabled");
    let threshold = drive.count("Static_Wearleveling_Threshold", "100");
    if drive.flag("Static_Wearleveling_Enabled") {
        sheet.line(&format!("threshold = {threshold}"), "Static_Wearleveling_Threshold");
    } else {
        sheet.without("Static_Wearleveling_Threshold", "Static_Wearleveling_Enabled is false");
    }
}

fn placement(drive: &XmlGroup<'_, '_>, flash: &XmlGroup<'_, '_>, likeness: Likeness, sheet: &mut Sheet) {
    let scheme = drive.text("Plane_Allocation_Scheme", "CWDP").to_ascii_uppercase();
    let place = |letter: char| DIMENSIONS.iter().find(|(of, _)| *of == letter).map(|(_, name)| *name);
    let mut letters: Vec<char> = scheme.chars().collect();
    let order: Option<Vec<&str>> = letters.iter().map(|letter| place(*letter)).collect();
    letters.sort_unstable();
    letters.dedup();
    match order.filter(|order| order.len() == DIMENSIONS.len() && letters.len() == DIMENSIONS.len()) {
        Some(order) => {
            let order = order.join("-");
            let line = format!("placement = {{ policy = \"address-striping\", order = \"{order}\" }}");
            sheet.line(&line, "Plane_Allocation_Scheme");
            let is_apart = !scheme.contains("DP") && !scheme.contains("PD");
            if is_apart && is_merged(flash, likeness) {
                let why = "the dies of a chip are planes of one die here, so pages go to them where the letter P is";
                sheet.approximated("Plane_Allocation_Scheme", why);
            }
        }
        // Fully dynamic allocation.
        None if scheme == "F" => {
            sheet.line("placement = { policy = \"least-loaded\" }", "Plane_Allocation_Scheme");
            sheet.approximated(
                "Plane_Allocation_Scheme",
                "F is dynamic: each program goes to the die with the least to do",
            );
        }
        None if drive.has("Plane_Allocation_Scheme") => drive.fault(
            "Plane_Allocation_Scheme",
            &format!("`{scheme}` is unknown; write the letters C, W, D and P in some order, e.g. CWDP, or F"),
        ),
        None => {}
    }
}

/// True if the whole map is in RAM.
fn is_ideal(drive: &XmlGroup<'_, '_>) -> bool {
    drive.has("Ideal_Mapping_Table") && drive.flag("Ideal_Mapping_Table")
}

/// MQSim collects up to this many blocks of a plane at once, so it starts collection with at most this many free blocks
/// (`max_ongoing_gc_reqs_per_plane`, a constant in `SSD_Device`).
const AT_ONCE: u64 = 10;

/// Blocks of each plane that MQSim keeps open and the converted drive does not. For each flow, MQSim has one open block for data,
/// one for copies and one for translation pages, the last also if the whole map is in RAM. The converted drive has one for data and
/// one for copies, and blocks for translation pages only if there are such pages.
fn idle_blocks(is_ideal: bool, flows: usize) -> u64 {
    let each = if is_ideal { 3 } else { 2 };
    each * flows as u64 - 2
}

fn collection(
    drive: &XmlGroup<'_, '_>,
    flash: &XmlGroup<'_, '_>,
    (queues, likeness): (&Queues, Likeness),
    sheet: &mut Sheet,
) {
    sheet.table("[ftl.gc]");
    let blocks = flash.count("Block_No_Per_Plane", "2048");
    let share = drive.number("GC_Exec_Threshold", "0.05");
    if share >= 1.0 {
        drive.fault("GC_Exec_Threshold", &format!("`{share}` is not a share below 1; write e.g. 0.05"));
    }
    let threshold = ((share * blocks as f64) as u64).max(1);
    match likeness {
        Likeness::Mqsim => {
            let idle = idle_blocks(is_ideal(drive), queues.count());
            let below = threshold.max(AT_ONCE) + idle;
            let mut of = "GC_Exec_Threshold x Block_No_Per_Plane, and at least 10: MQSim starts below it".to_owned();
            if idle > 0 {
                of += &format!(", and keeps {idle} more open");
            }
            sheet.line(&format!("start = {}", below - 1), &of);
            sheet.line(&format!("stop = {below}"), "GC_Exec_Threshold: MQSim stops at it");
            let pages = flash.count("Page_No_Per_Block", "256").min(1 << 16);
            sheet.line(&format!("parallel = {pages}"), "MQSim asks for all pages of a block at once");
        }
        Likeness::Controller => {
            sheet.line(&format!("start = {threshold}"), "GC_Exec_Threshold x Block_No_Per_Plane");
            sheet.line(&format!("stop = {}", threshold + 1), "GC_Exec_Threshold: MQSim stops above it");
            let why = "counts free superblocks of a die: as many as free blocks in each of its planes";
            sheet.approximated("GC_Exec_Threshold", why);
        }
    }
    let sample = u64::from(blocks.ilog2()).max(1);
    let sampled = format!("{{ policy = \"d-choices\", d = {sample} }}");
    let [greedy, random, fifo] = ["greedy", "random", "fifo"].map(|policy| format!("{{ policy = \"{policy}\" }}"));
    let policies = [
        ("GREEDY", (&greedy, "")),
        ("RGA", (&sampled, "")),
        ("RANDOM", (&random, "a block without an invalid page is never chosen")),
        ("RANDOM_P", (&random, "the same as RANDOM here, which never chooses a block without an invalid page")),
        ("RANDOM_PP", (&random, "a block with any invalid page may be chosen; MQSim asks for a number of them")),
        ("FIFO", (&fifo, "")),
    ];
    let policies = policies.each_ref().map(|(name, of)| (*name, *of));
    let (victim, why) = drive.choice("GC_Block_Selection_Policy", &policies).unwrap_or((&greedy, ""));
    sheet.line(&format!("victim = {victim}"), "GC_Block_Selection_Policy");
    if !why.is_empty() {
        sheet.approximated("GC_Block_Selection_Policy", why);
    }
    if drive.flag("Use_Copyback_for_GC") {
        sheet.line("copy-back = true", "Use_Copyback_for_GC");
    }
}
