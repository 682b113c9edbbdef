//! Small drives, each with requests that exercise its FTL family.

use base::io::{Io, IoKind};
use base::units::{Age, Lba, Sectors, Span, Temperature, Time};
use ssd::{Precondition, Spec, Ssd};
use workload::{Arrival, Pacing};

use crate::{FixedDrive, List};

/// A study of a small drive along one axis; tests append claims.
pub const STUDY: &str = "name = \"s\"\ndevice = \"dirik-1x1\"\nworkload = \"dirik-wd\"\nseeds = [1, 2]\n\
    run = { precondition = [\"preload:26KiB:8MiB\"], limit = 150 }\n\
    set = { device = { flash = { size = \"64MiB\" } }, workload = { stream = [{ reads = \"50%\", \
    region = { size = \"8MiB\" }, sizes = [{ size = \"4KiB\" }], address = { pattern = \"uniform\" } }] } }\n\
    metrics = [\"read.mean\", \"write.mean\"]\n\
    [[axis]]\nname = \"banks\"\nkey = \"device.flash.chips\"\nvalues = [1, 2, 4]\n";

/// Claims for [`STUDY`], of which one holds.
pub const CLAIMS: &str = "[[claim]]\nid = \"B2\"\nsays = \"banks help\"\n\
    [[claim.expect]]\nmetric = \"mean\"\nmonotonic = { along = \"banks\", direction = \"falls\" }\n\
    [[claim]]\nid = \"B1\"\nsays = \"banks do harm\"\n\
    [[claim.expect]]\nmetric = \"mean\"\nmonotonic = { along = \"banks\", direction = \"rises\" }\n\
    [[claim.expect]]\nmetric = \"mean\"\nknown = \"they do not\"\n\
    monotonic = { along = \"banks\", direction = \"rises\" }\n";

/// Writes the file of a small page-mapped drive whose blocks wear out after this number of erases; its last table is
/// `[ftl]`.
#[must_use]
pub fn drive_with_endurance(name: &str, endurance: u32) -> String {
    format!(
        "name = \"{name}\"\n[flash]\nchannels = 2\nchips = 1\ncontrollers = \"none\"\nfaults = {{ wear-out = true }}\n\
         [flash.custom-part]\nlike = \"sk-hynix-176l-tlc\"\nname = \"small\"\nendurance = {endurance}\n\
         [flash.custom-part.geometry]\nblocks_per_plane = 24\npages_per_block = 24\n[host]\nqueue-depth = 32\n\
         [ftl]\nmap-unit = \"4KiB\"\ncapacity = \"48MiB\"\n"
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
        "name = \"logged\"\nflash = { part = \"dirik-2009\", channels = 2, chips = 2, blocks = 20, pages = 8 }\n\
         [ftl]\nkind = \"fast\"\nover-provisioning = \"40%\"\nlog = { blocks = 6 }\n",
    );
    let io = |i: u64| Io::new(IoKind::Write, Lba::new(i * 619 % 380 * 4), Sectors::new(4));
    (drive, closed(4, 2_000, io))
}

/// Creates a drive with SLC and MLC flash, with 4,000 writes: most of a page each, to few pages, and some of a block.
#[must_use]
pub fn with_slc() -> (Ssd<()>, List) {
    let drive = filled(
        "name = \"slc-mlc\"\n\
         flash = { part = \"dirik-2009\", channels = 1, chips = 1, blocks = 64, pages = 16, planes = 1 }\n\
         slc = { part = \"dirik-2009\", blocks = 16, pages = 16 }\n[ftl]\nkind = \"chang\"\n\
         over-provisioning = \"40%\"\nchang = { throttle = false }\n",
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
        "name = \"mapped\"\nflash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 40, pages = 16 }}\n\
         [ftl]\nmap-unit = \"1KiB\"\nover-provisioning = \"60%\"\nmap = {map}\n"
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
        "name = \"with errors\"\n[flash]\nchannels = 1\nchips = 2\nblocks = 40\npages = 15\ncontrollers = \"none\"\n\
         ecc = { decode = { rate = \"200MB/s\", latency = \"5us\" }, hard-limit = 176 }\nerrors = { cycles = 2_200 }\n\
         [flash.custom-part]\nlike = \"tlc-72l\"\nname = \"small\"\n[ftl]\nmap-unit = \"4KiB\"\nover-provisioning = \"60%\"\n",
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
        "name = \"suspending\"\n[flash]\npart = \"dirik-2009\"\nchannels = 1\nchips = 2\nblocks = 40\npages = 16\n\
         controllers = \"none\"\nsuspend = { program-time = \"5us\", erase-time = \"20us\" }\n\
         [ftl]\nover-provisioning = \"60%\"\n",
    );
    drive.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {});
    let io =
        |i: u64| Io::new([IoKind::Write, IoKind::Read][i as usize % 2], Lba::new(i * 619 % 400 * 4), Sectors::new(4));
    (drive, closed(8, 2_000, io))
}
