//! Small devices of every FTL family, and workloads under which every key can make a difference.

use ssd::{FtlKind, Spec};

pub use super::loads::{Load, RunResults, run};

/// A NAND part with every feature, with two kinds of pages, that wears out within a test.
const PART: &str = r#"
name = "key"
source = "made up"
cell = "mlc"
endurance = 3
initial_bad_blocks = "2%"
geometry = { page = "2KiB", spare = "64B", pages_per_block = 8, blocks_per_plane = 12, planes_per_die = 2, dies_per_chip = 1 }
timing = { read = ["25us", "40us"], program = ["200us", "500us"], erase = "1500us", cache_read_copy = "3us", cache_program_copy = "4us", one_shot = 1 }
bus = { rate = "50MB/s", command = "1us", change_column = "20ns", t_ccs = "30ns", t_adl = "40ns", t_rhw = "50ns", t_wb = "60ns", status = "70ns", transfer_spare = true }
features = { multi_plane = true, cache_read = true, cache_program = true, copy_back = true }
electrical = { voltage = "3.3V", read_current = "15mA", program_current = "16mA", erase_current = "17mA", bus_pj_per_byte = 435.6 }
"#;

/// A one-plane part for the families that map pages or rows, and a small one for SLC flash.
const FLAT: &str = r#"
name = "flat"
source = "made up"
cell = "slc"
endurance = 3
initial_bad_blocks = "2%"
geometry = { page = "1KiB", spare = "32B", pages_per_block = 8, blocks_per_plane = 24, planes_per_die = 1, dies_per_chip = 1 }
timing = { read = ["25us"], program = ["200us"], erase = "1500us", cache_read_copy = "3us", cache_program_copy = "4us", one_shot = 1 }
bus = { rate = "50MB/s", command = "1us", transfer_spare = true }
features = { multi_plane = false, cache_read = true, cache_program = true, copy_back = true }
electrical = { voltage = "3.3V", read_current = "15mA", program_current = "16mA", erase_current = "17mA", bus_pj_per_byte = 435.6 }
"#;

/// A device with its name.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Name of the device, the family first.
    pub name: String,
    /// Description of the device.
    pub spec: Spec,
}

/// Creates devices of every family and mode, so that each key of the schema is set in one of them or can be set there.
///
/// # Panics
/// If a description is not valid.
#[must_use]
pub fn fixtures() -> Vec<Fixture> {
    let costs = |text: &str| text.replace("COSTS", super::policies::COSTS);
    let mut fixtures = vec![
        fixture("page, one queue", PART, "channels = 2\nchips = 2\n", "[ftl]\nover-provisioning = \"45%\"\n"),
        fixture(
            "page, planes apart, sub-pages",
            PART,
            "channels = 2\nchips = 2\ndies = 2\nblocks = 8\nmulti-plane = false\ncontrollers = \"none\"\narbitration = { bus = \"command-first\" }\n",
            r#"[host]
link = { preset = "sata-300", overhead = "2us", read-latency = "3us", write-latency = "4us" }
queue-depth = 12
read-transfer = "cut-through"
[ftl]
over-provisioning = "45.5%"
map-unit = "1KiB"
gc = { victim = { policy = "d-choices", d = 3 }, start = 2, stop = 4, parallel = 3, copy-back = true }
placement = { policy = "least-loaded", order = "channel-chip-die-plane" }
firmware = { request = "5us", unit = "2us" }
wear = { threshold = 2, check-every = 4 }
"#,
        ),
        fixture(
            "page, planes polled",
            PART,
            r#"channels = 2
chips = 2
controllers = "none"
completion = { polling = "30us" }
ecc = { decode = { rate = "60MB/s", latency = "3us" }, codeword = "512B", decoders = { shared = 1 } }
"#,
            "[ftl]\nover-provisioning = \"45%\"\n",
        ),
        fixture(
            "page, wears and fails",
            &PART.replace("endurance = 3", "endurance = 3\nendurance_spread = \"40%\""),
            r#"channels = 2
chips = 2
blocks = 12
faults = { program-failures = "0.05%", erase-failures = "0.05%", uncorrectable-reads = "0.5%", initial-bad-blocks = "1%", wear-out = true }
"#,
            r#"[host]
queue-depth = 4
[ftl]
over-provisioning = "48%"
gc = { victim = { policy = "windowed-greedy", window = 3 } }
placement = { policy = "address-striping" }
"#,
        ),
        fixture(
            "page, queues",
            PART,
            r#"channels = 2
chips = 2
controllers = { background = 2 }
software-controllers = "3us"
arbitration = { commands = "read-first", bus = "read-first", hold = true }
"#,
            r#"[host]
queue-depth = 8
arbitration = "weighted"
burst = 2
link = { rate = "300MB/s", overhead = "1us", duplex = "half" }
[[host.queue]]
weight = 3
depth = 4
channels = [0, 1]
[[host.queue]]
weight = 2
dies = [0, 1, 2]
[[host.queue]]
urgent = true
[ftl]
over-provisioning = "65%"
placement = { policy = "request-round-robin" }
"#,
        ),
        fixture(
            "page, buffer of units",
            PART,
            "channels = 2\nchips = 2\ncontrollers = { shared = 2 }\ntransfer = \"controller\"\nlane-rate = \"80MB/s\"\nwidth = 16\n",
            r#"[ram]
rate = "400MB/s"
look-up = "64B"
[host]
chop = "4KiB"
queues = 3
burst = 2
[buffer]
size = "64KiB"
high = "60%"
low = "30%"
[ftl]
capacity = "600KiB"
wear = { threshold = 1, check-every = 2 }
placement = { policy = "block-striping" }
"#,
        ),
        fixture(
            "page, buffer of superblocks",
            PART,
            "channels = 2\nchips = 2\n",
            r#"[buffer]
size = "64KiB"
policy = "superblock"
superblock = "8KiB"
max-superblocks = 3
high = "70%"
[ftl]
over-provisioning = "45%"
"#,
        ),
        fixture(
            "page, suspends at steps",
            PART,
            r#"channels = 2
chips = 2
controllers = "none"
suspend = { stop = "steps", writes = true, program-time = "10us", erase-time = "20us", program-resume = "2us", erase-resume = "3us", limit = 3, progress = "20us", longest = "300us", threshold = "30us" }
"#,
            "[host]\nqueue-depth = 12\n[ftl]\nover-provisioning = \"45%\"\n",
        ),
        fixture(
            "page, queue that suspends nothing",
            PART,
            "channels = 2\nchips = 2\ncontrollers = \"none\"\nsuspend = { program-time = \"10us\", erase-time = \"20us\", threshold = \"100us\" }\n",
            r#"[host]
queue-depth = 12
arbitration = "weighted"
[[host.queue]]
weight = 3
suspend = false
[[host.queue]]
weight = 2
[ftl]
over-provisioning = "45%"
"#,
        ),
        fixture(
            "page, planes that read by themselves",
            &PART.replace("planes_per_die = 2", "planes_per_die = 4"),
            r#"channels = 2
chips = 2
controllers = "none"
plane-reads = { at-once = 2, reads = "all" }
"#,
            &format!(
                "[host]\nqueue-depth = 12\n[ftl]\nover-provisioning = \"45%\"\ngc = {{ victim = {} }}\n",
                super::own::victim()
            ),
        ),
        fixture(
            "page, blocks that differ",
            PART,
            r#"channels = 2
chips = 2
variation = { read = "10%", program = "20%", erase = "30%", program-wear = "10%", erase-wear = "50%" }
"#,
            "[ftl]\nover-provisioning = \"45%\"\ngc = { victim = { policy = \"score\", score = \"age * invalid\" } }\n",
        ),
        fixture(
            "page, cancels erases",
            PART,
            r#"channels = 2
chips = 2
controllers = "none"
suspend = { operations = "erases", stop = "cancel", reads = "all", erase-time = "20us", threshold = "200us" }
"#,
            "[ftl]\nover-provisioning = \"45%\"\ngc = { victim = { policy = \"cost-benefit\", age = \"time\" } }\n",
        ),
        fixture(
            "page, checkpoints",
            PART,
            "channels = 2\nchips = 2\n",
            r#"[ftl]
over-provisioning = "45%"
checkpoint = { every = "64KiB" }
gc = { victim = { policy = "cost-age-times", age = "time" } }
"#,
        ),
        fixture(
            "page, streams by oracle",
            PART,
            "channels = 2\nchips = 2\n",
            "[ftl]\nover-provisioning = \"68%\"\nstreams = { host = { policy = \"oracle\", limits = [\"64KiB\"] } }\n",
        ),
        fixture(
            "page, streams by size",
            PART,
            "channels = 2\nchips = 2\n",
            r#"[ftl]
over-provisioning = "72%"
streams = { host = { policy = "size", limits = ["2KiB", "8KiB"] }, copies = { policy = "same" } }
"#,
        ),
        fixture(
            "page, streams by queue",
            PART,
            "channels = 2\nchips = 2\n",
            r#"[host]
queues = 5
[ftl]
over-provisioning = "72%"
streams = { host = { policy = "queue", streams = 3 }, copies = { policy = "generations", streams = 2 } }
"#,
        ),
        fixture(
            "page, streams by interval",
            PART,
            "channels = 2\nchips = 2\n",
            r#"[ftl]
over-provisioning = "68%"
streams = { host = { policy = "interval", limits = ["64KiB"], memory = "256B" } }
"#,
        ),
        fixture(
            "page, streams by formula",
            PART,
            "channels = 2\nchips = 2\n",
            r#"[ftl]
over-provisioning = "68%"
streams = { host = { policy = "formula", number = "interval / 65536", streams = 3, memory = "256B" } }
"#,
        ),
        fixture(
            "page, streams by a policy of the program",
            PART,
            "channels = 2\nchips = 2\n",
            &format!("[ftl]\nover-provisioning = \"68%\"\nstreams = {{ host = {} }}\n", super::own::streams()),
        ),
        fixture(
            "page, streams by lists",
            PART,
            "channels = 2\nchips = 2\n",
            "[ftl]\nover-provisioning = \"68%\"\nstreams = { host = { policy = \"lru\", levels = [8, 16] } }\n",
        ),
        fixture(
            "page, streams by Bloom filters",
            PART,
            "channels = 2\nchips = 2\n",
            "[ftl]\nover-provisioning = \"68%\"\nstreams = { host = { policy = \"bloom-filters\", filters = 3, bits = 128, \
             decay = 24, threshold = 4 } }\n",
        ),
        fixture(
            "page, map table",
            PART,
            "channels = 2\nchips = 2\n",
            "[host]\nchop = \"8KiB\"\n[ftl]\nover-provisioning = \"45%\"\nmap = { kind = \"table\", service = \"3us\" }\n",
        ),
    ];
    super::own::register_cached().expect("a name of one version");
    let maps = [
        ("page, map uncached", "map = { kind = \"uncached\", service = \"1us\" }\nmap-gather = 2"),
        (
            "page, map dftl",
            "[ftl.map]\nkind = \"dftl\"\ncmt = \"2KiB\"\nways = 4\ncores = 2\noutstanding = 3\nshared-loads = true\nwrite-buffers = 2\nCOSTS",
        ),
        (
            "page, map cdftl",
            "[ftl.map]\nkind = \"cdftl\"\ncmt = \"512B\"\nctp = \"2KiB\"\nways = 2\ncores = 1\noutstanding = 3\nwrite-buffers = 2\nCOSTS",
        ),
        (
            "page, map fmmu",
            "[ftl.map]\nkind = \"fmmu\"\ncmt = \"512B\"\nctp = \"1KiB\"\nways = 2\nqueue = 3\nwindow = 2\nhigh = \"90%\"\nlow = \"80%\"\nwrite-buffers = 2\nCOSTS",
        ),
        ("page, map own", "map = { kind = \"own\", name = \"cached\", version = \"1\", ram = \"1KiB\" }"),
    ];
    for (name, map) in maps {
        // Each cache comes with a formula, and once more with a registered policy.
        for (suffix, evict) in super::policies::evictions(map.contains("COSTS")) {
            let rest = format!(
                "[host]\nqueue-depth = 12\n[ftl]\nmap-unit = \"512B\"\nover-provisioning = \"66%\"\n{}",
                costs(&map.replace("COSTS", &format!("{evict}\nCOSTS")))
            );
            fixtures.push(fixture(&format!("{name}{suffix}"), FLAT, "channels = 2\nchips = 2\n", &rest));
        }
    }
    let raid = fixture("raid, page", FLAT, "channels = 2\nchips = 2\n", &super::layers::raid_tables());
    let mixed = super::layers::with_kind(raid.spec.clone());
    fixtures.extend([raid, Fixture { name: "raid, two kinds".to_owned(), spec: mixed }]);
    fixtures.push(fixture(
        "translation, zns",
        FLAT,
        "channels = 2\nchips = 2\ncache-across-lists = true\n",
        &super::layers::translation_tables(),
    ));
    for (name, ftl) in super::policies::tables() {
        fixtures.push(fixture(name, PART, "channels = 2\nchips = 2\n", &ftl));
    }
    // The size of an array is a whole number of blocks, so that hardly any other part or number of planes fits it.
    for (name, size) in [("part by its name", "blocks = 12"), ("size of the array", "size = \"1152KiB\"")] {
        fixtures.push(fixture(
            &format!("page, {name}"),
            "",
            &format!("part = \"dirik-2009\"\nchannels = 2\nchips = 3\n{size}\npages = 8\nplanes = 1\n"),
            "[host]\nqueue-depth = 12\n[ftl]\nover-provisioning = \"48%\"\n",
        ));
    }
    let more = super::collection::devices(PART).into_iter().chain(super::slc_cache::devices(PART));
    let more = more.chain(super::errors::devices(PART)).chain(super::power::devices(PART));
    let more = more.chain(super::stripes::devices(PART)).chain(super::placement::devices(PART));
    fixtures.extend(more.map(|(name, part, flash, ftl)| fixture(name, &part, flash, ftl)));
    fixtures.extend(
        super::host_memory::devices().map(|(name, rest)| fixture(name, FLAT, "channels = 2\nchips = 8\n", &rest)),
    );
    fixtures.extend(merging());
    super::own::register_fewest().expect("a name of one version");
    fixtures.push(fixture(
        "own, the fewest valid pages first",
        FLAT,
        "channels = 2\nchips = 2\n",
        "[host]\nqueue-depth = 8\n[ftl]\nkind = \"own:fewest\"\nversion = \"1\"\nover-provisioning = \"50%\"\noptions = { start = 4 }\n",
    ));
    fixtures.extend(FtlKind::EVERY.into_iter().filter_map(sample));
    fixtures
}

/// Creates the devices of the families that do not map pages.
fn merging() -> Vec<Fixture> {
    let hydra = r#"chips = 4
gang = 2
width = 16
channels = 1
blocks = 40
controllers = { background = 2 }
arbitration = { commands = "read-first", bus = "read-first" }
"#;
    let log = "channels = 2\nchips = 2\ncontrollers = \"per-channel\"\n";
    let chang = "channels = 2\nchips = 1\n";
    let mut small: toml::Table = toml::from_str(FLAT).expect("a part");
    small.insert("name".into(), "small".into());
    // `beside` gives the number of blocks in the array instead of the part.
    let slc = |rest: &str, beside: bool| {
        let mut part = small.clone();
        let geometry = part.get_mut("geometry").and_then(toml::Value::as_table_mut).expect("a table");
        geometry.remove("blocks_per_plane");
        if !beside {
            geometry.insert("blocks_per_plane".into(), 8.into());
        }
        let blocks = if beside { "blocks = 8\n" } else { "" };
        format!("{rest}\n[slc]\n{blocks}custom-part = {}\n", toml::Value::Table(part))
    };
    let chains = "[ftl]\nkind = \"chang\"\nover-provisioning = \"50%\"\nwear = { threshold = 3, check-every = 2 }\n";
    vec![
        fixture(
            "hydra, no buffer",
            FLAT,
            hydra,
            r#"[host]
link = "sata-150"
[ftl]
kind = "hydra"
over-provisioning = "75%"
wear = { threshold = 2, check-every = 2 }
hydra = { chips = 2, spare-blocks = 4, replicate = true, processor = { mhz = 50, synthesizer = false, unit-cycles = 70 } }
"#,
        ),
        fixture(
            "hydra, buffer, flushes logged",
            FLAT,
            hydra,
            r#"[buffer]
size = "48KiB"
policy = "superblock"
flush = "log"
max-superblocks = 2
high = "60%"
[ftl]
kind = "hydra"
over-provisioning = "75%"
wear = { threshold = 1, check-every = 1 }
hydra = { chips = 2, processor = { mhz = 50 } }
"#,
        ),
        fixture(
            "hydra, buffer of superblocks",
            FLAT,
            hydra,
            r#"[buffer]
size = "32KiB"
policy = "superblock"
[ftl]
kind = "hydra"
over-provisioning = "75%"
wear = { threshold = 1, check-every = 1 }
hydra = { chips = 2 }
"#,
        ),
        fixture(
            "bast",
            FLAT,
            log,
            "[ftl]\nkind = \"bast\"\nover-provisioning = \"40%\"\nlog = { blocks = 6, parallel = 2 }\n",
        ),
        fixture(
            "fast, buffer",
            FLAT,
            log,
            r#"[buffer]
size = "24KiB"
[ftl]
kind = "fast"
over-provisioning = "40%"
log = { blocks = 6, parallel = 2, striping = "page", erase = "read" }
"#,
        ),
        fixture("chang, plain chains", FLAT, chang, &format!("{chains}chang = {{ mapping-cache = 2 }}\n")),
        fixture(
            "chang, density control",
            FLAT,
            chang,
            &format!(
                "{chains}chang = {{ mapping-cache = 2, density = {{ extra = \"32KiB\", read = \"20us\", program = \"120us\", rank-every = 20 }} }}\n"
            ),
        ),
        fixture("chang, plain pages", FLAT, chang, &format!("{chains}chang = {{ mapping = \"pages\" }}\n")),
        fixture(
            "chang, chains behind SLC",
            FLAT,
            chang,
            &slc(
                &format!(
                    "{chains}chang = {{ mapping-cache = 2, recluster-every = 16, hash-entries = 32, probes = 3, throttle-step = 2, throttle-every = 8 }}"
                ),
                false,
            ),
        ),
        fixture(
            "chang, chains behind SLC, no throttle",
            FLAT,
            chang,
            &slc(
                &format!(
                    "{chains}chang = {{ mapping-cache = 2, recluster-every = 16, hash-entries = 128, throttle = false }}"
                ),
                true,
            ),
        ),
        fixture(
            "chang, pages behind SLC",
            FLAT,
            chang,
            &format!(
                r#"{chains}chang = {{ mapping = "pages", recluster-every = 16, hash-entries = 32, probes = 3 }}
[slc]
part = "K9WAG08U1A"
pages = 4
size = "64KiB"
"#
            ),
        ),
    ]
}

/// Creates a device from the first sample of a family that lists its own samples.
fn sample(kind: FtlKind) -> Option<Fixture> {
    let ftl = kind.samples().into_iter().next()?;
    let plain = fixture("sample", FLAT, "channels = 2\nchips = 2\n", "");
    Some(Fixture { name: format!("sample, {}", kind.name()), spec: Spec { ftl, ..plain.spec } })
}

fn fixture(name: &str, part: &str, flash: &str, rest: &str) -> Fixture {
    let text = format!("name = \"keys\"\n[flash]\n{flash}\n{rest}");
    let mut table: toml::Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {text}: {error}"));
    if !part.is_empty() {
        let mut part: toml::Table = toml::from_str(part).expect("a part");
        let flash = table.get_mut("flash").and_then(toml::Value::as_table_mut).expect("a flash array");
        // Keys that the array gives are removed from the part, where they would be refused.
        for (of_array, inner, key) in [
            ("blocks", "geometry", "blocks_per_plane"),
            ("pages", "geometry", "pages_per_block"),
            ("dies", "geometry", "dies_per_chip"),
            ("lane-rate", "bus", "rate"),
        ] {
            if flash.contains_key(of_array) {
                part.get_mut(inner).and_then(toml::Value::as_table_mut).expect("a table").remove(key);
            }
        }
        flash.insert("custom-part".into(), part.into());
    }
    let spec: Spec = table.try_into().unwrap_or_else(|error| panic!("{name}: {text}: {error}"));
    Fixture { name: name.into(), spec }
}
