//! The measured drives, with the NAND parts and channels of the papers. FMMU-V2 has no command cycles here, as the bare loops have
//! none.

use base::units::{Bytes, Span};
use flash::nand::Part;
use ssd::{MapSpec, Precondition, Spec, Ssd};
use study::catalogue::Device;
use study::session::Session;

/// A drive for reads, with the dimensions of the bare event loop: 16 channels x 8 chips and a full map of 4 Mi entries.
const READS: &str = r#"
name = "reads"
flash = { custom-part = { like = "FMMU-V2", bus.command = "0ns" }, channels = 16, chips = 8, blocks = 20 }
host = { link = "pcie-3-x16", queue-depth = 512 }
ftl = { map-unit = "4KiB", capacity = "16GiB" }
"#;

/// A drive with the same flash, and room for translation pages in every plane group. FMMU's cache of 256 pages holds 6
/// % of the map.
const MAPPED: &str = r#"
name = "mapped"
flash = { custom-part = { like = "FMMU-V2", bus.command = "0ns" }, channels = 16, chips = 8, blocks = 25 }
host = { link = "pcie-3-x16", queue-depth = 512 }
ftl = { map-unit = "4KiB", capacity = "16GiB" }
"#;

/// A drive for writes, like the bare event loop, but with smaller blocks, so that each die has enough of them for
/// garbage collection to choose from: 16 GiB of flash.
const WRITES: &str = r#"
name = "writes"
flash = { custom-part = { like = "FMMU-V2", bus.command = "0ns" }, channels = 16, chips = 8, blocks = 64, pages = 64 }
host = { link = "pcie-3-x16", queue-depth = 512 }
ftl = { map-unit = "4KiB" }
"#;

/// A drive with the chips of Sung's thesis, 2 GiB of them. The cost of a write depends on how many pages of its block
/// are in the log when the block is merged.
const LOGGED: &str = r#"
name = "logged"
flash = { part = "K9XXG08", channels = 4, chips = 2, dies = 1, planes = 1, blocks = 1024, controllers = "per-channel" }
host = { link = "none", queue-depth = 32 }
"#;

/// A large drive with 8 GiB per chip; 16 channels of 8 chips make a drive of 1 TB.
const LARGE: &str = r#"
name = "large"
flash = { custom-part = { like = "FMMU-V2", bus.command = "0ns" }, channels = 16, chips = 8, blocks = 1024 }
host = { link = "pcie-3-x16", queue-depth = 512 }
ftl = { map-unit = "4KiB", over-provisioning = "7%" }
"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// A volatile buffer packs 4 KiB mapping units into programs of 64 KiB.
    Buffered,
    /// Each write is acknowledged after its program of one 4 KiB page.
    Through,
}

fn read(text: &str) -> Spec {
    toml::from_str(text).unwrap_or_else(|error| panic!("a built-in description: {error}"))
}

/// Resolves the device of a TOML text.
pub(crate) fn parsed(text: &str) -> Device {
    device(&read(text))
}

/// Resolves the device of a description.
pub(crate) fn device(spec: &Spec) -> Device {
    let resolved = spec.resolve().unwrap_or_else(|faults| panic!("a built-in description: {faults:?}"));
    Device { name: spec.name.clone(), resolved, replaced: Vec::new() }
}

pub(crate) fn prepared(device: &Device, steps: Vec<Precondition>) -> Ssd<()> {
    let session = Session::new(device).seed(1).precondition(steps);
    session.prepare().unwrap_or_else(|error| panic!("a built-in drive: {error}"))
}

pub(crate) fn full() -> (Device, Ssd<()>) {
    let device = device(&read(READS));
    let drive = prepared(&device, vec![Precondition::Fill]);
    (device, drive)
}

/// Creates a full drive with this map.
pub(crate) fn mapped(map: MapSpec) -> Ssd<()> {
    let mut spec = read(MAPPED);
    spec.ftl.map = map;
    prepared(&device(&spec), vec![Precondition::Fill])
}

/// Creates a drive in the steady state of garbage collection under random writes.
pub(crate) fn steady(over_provisioning: f64, writes: Writes) -> Ssd<()> {
    let mut spec = read(WRITES);
    spec.ftl.over_provisioning = Some(base::units::Ratio::new(over_provisioning));
    match writes {
        Writes::Buffered => spec.buffer = Some(buffer()),
        Writes::Through => write_through(&mut spec),
    }
    prepared(&device(&spec), vec![Precondition::Fill, Precondition::Steady])
}

/// Creates a full drive whose log blocks are all in use: each write that needs a new log block waits for a merge.
pub(crate) fn logged(kind: &str, over_provisioning: &str, log_blocks: u32) -> Ssd<()> {
    let ftl = format!(
        "ftl = {{ kind = \"{kind}\", over-provisioning = \"{over_provisioning}\", log = {{ blocks = {log_blocks} }} }}\n"
    );
    let steps = vec![Precondition::Fill, Precondition::RandomOverwrite(1.0)];
    prepared(&device(&read(&format!("{LOGGED}{ftl}"))), steps)
}

/// Creates a new drive that writes through and works on `depth` requests at once.
pub(crate) fn deep(depth: u32) -> Ssd<()> {
    let mut spec = read(&WRITES.replace("queue-depth = 512", &format!("queue-depth = {depth}")));
    write_through(&mut spec);
    prepared(&device(&spec), Vec::new())
}

/// Resolves a built-in device, with some keys changed.
pub(crate) fn open(name: &str, settings: &[&str]) -> Device {
    Device::open_with(name, settings).unwrap_or_else(|faults| panic!("{name}: {faults}"))
}

/// Creates a new drive of 1 TB, or a smaller one with as many blocks in each die.
pub(crate) fn large(channels: u32, chips: u32) -> Ssd<()> {
    let mut spec = read(LARGE);
    (spec.flash.channels, spec.flash.chips) = (channels, chips);
    prepared(&device(&spec), Vec::new())
}

/// Gives the drive small pages and no buffer.
fn write_through(spec: &mut Spec) {
    spec.flash.part = None;
    let mut part = small_pages();
    (part.geometry.blocks_per_plane, part.geometry.pages_per_block) = (64, 256);
    spec.flash.custom_part = Some(part.into());
    (spec.flash.blocks, spec.flash.pages) = (None, None);
}

fn buffer() -> ssd::BufferSpec {
    toml::from_str("size = \"32MiB\"").unwrap_or_else(|error| panic!("a built-in description: {error}"))
}

/// Returns the part FMMU-V2 with pages of 4 KiB, programmed one by one.
fn small_pages() -> Part {
    let mut part = Part::preset("FMMU-V2").expect("a part that comes with Flashloom");
    part.name = "FMMU-V2 with 4 KiB pages".to_owned();
    part.geometry.page = Bytes::new(4096);
    part.geometry.spare = Bytes::new(384);
    part.timing.one_shot = 1;
    part.bus.command = Span::ZERO;
    part.timing.program = vec![Span::from_us(390)];
    part.features.multi_plane = false;
    part
}
