//! Small drives, each with requests that exercise its FTL family.

use base::io::{Io, IoKind};
use base::units::{Age, Lba, Sectors, Span, Temperature, Time};
use ssd::{Precondition, Spec, Ssd};
use workload::{Arrival, Pacing};

use crate::{FixedDrive, List};

/// A study of a small drive along one axis; tests append claims.
pub const STUDY: &str = r#"name = "s"
device = "dirik-1x1"
workload = "dirik-wd"
seeds = [1, 2]
run = { precondition = ["preload:26KiB:8MiB"], limit = 150 }
set = { device = { flash = { size = "64MiB" } }, workload = { stream = [{ reads = "50%", region = { size = "8MiB" }, sizes = [{ size = "4KiB" }], address = { pattern = "uniform" } }] } }
metrics = ["read.mean", "write.mean"]
[[axis]]
name = "banks"
key = "device.flash.chips"
values = [1, 2, 4]
"#;

/// Claims for [`STUDY`], of which one holds.
pub const CLAIMS: &str = r#"[[claim]]
id = "B2"
says = "banks help"
[[claim.expect]]
metric = "mean"
monotonic = { along = "banks", direction = "falls" }
[[claim]]
id = "B1"
says = "banks do harm"
[[claim.expect]]
metric = "mean"
monotonic = { along = "banks", direction = "rises" }
[[claim.expect]]
metric = "mean"
known = "they do not"
monotonic = { along = "banks", direction = "rises" }
"#;

/// Writes the file of a small page-mapped drive whose blocks wear out after this number of erases; its last table is
/// `[ftl]`.
#[must_use]
pub fn drive_with_endurance(name: &str, endurance: u32) -> String {
    format!(
        r#"name = "{name}"
[flash]
channels = 2
chips = 1
controllers = "none"
faults = {{ wear-out = true }}
[flash.custom-part]
like = "sk-hynix-176l-tlc"
name = "small"
endurance = {endurance}
[flash.custom-part.geometry]
blocks_per_plane = 24
pages_per_block = 24
[host]
queue-depth = 32
[ftl]
map-unit = "4KiB"
capacity = "48MiB"
"#
    )
}

/// Creates a drive with four servers and a service time of 100 us.
#[must_use]
pub fn four_servers<S: Copy + Default>() -> FixedDrive<S> {
    FixedDrive::new(Sectors::new(1 << 20), 4, Span::from_us(100))
}

/// Creates the four servers with a closed loop of writes, reads and flushes.
#[must_use]
pub fn mixed() -> (FixedDrive<()>, List) {
    let kinds = [IoKind::Write, IoKind::Read, IoKind::Read, IoKind::Flush];
    (four_servers(), List::cycle(&kinds, 20_000, 8, 1 << 16, 0, Pacing::Closed { depth: 8 }))
}

/// Creates the four servers with two named flows: 1,000 reads, eight at once, and 500 writes, four at once.
#[must_use]
pub fn two_flows() -> (FixedDrive<()>, [(&'static str, List); 2]) {
    let flow = |kind, count, depth| List::cycle(&[kind], count, 8, 1 << 16, 0, Pacing::Closed { depth });
    (four_servers(), [("reader", flow(IoKind::Read, 1_000, 8)), ("writer", flow(IoKind::Write, 500, 4))])
}

/// Creates a drive from its description and fills it.
fn filled(text: &str) -> Ssd<()> {
    let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut drive: Ssd<()> = Ssd::new(&spec.resolve().expect("valid"), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive
}

/// Creates a closed loop of `count` requests.
fn closed(depth: u32, count: u64, io: impl Fn(u64) -> Io) -> List {
    List::new((0..count).map(|i| Arrival::new(Time::ZERO, io(i))).collect(), Pacing::Closed { depth })
}

/// Creates a log-block drive with 2,000 random overwrites.
#[must_use]
pub fn with_log_blocks() -> (Ssd<()>, List) {
    let drive = filled(
        r#"name = "logged"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 20, pages = 8 }
[ftl]
kind = "fast"
over-provisioning = "40%"
log = { blocks = 6 }
"#,
    );
    let io = |i: u64| Io::new(IoKind::Write, Lba::new(i * 619 % 380 * 4), Sectors::new(4));
    (drive, closed(4, 2_000, io))
}

/// Creates a drive with SLC and MLC flash, with 4,000 writes: most of a page each, to few pages, and some of a block.
#[must_use]
pub fn with_slc() -> (Ssd<()>, List) {
    let drive = filled(
        r#"name = "slc-mlc"
flash = { part = "dirik-2009", channels = 1, chips = 1, blocks = 64, pages = 16, planes = 1 }
slc = { part = "dirik-2009", blocks = 16, pages = 16 }
[ftl]
kind = "chang"
over-provisioning = "40%"
chang = { throttle = false }
"#,
    );
    let io = |i: u64| {
        let (start, sectors) = if i.is_multiple_of(8) { (i * 619 % 500, 64) } else { (i * 37 % 20 * 10, 4) };
        Io::new(IoKind::Write, Lba::new(start * 4), Sectors::new(sectors))
    };
    (drive, closed(1, 4_000, io))
}

/// Creates an overwritten drive with this map, with 1,000 writes and as many reads.
#[must_use]
pub fn with_map(map: &str) -> (Ssd<()>, List) {
    let mut drive = filled(&format!(
        r#"name = "mapped"
flash = {{ part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }}
[ftl]
map-unit = "1KiB"
over-provisioning = "60%"
map = {map}
"#
    ));
    drive.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {});
    // Requests of one mapping unit are spread over the drive, and each unit is read long after it was written.
    let io = |i: u64| {
        Io::new(if i < 1_000 { IoKind::Write } else { IoKind::Read }, Lba::new(i * 619 % 1_000 * 2), Sectors::new(2))
    };
    (drive, closed(8, 2_000, io))
}

/// Creates a small drive of which a third of the codewords need a retry, with reads and writes.
#[must_use]
pub fn with_errors() -> (Ssd<()>, List) {
    let mut drive = filled(
        r#"name = "with errors"
[flash]
channels = 1
chips = 2
blocks = 40
pages = 15
controllers = "none"
ecc = { decode = { rate = "200MB/s", latency = "5us" }, hard-limit = 176 }
errors = { cycles = 2_200 }
[flash.custom-part]
like = "tlc-72l"
name = "small"
[ftl]
map-unit = "4KiB"
over-provisioning = "60%"
"#,
    );
    drive.age(Age::from_days(5), Temperature::from_celsius(40));
    let io = |i: u64| {
        Io::new(
            [IoKind::Write, IoKind::Read, IoKind::Read][i as usize % 3],
            Lba::new(i * 619 % 400 * 8),
            Sectors::new(8),
        )
    };
    (drive, closed(8, 3_000, io))
}

/// Creates an overwritten drive that suspends programs and erases, with alternating reads and writes.
#[must_use]
pub fn suspending() -> (Ssd<()>, List) {
    let mut drive = filled(
        r#"name = "suspending"
[flash]
part = "dirik-2009"
channels = 1
chips = 2
blocks = 40
pages = 16
controllers = "none"
suspend = { program-time = "5us", erase-time = "20us" }
[ftl]
over-provisioning = "60%"
"#,
    );
    drive.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {});
    let io =
        |i: u64| Io::new([IoKind::Write, IoKind::Read][i as usize % 2], Lba::new(i * 619 % 400 * 4), Sectors::new(4));
    (drive, closed(8, 2_000, io))
}
