//! Linux in QEMU, whose NVMe disk is the served drive: the guest's blktrace and the drive's recording must have the same requests.
//! If a program or a kernel is missing, the test prints that it tested nothing.

use std::path::Path;
use std::process::Command;

use base::io::{Io, IoKind};
use workload::Source;
use workload::trace::{Event, TraceOptions};

use crate::common::{WorkFolder, program};
use crate::shown::root;

/// The lengths in sectors of the reads with which the guest marks the beginning and the end. No other read has these lengths.
const MARKS: [u64; 2] = [7, 5];

/// The requests of a trace between the marks.
fn between_marks(path: &Path, event: Event) -> Vec<Io> {
    let options = TraceOptions { event, ..TraceOptions::default() };
    let mut source = workload::trace::open(path, &options).unwrap_or_else(|failure| panic!("{failure}"));
    let all: Vec<_> = std::iter::from_fn(|| source.next().expect("sound")).map(|arrival| arrival.io).collect();
    let [first, last] = MARKS.map(|sectors| {
        let is_mark = |io: &&Io| io.kind == IoKind::Read && io.sectors.get() == sectors;
        assert_eq!(all.iter().filter(is_mark).count(), 1, "reads of {sectors} sectors in {}", path.display());
        all.iter().position(|io| is_mark(&io)).expect("one")
    });
    all[first..=last].to_vec()
}

/// The extents of the requests of a kind, in order of their addresses.
fn extents(of: &[Io], kind: IoKind) -> Vec<[u64; 2]> {
    let mut extents: Vec<_> =
        of.iter().filter(|io| io.kind == kind).map(|io| [io.start.get(), io.sectors.get()]).collect();
    extents.sort_unstable();
    extents
}

#[test]
fn what_a_guest_lacks_is_said() {
    let mut run = Command::new(root().join(".ci/guest/run"));
    let asked = run.arg("--missing").env("FLASHLOOM_GUEST_KERNEL", "/none").output().expect("it starts");
    let missing = String::from_utf8_lossy(&asked.stdout);
    assert!(asked.status.success() && missing.contains("a kernel (.ci/guest/kernel fetches one)"), "{asked:?}");
}

#[test]
fn a_guest_keeps_its_files_and_traces_what_the_drive_records() {
    let run = root().join(".ci/guest/run");
    let asked = Command::new(&run).arg("--missing").output().expect("it starts");
    assert!(asked.status.success(), "{asked:?}");
    let missing = String::from_utf8_lossy(&asked.stdout);
    if !missing.trim().is_empty() {
        println!("NOT TESTED: no guest has used a served drive; missing:{}", missing.trim_end());
        return;
    }
    let place = WorkFolder::with(&[]);
    let command = format!("'{}' \"$unixsocket\" guest", run.display());
    let output = place.flashloom(&["serve", "demo", "--pace", "max", "--record", "drive.parquet", "--run", &command]);
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{said:?}");
    assert!(said[0].contains("20 files are as the guest wrote them"), "{said:?}");
    assert_eq!(place.read("guest/dropped").trim(), "0", "blktrace has lost events");

    let drive = between_marks(&place.path("drive.parquet"), Event::Auto);
    let [queued, issued] =
        [Event::Queue, Event::Issue].map(|event| between_marks(&place.path("guest/drive.blktrace"), event));
    let sectors = |of: &[Io], kind| extents(of, kind).iter().map(|[_, sectors]| sectors).sum::<u64>();
    for kind in [IoKind::Read, IoKind::Write] {
        assert_eq!(extents(&issued, kind), extents(&drive, kind), "{}", kind.name());
        assert!(extents(&drive, kind).len() > 50, "{}", kind.name());
        // The kernel merges requests that are queued, and drops none.
        assert!(extents(&queued, kind).len() >= extents(&issued, kind).len(), "{}", kind.name());
        assert_eq!(sectors(&queued, kind), sectors(&drive, kind), "{}", kind.name());
    }
    // A command may discard several ranges, each of which is a request of the drive.
    assert!(extents(&drive, IoKind::Discard).len() > 10);
    for of in [&queued, &issued] {
        assert_eq!(sectors(of, IoKind::Discard), sectors(&drive, IoKind::Discard));
    }
    // If QEMU passes forced unit access on, the drive adds a flush for each such write.
    let flushes = |of: &[Io]| extents(of, IoKind::Flush).len();
    assert!(flushes(&issued) > 10 && flushes(&drive) >= flushes(&issued), "{} {}", flushes(&issued), flushes(&drive));
    for (name, of) in [("queued", &queued), ("issued", &issued), ("drive", &drive)] {
        let counts = IoKind::ALL
            .map(|kind| format!("{} {} of {} sectors", extents(of, kind).len(), kind.name(), sectors(of, kind)));
        println!("{name}: {}", counts.join(", "));
    }
}

/// Lets a guest use a drive over NVMe/TCP with Debian's tools. The guest and the drive lose their power; a second guest checks that
/// promised data is there. With `passing`, the power of the drive is cut once more after that many files, and comes back while the
/// first guest goes on. The first guest's output about the drive must contain the texts `shown`.
fn uses_over_nvme(kind: &str, serve: &[&str], passing: Option<u32>, shown: &[&str]) {
    let run = root().join(".ci/guest/nvme/run");
    let asked = Command::new(&run).arg("--missing").output().expect("it starts");
    assert!(asked.status.success(), "{asked:?}");
    let missing = String::from_utf8_lossy(&asked.stdout);
    if !missing.trim().is_empty() {
        println!("NOT TESTED: no guest has used a served drive over NVMe/TCP ({kind}); missing:{}", missing.trim_end());
        return;
    }
    let device = |name: &str, changes: &[(&str, &str)]| {
        let text = std::fs::read_to_string(root().join("devices").join(name)).expect("a device");
        changes.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "{name} has no `{from}`");
            text.replace(from, to)
        })
    };
    // fsck.f2fs 1.15 miscounts the free segments of zones whose capacity is less than their size, so these zones have equal ones.
    let whole = [("pages = 96", "pages = 132"), ("\"2256MiB\"", "\"3008MiB\""), ("\"24MiB\"", "\"32MiB\"")];
    let place = WorkFolder::with(&[
        ("unbuffered.toml", &device("demo.toml", &[("[buffer]\nsize = \"8MiB\"\n", "")])),
        ("whole-zones.toml", &device("demo-zones.toml", &whole)),
    ]);
    let flashloom = program();
    let flashloom = flashloom.get_program().display();
    let files = passing.map_or_else(String::new, |files| files.to_string());
    let command = format!("FLASHLOOM='{flashloom}' '{}' {kind} drive.ctl guest {files}", run.display());
    let own = ["--nvme", "127.0.0.1:0", "--pace", "max", "--control", "drive.ctl", "--run", &command];
    let output = place.flashloom(&[&["serve"], serve, &own].concat());
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{said:?}");
    assert!(said[0].contains("20 files were acknowledged"), "{said:?}");
    let (first, second) = (place.read("guest/first.log"), place.read("guest/second.log"));
    for text in shown {
        assert!(first.contains(text), "{text}: {first}");
    }
    let cuts = 1 + u32::from(passing.is_some());
    let cycles = format!("power_cycles\t\t\t\t: {}", cuts + 1);
    let unsafe_shutdowns = format!("unsafe_shutdowns\t\t\t: {cuts}");
    assert!(second.contains(&cycles) && second.contains(&unsafe_shutdowns), "{second}");
}

#[test]
fn a_guest_uses_a_drive_over_nvme_and_keeps_its_files_over_a_power_cut() {
    let shown = ["Flashloom demo", "NCQA): 2", "Data Units Written\t\t\t: ", "NVMe Flush: success", "LBA Out of Range"];
    uses_over_nvme("conventional", &["demo", "--verify"], None, &shown);
}

#[test]
fn a_guest_uses_the_zones_of_a_drive_and_keeps_its_files_over_a_power_cut() {
    let shown = ["nr_zones: 94", "Success appended data to LBA 0", "State: 0xe0", "Zone Invalid Write", "zcond: 1(em)"];
    uses_over_nvme("zoned", &["demo-zones", "--verify"], None, &shown);
}

#[test]
fn a_guest_places_its_data_and_goes_on_after_a_power_cut() {
    let shown = [
        "Number of Reclaim Unit Handles: 4",
        "[3]: Initially Isolated",
        "update: Success",
        "0x0 (Reclaim Unit Not Fully",
        "(MBMW): ",
    ];
    let drive = ["unbuffered.toml", "--set", "ftl.superblock-dies=4", "--set", "ftl.fdp.handles=4", "--verify"];
    uses_over_nvme("placement", &drive, Some(8), &shown);
}

#[test]
fn a_guest_has_a_file_system_on_two_namespaces_and_keeps_its_files_over_a_power_cut() {
    let shown = ["/dev/nvme1n2", "endgidmax : 2", "Success appended data to LBA 0", "WP: 0x10"];
    let drives = ["--export", "tables=demo", "--export", "logs=whole-zones.toml", "--nvme-block", "4KiB", "--verify"];
    uses_over_nvme("several", &drives, None, &shown);
}
