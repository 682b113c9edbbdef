//! Reads every available real trace completely. The traces are outside the repository, because their licences do not
//! allow copies. If they are missing, these tests say so and succeed.

use std::path::{Path, PathBuf};

use base::units::Span;

use super::{Doubt, Event, ExtentRule, Format, NamedUnits, SizeUnit, TraceInfo, TraceOptions, info, open};
use crate::{Pacing, Source};

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.is_dir() {
        println!("skipped: ../shared/traces is absent");
        return None;
    }
    Some(folder)
}

/// The path of a user's input that was once misread or refused; `None` if it is absent.
fn failing(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/failing").join(name);
    if !path.exists() {
        println!("skipped: ../shared/failing/{name} is absent");
        return None;
    }
    Some(path)
}

/// Known numbers of a sample: requests, reads, volumes, inversions, and the span in seconds.
struct Sample {
    path: &'static str,
    format: Format,
    named: bool,
    requests: u64,
    read_percent: f64,
    volumes: usize,
    inversions: u64,
    span_s: f64,
    end_gib: f64,
}

const fn sample(
    path: &'static str,
    format: Format,
    (requests, read_percent, volumes, inversions): (u64, f64, usize, u64),
    (span_s, end_gib): (f64, f64),
) -> Sample {
    let named = matches!(format, Format::DisksimPages);
    Sample { path, format, named, requests, read_percent, volumes, inversions, span_s, end_gib }
}

use Format::{
    Alibaba, Blkparse, Blkreplay, Blktrace, CloudPhysics, Csv, Disksim, DisksimPages, Fiu, Iolog, LibCacheSim, Mqsim,
    Msr, Nexus5, Spc, Systor, Tencent, Thesios, Tracepoints, Vscsi, Wpa,
};

// The numbers were counted by another reader in another language: see the README beside the samples. Comments explain
// differences.
const SAMPLES: &[Sample] = &[
    sample("umass-spc/Financial1_head10k.spc.zst", Spc, (10_000, 40.77, 22, 0), (259.601, 0.478)),
    sample("umass-spc/fin1_leokang.trace.zst", DisksimPages, (50_000, 58.4, 1, 0), (853.403, 0.478)),
    sample("umass-spc/websearch1_leokang.trace.zst", DisksimPages, (50_000, 99.98, 1, 0), (128.661, 16.673)),
    sample("umass-spc/wsrch-small.trace.zst", Mqsim, (24_783, 99.98, 6, 0), (60.055, 16.673)),
    sample("tpc/tpcc-small.trace", Mqsim, (6_999, 62.59, 16, 0), (0.136, 216.731)),
    sample("msr/web_3.csv.zst", Msr, (31_380, 32.03, 1, 0), (594_376.222, 169.579)),
    sample("msr/wdev_1.csv", Msr, (1_055, 0.0, 1, 0), (595_003.214, 50.869)),
    sample("msr/hm_0_7k_window.csv.zst", Msr, (7_016, 82.95, 1, 0), (148.406, 13.883)),
    sample("msr/hm_1_writes.csv.zst", Msr, (13_069, 0.0, 1, 0), (324_327.705, 25.435)),
    sample("msn/MSNFS_30s.trace.zst", Disksim, (149_999, 86.99, 1, 0), (143.068, 169.584)),
    sample("desktop/pcmark.trace.zst", Disksim, (56_088, 74.61, 1, 0), (1_466.26, 105.364)),
    sample("desktop/desktop_leokang.trace.zst", DisksimPages, (32_527, 38.33, 1, 0), (8_877.234, 156.251)),
    sample("desktop/jpeg_copy_leokang.trace.zst", DisksimPages, (47_120, 75.01, 1, 0), (810.149, 429.495)),
    // The clock was set during the recording. Gaps are cut to 10 s below, so the span is Flashloom's own. Six requests
    // on the old clock get another time, so six inversions disappear.
    sample("mobile-nexus5/Booting_log176.txt.zst", Nexus5, (18_417, 66.93, 1, 1_013), (0.0, 29.121)),
    sample("mobile-nexus5/Installing_log181.txt.zst", Nexus5, (17_952, 1.74, 1, 352), (977.827, 27.64)),
    sample("systor17/systor17-traces-sample.csv.gz", Systor, (999, 82.68, 1, 243), (2.448, 4_683.921)),
    sample("tencent/cbs_cloud_storage-sample.bz2", Tencent, (50_000, 49.04, 2_038, 144), (1.0, 1_554.423)),
    sample("cloudphysics/cloudPhysicsIO.vscsi.zst", Vscsi, (113_872, 41.25, 1, 0), (7_200.09, 31.278)),
    sample("cloudphysics/cloudPhysicsIO_us.csv.zst", CloudPhysics, (113_872, 41.25, 1, 0), (7_200.09, 31.278)),
    // blkparse's wrapped time stamps are corrected: 810 s, not 40 years.
    sample("ycsb-rocksdb/blkparseout_ext4.txt.zst", Blkparse, (9_887, 91.42, 1, 824), (810.38, 8.125)),
    // Includes the 344 read-aheads (`RA`) that the other reader skipped.
    sample("blkreplay/linux-webserver-2.load.gz", Blkreplay, (269_007, 55.34, 1, 0), (3_600.95, 720.596)),
    // Includes one read-ahead.
    sample("blkreplay/linux-mysql.load.gz", Blkreplay, (80_794, 8.89, 1, 0), (3_599.89, 30.321)),
    sample("blkparse-text/leveldb_blk_data.txt", Blkparse, (840, 0.0, 1, 1), (30.77, 0.251)),
    sample("blktrace-bin/takeoverjp_sample.blktrace.0.zst", Blktrace, (963, 100.0, 1, 0), (0.345, 1_182.601)),
    sample("fio/smr_iolog_v2.log.zst", Iolog, (9_441, 0.0, 1, 0), (0.0, 1.0)),
    sample("disksim/ascii.trace.zst", Disksim, (100_000, 79.63, 14, 0), (1_532.936, 1.133)),
    sample("desktop/windows10_wpa_excerpt.csv.zst", Wpa, (3_000, 94.833, 1, 0), (0.990, 180.584)),
    sample("fiu/cheetah_mail_1k.blkparse.zst", Fiu, (1_000, 89.8, 1, 0), (0.749, 242.472)),
    sample("blkreplay/two-headers-excerpt.load.gz", Blkreplay, (500, 1.6, 1, 0), (0.200, 23.811)),
    sample("disksim/ssd-postmark-aligned2.trace.zst", Disksim, (62_257, 83.17, 1, 0), (490.437, 21.32)),
];

fn options(sample: &Sample) -> TraceOptions {
    TraceOptions {
        format: sample.named.then_some(sample.format),
        gap_limit: sample.path.contains("Booting").then(|| Span::from_secs(10)),
        ..TraceOptions::default()
    }
}

fn compare(sample: &Sample, info: &TraceInfo, faults: &mut Vec<String>) {
    let mut expect = |what: &str, good: bool, seen: String| {
        if !good {
            faults.push(format!("{}: {what} is {seen}", sample.path));
        }
    };
    expect("format", info.format == sample.format.name(), info.format.to_owned());
    expect("requests", info.requests == sample.requests, info.requests.to_string());
    let reads = info.reads.share * 100.0;
    expect("read share", (reads - sample.read_percent).abs() < 0.08, reads.to_string());
    expect("volumes", info.volumes.len() == sample.volumes, info.volumes.len().to_string());
    expect("inversions", info.stats.inversions == sample.inversions, info.stats.inversions.to_string());
    let free = sample.span_s == 0.0;
    expect("span", free || (info.span_s - sample.span_s).abs() < 0.0101, info.span_s.to_string());
    let end = info.end_byte as f64 / f64::from(1 << 30);
    expect("end", (end - sample.end_gib).abs() < 0.0011, end.to_string());
}

#[test]
fn every_sample_is_read_whole_and_has_its_known_counts() {
    let Some(folder) = folder() else { return };
    let mut faults = Vec::new();
    for sample in SAMPLES {
        match info(&folder.join(sample.path), &options(sample)) {
            Ok(info) => compare(sample, &info, &mut faults),
            Err(error) => faults.push(error.to_string()),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_compacted_sample_is_a_source() {
    let Some(folder) = folder() else { return };
    for sample in SAMPLES {
        let options = TraceOptions { extent: ExtentRule::Compact, ..options(sample) };
        let mut source = open(&folder.join(sample.path), &options).unwrap();
        let (mut arrivals, mut last) = (0, base::units::Time::ZERO);
        while let Some(arrival) = source.next().unwrap() {
            arrivals += 1;
            assert!(arrival.at >= last, "{}: {} after {last}", sample.path, arrival.at);
            last = arrival.at;
        }
        assert!(arrivals >= sample.requests, "{}: {arrivals}", sample.path);
        assert_eq!(matches!(source.pacing(), Pacing::Closed { .. }), sample.format == Iolog, "{}", sample.path);
    }
}

#[test]
fn only_doubtful_guesses_are_reported() {
    let Some(folder) = folder() else { return };
    for sample in SAMPLES.iter().filter(|sample| matches!(sample.format, Disksim | DisksimPages | Mqsim)) {
        // Read as by a user who does not know that sizes are in pages.
        let source = open(&folder.join(sample.path), &TraceOptions::default()).unwrap();
        let units = source.doubts().iter().filter(|doubt| matches!(doubt, Doubt::TimeUnit { .. })).count();
        let pages = source.doubts().iter().any(|doubt| matches!(doubt, Doubt::SizeUnit { .. }));
        let rates = source.doubts().iter().any(|doubt| matches!(doubt, Doubt::Rate { .. }));
        assert_eq!((units, pages, rates), (1, sample.format == DisksimPages, false), "{}", sample.path);
    }
    // Formats that state their units, or have only one convention.
    for sample in SAMPLES.iter().filter(|sample| !matches!(sample.format, Disksim | DisksimPages | Mqsim)) {
        let source = open(&folder.join(sample.path), &options(sample)).unwrap();
        // Five bare numbers fit many formats.
        let wanted = if sample.format == Tencent { &[Doubt::Format { taken: Tencent }][..] } else { &[] };
        assert_eq!(source.doubts(), wanted, "{}", sample.path);
    }
}

#[test]
fn the_unit_page_equals_the_format_in_pages() {
    let Some(folder) = folder() else { return };
    let path = folder.join("umass-spc/fin1_leokang.trace.zst");
    let units = NamedUnits { size: Some(SizeUnit::PAGE), ..NamedUnits::default() };
    let by_unit = info(&path, &TraceOptions { units, ..TraceOptions::default() }).unwrap();
    let by_name = info(&path, &TraceOptions { format: Some(DisksimPages), ..TraceOptions::default() }).unwrap();
    assert_eq!((by_unit.reads, by_unit.writes), (by_name.reads, by_name.writes));
}

#[test]
fn the_cpus_of_a_recording_agree_with_the_issues_another_reader_found() {
    let Some(folder) = folder() else { return };
    let options = TraceOptions { event: Event::Issue, ..TraceOptions::default() };
    let mut source = open(&folder.join("blktrace-bin/keks.blktrace.tar"), &options).unwrap();
    let mut ours = Vec::new();
    while let Some(arrival) = source.next().unwrap() {
        ours.push((arrival.at.as_ps() / 1_000, arrival.io.start.get(), arrival.io.sectors.get()));
    }
    let csv = std::fs::read_to_string(folder.join("blktrace-bin/keks_issue.csv")).unwrap();
    let theirs = csv.lines().skip(1).map(|line| {
        let mut fields = line.split(',').map_while(|field| field.parse::<u64>().ok());
        let mut next = || fields.next().unwrap();
        (next(), next(), next())
    });
    let missing: Vec<_> = theirs.filter(|issue| !ours.contains(issue)).collect();
    assert!(missing.is_empty(), "{} issues are missing, the first {:?}", missing.len(), missing[0]);
    assert_eq!((source.stats().members, source.stats().strangers.len()), (8, 0));
    println!("{} issues", ours.len());
}

/// A user's input, with its numbers of requests, reads and volumes, and its span in milliseconds.
const INPUTS: [(&str, Format, [u64; 4]); 7] = [
    ("alibaba.csv", Alibaba, [6, 2, 5, 0]),
    ("thesios.csv", Thesios, [7, 3, 5, 63]),
    ("libcachesim-cloudphysics-seconds.csv", LibCacheSim, [2_999, 0, 1, 779_000]),
    ("blkparse-pc-events.txt", Blkparse, [673, 161, 1, 449]),
    ("ftrace.txt", Tracepoints, [4, 0, 1, 6_965]),
    ("perfscript.txt", Tracepoints, [2, 2, 1, 0]),
    // fio takes 1.9 s: it counts the waits from its own start, 0.1 s before the job's.
    ("iolog-v2-waits.iolog", Iolog, [10, 10, 1, 1_800]),
];

#[test]
fn inputs_that_were_misread_or_refused_are_read() {
    for (name, format, wanted) in INPUTS {
        let Some(path) = failing(name) else { continue };
        let info = info(&path, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let volumes = info.volumes.len() as u64;
        let found = [info.requests, info.reads.requests, volumes, (info.span_s * 1e3) as u64];
        assert_eq!((info.format, found), (format.name(), wanted), "{name}");
    }
}

#[test]
fn what_an_input_leaves_open_is_doubted() {
    let doubts = |name: &str, columns: Option<&str>, format: Option<Format>| {
        let columns = columns.map(|columns| columns.parse().unwrap());
        let options = TraceOptions { columns, format, ..TraceOptions::default() };
        Some(open(&failing(name)?, &options).unwrap_or_else(|error| panic!("{error}")).doubts().to_vec())
    };
    let seconds = "libcachesim-cloudphysics-seconds.csv";
    if let Some(told) = doubts(seconds, None, None) {
        assert!(matches!(told[..], [Doubt::TimeUnit { format: LibCacheSim, .. }]), "{told:?}");
    }
    if let Some(told) = doubts(seconds, None, Some(CloudPhysics)) {
        assert!(matches!(told[..], [Doubt::Rate { format: CloudPhysics, .. }]), "{told:?}");
    }
    if let Some(told) = doubts("alibaba.csv", Some("time=1:us,op=2,offset=3:B,size=4:B"), None) {
        assert!(matches!(&told[..], [Doubt::Column { role: "time", likely, .. }] if likely == "5"), "{told:?}");
    }
    let sectors = "time=1:s,op=2,offset=3:512B,size=4:B,delimiter=blanks";
    let bytes = "time=1:s,op=2,offset=3:B,size=4:B,delimiter=blanks";
    if let Some(told) = doubts("blkparse-f-short.txt", Some(bytes), None) {
        assert!(matches!(told[..], [Doubt::Alignment { format: Csv, .. }]), "{told:?}");
        assert_eq!(doubts("blkparse-f-short.txt", Some(sectors), None), Some(Vec::new()));
        let error = info(&failing("blkparse-f-short.txt").unwrap(), &TraceOptions::default()).unwrap_err();
        assert!(error.remedy().contains(sectors), "{error}");
    }
    if let Some(path) = failing("foreign-columns.parquet") {
        let columns = "time=timestamp:us,op=op,offset=offset:B,size=size:B".parse().unwrap();
        let read = info(&path, &TraceOptions { columns: Some(columns), ..TraceOptions::default() });
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((read.requests, read.reads.requests, read.doubts), (3, 2, Vec::new()));
    }
}
