//! Tests every number and quantity of devices and workloads at its extremes.
//!
//! The keys come from the JSON schema, so that new ones are tested automatically. Each key is set, in descriptions that
//! have its table, to zero, to the minimum, to the maximum and to a value that is not a number. The description must
//! either be refused with a fault that names the key, or run: 200 requests end within a bounded number of events, or at
//! the end of simulated time.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use raid::Raid;
use schemars::schema_for;
use serde_json::Value;
use ssd::{Drive, Purpose, QueueId, Request, ResolvedDevice, Ssd};
use study::catalogue::device_from;
use study::config::{Document, Faults};
use translation::Translation;
use workload::Source;
use workload::generate::{Generator, GeneratorSpec};

const REQUESTS: u64 = 200;

/// The number of event times after which a request counts as lost.
const MOMENTS: u64 = 400_000;

/// The largest memory of a drive that runs here, on any machine.
const MEMORY: u64 = 48 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ValueKind {
    Integer,
    Float,
    Quantity(&'static str),
}

const QUANTITIES: [&str; 14] = [
    "Span",
    "Bytes",
    "Rate",
    "LaneRate",
    "Ratio",
    "Frequency",
    "Voltage",
    "Current",
    "Amount",
    "SizeRange",
    "RequestRate",
    "Temperature",
    "Power",
    "ThermalResistance",
];

impl ValueKind {
    fn extremes(self) -> &'static [&'static str] {
        match self {
            Self::Integer => &["-1", "0", "1", "3", "65537", "2147483647", "4294967295", "9223372036854775807"],
            Self::Float => &["-1.0", "0.0", "1e-300", "1.0", "1e308", "inf", "-inf", "nan"],
            Self::Quantity("Span") => &["'0s'", "'1ps'", "'5000s'", "'18446744s'", "'-1s'"],
            Self::Quantity("Bytes") => &["'0B'", "'1B'", "'512B'", "'4KiB'", "'3MiB'", "'1TiB'", "'16777215TiB'"],
            Self::Quantity("Rate" | "LaneRate") => &["'0B/s'", "'1B/s'", "'18446744073GB/s'"],
            Self::Quantity("Ratio") => {
                &["'0%'", "'0.000001%'", "'99.999%'", "'100%'", "'150%'", "'1000000000%'", "'-1%'"]
            }
            Self::Quantity("Temperature") => &["'0C'", "'150C'", "'151C'", "'18446744073709551C'", "'-1C'"],
            Self::Quantity("Power") => &["'0W'", "'1uW'", "'18446744073709W'"],
            Self::Quantity("ThermalResistance") => &["'0K/W'", "'1mK/W'", "'18446744073709551K/W'"],
            Self::Quantity("Voltage") => &["'0V'", "'18446744073709551V'"],
            Self::Quantity("Current") => &["'0A'", "'18446744073709A'"],
            Self::Quantity("Frequency") => &["'0Hz'", "'18446744073GHz'"],
            Self::Quantity("Amount") => {
                &["'0B'", "'1B'", "'16777215TiB'", "'0%'", "'0.000001%'", "'100%'", "'1000000%'"]
            }
            Self::Quantity("SizeRange") => &["'0B'", "'1B'", "'512B'", "'512B..16777215TiB'", "'1KiB..1MiB'"],
            Self::Quantity(_) => &["'0/s'", "'0.000000000001/s'", "'1000000000000000000000M/s'"],
        }
    }
}

type Leaf = (Vec<String>, ValueKind);

/// Finds the keys of a schema with a number or a quantity.
fn walk(root: &Value, schema: &Value, way: &mut Vec<String>, found: &mut BTreeSet<Leaf>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        match QUANTITIES.iter().find(|quantity| **quantity == name) {
            Some(quantity) => drop(found.insert((way.clone(), ValueKind::Quantity(quantity)))),
            None => walk(root, &root["$defs"][name], way, found),
        }
    }
    let is = |name: &str| match &schema["type"] {
        Value::Array(all) => all.iter().any(|one| one == name),
        one => one == name,
    };
    for (name, kind) in [("integer", ValueKind::Integer), ("number", ValueKind::Float)] {
        if is(name) {
            found.insert((way.clone(), kind));
        }
    }
    let inner = schema["properties"].as_object().into_iter().flatten().map(|(name, inner)| (name.as_str(), inner));
    for (name, inner) in inner.chain(schema["items"].is_object().then(|| ("0", &schema["items"]))) {
        way.push(name.to_owned());
        walk(root, inner, way, found);
        way.pop();
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        schema[key].as_array().into_iter().flatten().for_each(|inner| walk(root, inner, way, found));
    }
}

/// Sets a key. Returns false if its table, or the list of which it is an item, does not exist.
fn set(root: &mut toml::Value, way: &[String], value: &toml::Value) -> bool {
    let Some((last, tables)) = way.split_last() else { return false };
    let mut place = root;
    for step in tables {
        let next = match place {
            toml::Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
            toml::Value::Table(table) => table.get_mut(step),
            _ => None,
        };
        let Some(next) = next else { return false };
        place = next;
    }
    match place {
        toml::Value::Array(items) if !items.is_empty() => items[0] = value.clone(),
        toml::Value::Table(table) => {
            // The key selects one of several forms of the table.
            if tables.last().is_some_and(|name| ["flush", "sequential", "units"].contains(&name.as_str())) {
                table.clear();
            }
            table.insert(last.clone(), value.clone());
        }
        _ => return false,
    }
    true
}

/// True if a description has a key.
fn is_given(table: &toml::Table, way: &[String]) -> bool {
    let mut steps = way.iter();
    let first = steps.next().and_then(|step| table.get(step));
    let place = steps.fold(first, |place, step| match place? {
        toml::Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
        toml::Value::Table(table) => table.get(step),
        _ => None,
    });
    place.is_some()
}

fn value(text: &str) -> toml::Value {
    let mut table: toml::Table = format!("value = {text}").parse().expect("TOML");
    table.remove("value").expect("it is there")
}

/// True if a fault is at this key, inside it, or at a table around it, or names it.
fn names(faults: &Faults, way: &[String]) -> bool {
    let key: Vec<String> = way.iter().filter(|step| *step != "0").cloned().collect();
    let last = key.last().map_or("", String::as_str);
    faults.0.iter().any(|fault| {
        let at: Vec<String> =
            fault.key.split('.').map(|step| step.split('[').next().unwrap_or_default().to_owned()).collect();
        let near = at.starts_with(&key) || (!fault.key.is_empty() && key.starts_with(&at));
        let said = format!("{} {} {}", fault.key, fault.message, fault.remedy);
        near || said.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').any(|word| word == last)
    })
}

/// Sets every key of a schema to every extreme, in two descriptions that have the key or at least its table.
fn sweep(
    schema: &Value,
    bases: &[(&str, String)],
    others: &[(&str, &str)],
    try_out: fn(&Document) -> Result<(), Faults>,
) {
    let tables: Vec<(&str, toml::Table)> =
        bases.iter().map(|(name, base)| (*name, base.parse().expect("TOML"))).collect();
    for (name, base) in bases {
        let document = Document::parse(Path::new(name), base.clone()).expect("TOML");
        try_out(&document).unwrap_or_else(|faults| panic!("{name}: {faults}"));
    }
    let (mut leaves, mut wrong, mut counts) = (BTreeSet::new(), Vec::new(), [0; 2]);
    walk(schema, schema, &mut Vec::new(), &mut leaves);
    for (way, kind) in leaves {
        let has = |table: &toml::Table| set(&mut toml::Value::Table(table.clone()), &way, &value("1"));
        let mut chosen: Vec<_> = tables.iter().filter(|(_, table)| has(table)).collect();
        // Descriptions that have the key come first: in a table of another policy it may be unknown.
        chosen.sort_by_key(|(_, table)| !is_given(table, &way));
        chosen.truncate(2);
        if chosen.is_empty() {
            wrong.push(format!("no description has the table of {way:?}"));
        }
        for (name, table) in chosen {
            for extreme in kind.extremes() {
                let mut changed = toml::Value::Table(table.clone());
                assert!(set(&mut changed, &way, &value(extreme)), "{way:?}");
                let document =
                    Document::parse(Path::new("x"), toml::to_string(&changed).expect("a table")).expect("TOML");
                let what = format!("{name}: {} = {extreme}", way.join("."));
                // Faults that intentionally appear at another key.
                let said = |faults: &Faults| {
                    others.iter().any(|(key, said)| *key == way.join(".") && faults.to_string().contains(said))
                };
                match catch_unwind(AssertUnwindSafe(|| try_out(&document))) {
                    Ok(Ok(())) => counts[0] += 1,
                    Ok(Err(faults)) if names(&faults, &way) => counts[1] += 1,
                    Ok(Err(faults)) if said(&faults) => counts[1] += 1,
                    Ok(Err(faults)) => wrong.push(format!("{what}: not named: {faults}")),
                    Err(_) => wrong.push(format!("{what}: a panic")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}, of {counts:?}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(counts.iter().all(|count| *count > 100), "{counts:?} run and are refused");
}

fn run(document: &Document) -> Result<(), Faults> {
    let device = device_from(document)?;
    let resolved = &device.resolved;
    // Larger drives are refused by the check against the machine's memory, which has its own tests.
    if resolved.memory(Purpose::default()).total().get() > MEMORY {
        return Ok(());
    }
    match &resolved.spec.raid {
        None if resolved.translation.is_some() => run_on(resolved, &mut Translation::<()>::new(resolved, 1)),
        None => run_on(resolved, &mut Ssd::<()>::new(resolved, 1)),
        Some(spec) => {
            let drives = (0..resolved.drives()).map(|number| Ssd::new(&resolved.of_drive(number), u64::from(number)));
            run_on(resolved, &mut Raid::<()>::new(spec, drives.collect()));
        }
    }
    Ok(())
}

fn run_on(resolved: &ResolvedDevice, drive: &mut impl Drive<()>) {
    let unit = u64::from(resolved.geometry.sectors);
    let units = resolved.capacity().get() / unit;
    let (mut completions, mut outstanding, mut moments) = (Vec::new(), 0, 0);
    for tag in 0..REQUESTS {
        let kind = [IoKind::Write, IoKind::Write, IoKind::Write, IoKind::Read][tag as usize % 4];
        let io = Io::new(kind, Lba::new(tag * 7 % units * unit), Sectors::new(unit));
        let io = if tag % 64 == 63 { Io::FLUSH } else { io };
        let data = if io.kind == IoKind::Write { vec![(); unit as usize] } else { Vec::new() };
        let now = drive.counters().at;
        drive.submit(now, Request { tag, queue: QueueId::default(), io, data });
        outstanding += 1;
        while outstanding > if tag + 1 == REQUESTS { 0 } else { 8 } {
            let at = drive.next_event().expect("something is under way");
            if at == Time::MAX {
                return;
            }
            drive.advance(at, &mut completions);
            outstanding -= completions.len();
            completions.clear();
            moments += 1;
            assert!(moments < MOMENTS, "{outstanding} requests never end");
        }
    }
    assert!(drive.counters().at < Time::MAX);
}

const PART: &str = r"name = 'p'
source = ''
cell = 'mlc'
endurance = 10000
initial_bad_blocks = '2%'
cost_per_gib = 1.0
geometry = { page = '2KiB', spare = '64B', pages_per_block = 16, blocks_per_plane = 32, planes_per_die = 1, dies_per_chip = 1 }
timing = { read = ['25us'], program = ['200us'], erase = '1500us', cache_read_copy = '3us', cache_program_copy = '3us', one_shot = 1 }
bus = { rate = '40MB/s', command = '1us', transfer_spare = true }
features = { multi_plane = false, cache_read = true, cache_program = true, copy_back = true }
electrical = { voltage = '3.3V', read_current = '15mA', program_current = '15mA', erase_current = '15mA', bus_pj_per_byte = 5.0, idle_current = '1mA', further_plane = '50%' }
";

const SLC_MODE: &str = "slc_mode = { read = '10us', program = '90us', endurance = 20000 }\n";

const ERRORS: &str = "errors = { base = 1e-3, wear = 1e-9, wear_exponent = 2.0, retention = 1e-5, retention_cycles = 0.1, \
    retention_time = 0.5, disturb = 1e-9, disturb_cycles = 0.3, disturb_reads = 1.7, temperature = '30C', activation_ev = 1.1, \
    page_types = [1.0], block_spread = '10%', layers = 2, layer_spread = '10%', retry_rber = ['80%', '50%'], retry_time = ['1us'] }\n";

#[test]
fn every_number_of_a_device_is_refused_or_runs() {
    let small = "part = 'dirik-2009'\nchannels = 1\nchips = 2\nblocks = 32\npages = 16\nplanes = 1\nfaults = {}\narbitration = {}\n";
    let page = |flash: &str, ftl: &str, rest: &str| {
        format!("name = 'x'\n{rest}\n[flash]\n{small}{flash}\n[ftl]\nover-provisioning = '45%'\n{ftl}\n")
    };
    let costs = "costs = { custom = { packet = '1ns', tag = '1ns', victim = '1ns', entry = '1ns', list = '1ns', issue = \
                 '1ns', scan = '1ns', command = '1ns' } }";
    let hydra = r"name = 'x'
[flash]
part = 'K9K8G08U0M'
channels = 1
blocks = 32
pages = 16
chips = 4
gang = 2
width = 16
controllers = { background = 2 }
[ftl]
kind = 'hydra'
over-provisioning = '70%'
hydra = { chips = 2, processor = {} }
wear = {}
[buffer]
size = '256KiB'
policy = 'superblock'
";
    let queues = "host = { arbitration = 'weighted', queue = [{ weight = 2, dies = [0] }, { channels = [0] }] }";
    let channels = "host = { arbitration = 'weighted', queue = [{ weight = 3, channels = [0] }, { dies = [0] }] }";
    let slc = "slc = { part = 'K9WAG08U1A', blocks = 8, pages = 8 }";
    let bases = [
        ("page", page("", "gc = {}\nwear = {}", "host = { link = {} }\nbuffer = { size = '64KiB' }")),
        (
            "d",
            page(
                "controllers = { shared = 2 }",
                "gc = { victim = { policy = 'd-choices', d = 2 } }\nwear = { threshold = 4 }",
                "",
            ),
        ),
        (
            "window",
            page(
                "",
                "gc = { victim = { policy = 'windowed-greedy', window = 2 } }\ncheckpoint = { every = '1MiB' }",
                queues,
            ),
        ),
        ("channels", page("", "", channels)),
        (
            "suspension",
            page(
                "controllers = 'none'\nsuspend = { stop = 'steps', program-time = '5us', erase-time = '20us' }",
                "",
                "",
            ),
        ),
        (
            "planes that read",
            page("controllers = 'none'\nplane-reads = { at-once = 2 }", "", "").replace("planes = 1", "planes = 2"),
        ),
        ("blocks that differ", page("variation = { read = '10%', erase = '20%', erase-wear = '50%' }", "", "")),
        (
            "canceling",
            page(
                "controllers = 'none'\nsuspend = { stop = 'cancel', writes = true, program-time = '5us', limit = 3 }",
                "",
                "",
            ),
        ),
        (
            "streams by filters",
            page(
                "",
                "streams = { host = { policy = 'bloom-filters', filters = 3, bits = 128, decay = 16, threshold = 3 }, copies = { \
                 policy = 'generations', streams = 2 } }",
                "",
            ),
        ),
        ("streams by lists", page("", "streams = { host = { policy = 'lru', levels = [8, 16] } }", "")),
        (
            "streams by interval",
            page("", "streams = { host = { policy = 'interval', limits = ['64KiB'], memory = '256B' } }", ""),
        ),
        ("streams by size", page("", "streams = { host = { policy = 'size', limits = ['4KiB'] } }", "")),
        (
            "Flexible Data Placement",
            page("", "fdp = { handles = 2, isolation = 'persistent', reclaim-groups = 2 }", ""),
        ),
        ("streams by queue", page("", "streams = { host = { policy = 'queue', streams = 2 } }", "")),
        (
            "streams by formula",
            page(
                "",
                "streams = { host = { policy = 'formula', number = 'interval > 9', streams = 3, memory = '1KiB' } }",
                "",
            ),
        ),
        ("polling", page("completion = { polling = '10us' }", "", "")),
        (
            "times",
            page(
                "ecc = { decode = { rate = '100MB/s', latency = '1us' }, codeword = '1KiB', decoders = { shared = 1 } }",
                "firmware = { request = '1us', unit = '1us' }",
                "ram = { rate = '1GB/s', look-up = '8B' }\nbuffer = { size = '64KiB' }",
            ),
        ),
        ("table", page("", "map = { kind = 'table', service = '1us' }", "")),
        ("dftl", page("", &format!("map = {{ kind = 'dftl', cmt = '1KiB', {costs} }}\nmap-gather = 1"), "")),
        ("cdftl", page("", &format!("map = {{ kind = 'cdftl', cmt = '1KiB', ctp = '16KiB', {costs} }}"), "")),
        ("fmmu", page("", &format!("map = {{ kind = 'fmmu', cmt = '1KiB', ctp = '16KiB', {costs} }}"), "")),
        ("fast", page("", "kind = 'fast'\nlog = { blocks = 4 }", "")),
        ("bast", page("", "kind = 'bast'\nlog = { blocks = 4, striping = 'page' }", "")),
        ("chang", page("", "kind = 'chang'\nchang = {}\nwear = { threshold = 2 }", slc)),
        ("density", page("", "kind = 'chang'\nchang = { density = { extra = '128KiB' } }", "")),
        ("hydra", hydra.to_owned()),
        (
            "part",
            format!(
                "name = 'x'\nftl = {{ over-provisioning = '45%' }}\n[flash]\nchannels = 1\nchips = 2\n\
                 faults = {{ wear-out = true }}\n[flash.custom-part]\n{PART}"
            ),
        ),
        (
            "bit errors",
            format!(
                "name = 'x'\nftl = {{ over-provisioning = '45%', refresh = {{ age = '30d', reads = 100, errors = '70%', patrol = '1ms', parallel = 2 }} }}\n[flash]\nchannels = 1\nchips = 2\nerrors = {{}}\necc = {{ decode = \
                 {{ rate = '100MB/s' }}, hard-limit = 80, soft = {{ sensings = 2, limit = 160 }} }}\n[flash.custom-part]\n{PART}{ERRORS}"
            ),
        ),
        (
            "SLC cache",
            format!(
                "name = 'x'\n[ftl]\nover-provisioning = '60%'\nslc-cache = {{ size = '512KiB', points = [{{ fill = '50%', size = '256KiB' \
                 }}], streams = 1, overflow = 'fold-beside', reuse = '256KiB', fold = 'copy-back', idle = {{ after = '1ms', down-to = '128KiB' }} }}\n[flash]\nchannels = 1\nchips = 2\n\
                 [flash.custom-part]\n{PART}{SLC_MODE}"
            ),
        ),
        (
            "parity",
            format!(
                "name = 'x'\nftl = {{ over-provisioning = '80%', superblock-dies = 2, parity = true, rebuild-rate = '4MB/s' }}\n[flash]\nchannels = 1\nchips = 2\n\
                 controllers = 'none'\nfaults = {{ dies = [{{ die = 1, at = '5ms' }}] }}\n[flash.custom-part]\n{PART}"
            ),
        ),
        (
            "power and heat",
            page(
                "",
                "",
                "[power]\ncontroller = { active = '3W', idle = '1W' }\nstates = [{ power = '5mW', idle-after = '1ms', entry = '1ms', \
                 exit = '1ms' }]\nthermal = { ambient = '30C', resistance = '10K/W', time-constant = '1s', sample = '1ms', throttle = \
                 { style = 'proportional', from = '50C', to = '70C', highest-rate = '1GB/s', lowest-rate = '1MB/s' } }",
            ),
        ),
        ("power cap", page("", "", "[power]\ncap = { peak = '1W', average = '1W', window = '1ms' }")),
        (
            "operational power states",
            page(
                "",
                "",
                "[power]\ncontroller = { active = '1W', idle = '1W' }\nselect = 1\noperational = [{ power = '3W' }, { power = \
                 '2W', entry = '1ms', exit = '1ms' }]",
            ),
        ),
        ("idle collection", page("", "gc = { idle = { after = '1ms', free = 5 } }", "")),
        (
            "host memory",
            page(
                "",
                "map = { kind = 'dftl', cmt = '1KiB', hmb = { preferred = '32KiB', minimum = '0B', latency = '2us' } }",
                "host = { hmb = { size = '32KiB', changes = [{ at = '1ms', size = '0B' }] } }",
            ),
        ),
        (
            "raid",
            page(
                "",
                "discard = 'durable'\ngc = { start = 3, stop = 4 }",
                r"[raid]
level = 'raid5'
drives = 3
chunk = '8KiB'
spares = 1
journal = '192KiB'
rebuild-rate = '4MB/s'
collection = { window = '5ms', reads-around = true }
failures = [{ at = '1ms', drive = 1 }]
kind = [{ drives = [2], set = ['ftl.over-provisioning=60%'] }]",
            ),
        ),
        (
            "translation",
            page(
                "",
                "kind = 'zns'\nzns = { dies = 1, max-active = 8 }",
                r"[translation]
over-provisioning = '70%'
streams = 2
zones-per-stream = 2
gc = { start = 2, stop = 3, parallel = 2, piece = '4KiB' }",
            ),
        ),
        (
            "collection in windows",
            page(
                "",
                "gc = { start = 3, stop = 4, pace = { policy = 'window', length = '5ms', of = 3, turn = 1 } }",
                "",
            ),
        ),
        (
            "slc",
            format!(
                "name = 'x'\nftl = {{ over-provisioning = '45%', kind = 'chang' }}\n[flash]\n{small}[slc.custom-part]\n{PART}{SLC_MODE}"
            ),
        ),
    ];
    // The samples of each family.
    let samples = ssd::FtlKind::EVERY.into_iter().flat_map(ssd::FtlKind::samples).map(|ftl| {
        let mut table: toml::Table = format!("name = 'x'\n[flash]\n{small}").parse().expect("TOML");
        table.insert("ftl".into(), toml::Value::try_from(ftl).expect("a table"));
        ("sample", toml::to_string(&table).expect("TOML"))
    });
    let bases: Vec<_> = bases.into_iter().chain(samples).collect();
    let others = [
        // The calculation of the host's capacity finds too few blocks or pages.
        ("flash.pages", "over-provisioning"),
        ("flash.blocks", "over-provisioning"),
        ("flash.blocks", "a pool has"),
        // There would be more open zones than active ones.
        ("ftl.zns.max-active", "ftl.zns.max-open"),
        // There would be more random write areas than active zones, or areas that do not fit a zone or the mapping
        // unit.
        ("ftl.zns.max-active", "ftl.zns.zrwa"),
        ("ftl.zns.capacity", "ftl.zns.zrwa"),
        ("ftl.map-unit", "ftl.zns.zrwa"),
        // The blocks hold less than one zone.
        ("flash.pages", "ftl.zns"),
        ("flash.blocks", "ftl.zns"),
        // Streams would have more open zones than the drive may have, there would be fewer zones than these need, or
        // copies would have a part of a unit.
        ("ftl.zns.max-active", "translation.streams"),
        ("ftl.zns.max-open", "translation.streams"),
        ("translation.zones-per-stream", "translation.streams"),
        ("ftl.map-unit", "translation.gc.piece"),
        ("ftl.zns.zrwa", "ftl.zns.zrwa"),
    ];
    sweep(schema_for!(ssd::Spec).as_value(), &bases, &others, run);
}

fn generate(document: &Document) -> Result<(), Faults> {
    let spec: GeneratorSpec = document.decode()?;
    let mut generator = Generator::new(&spec, Sectors::new(1 << 14), 1).map_err(|faults| document.faults(faults))?;
    for _ in 0..REQUESTS {
        match generator.next() {
            Ok(Some(request)) => assert!(request.io.end().get() <= 1 << 14, "{request:?}"),
            // The end of the workload or of simulated time.
            Ok(None) | Err(_) => break,
        }
    }
    Ok(())
}

#[test]
fn every_number_of_a_workload_is_refused_or_draws() {
    let base = |arrivals: &str, stream: &str, address: &str| {
        format!(
            "name = 'w'\nrequests = 1000\narrivals = {{ {arrivals} }}\n[[stream]]\nreads = '50%'\n\
             sizes = [{{ size = '4KiB' }}]\naddress = {{ {address} }}\n{stream}\n"
        )
    };
    let thinking = |text: String| text.replacen("[[stream]]", "think = { time = '1ms', every = 3 }\n[[stream]]", 1);
    let closed = "kind = 'closed', depth = 4";
    let bursts = "kind = 'bursts', length = 20.0, gap = '1ms', rate = '14/s'";
    let kinds = "discards = '10%'\nread_sizes = [{ size = '4KiB' }]\nwrite_sizes = [{ size = '4KiB' }]\ndiscard_sizes = [{ size = '4KiB' }]";
    let zones = "pattern = 'zoned', zones = [{ space = '50%', access = '30%' }, { space = '50%', access = '70%' }]";
    let bases = [
        (
            "uniform",
            base(
                closed,
                "region = {}\nflush = { every = 3 }\nsequential = { share = '50%' }\nplacement-id = [1, 2]",
                "pattern = 'uniform'",
            ),
        ),
        (
            "zipf",
            base("kind = 'poisson', rate = '100/s'", "flush = { share = '10%' }", "pattern = 'zipf', theta = 0.99"),
        ),
        (
            "pareto",
            base("kind = 'fixed', rate = '100/s'", "sequential = { runs = [1, 4] }", "pattern = 'pareto', power = 0.2"),
        ),
        ("bursts", base(bursts, "", "pattern = 'hot-cold', hot_space = '20%', hot_access = '80%'")),
        ("set", base(closed, "", "pattern = 'working-set', size = '1MiB', period = 100")),
        ("sequential", base(closed, "", "pattern = 'sequential', streams = 2")),
        ("zoned", base(closed, "", zones)),
        ("kinds", base(closed, kinds, "pattern = 'uniform'")),
        ("strided", thinking(base(closed, "", "pattern = 'strided', zone = '64KiB', step = '256KiB'"))),
    ];
    sweep(schema_for!(GeneratorSpec).as_value(), &bases, &[], generate);
}
