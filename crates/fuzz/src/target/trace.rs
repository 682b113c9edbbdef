//! Traces: every format by its name and by detection, through every compression.

use std::io::Write;
use std::path::Path;

use base::engine::Rng;
use base::units::Sectors;
use workload::Source;
use workload::trace::{Columns, ExtentRule, Format, TraceOptions, VolumeRule, open};

use crate::{Damage, Target, Verdict, mutate, verdict};

const CAPACITY: Sectors = Sectors::new(1 << 24);

/// The most requests read from a trace: damage can repeat lines but not create many.
const REQUESTS: u32 = 100_000;

/// A valid trace of each format.
fn sample(format: Format) -> Vec<u8> {
    format.sample().unwrap_or_else(parquet)
}

/// A trace in Flashloom's own format, made by conversion.
fn parquet() -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a place");
    let [from, to] = ["t.csv", "t.parquet"].map(|name| dir.path().join(name));
    std::fs::write(&from, sample(Format::Msr)).expect("written");
    let file = std::fs::File::create(&to).expect("created");
    workload::trace::convert(&from, &file, &to, &TraceOptions::default()).expect("converted");
    std::fs::read(to).expect("there")
}

fn read(path: &Path, format: Option<Format>, extent: ExtentRule) -> Verdict {
    // With several volumes the user must choose a rule; this target puts them into one address space.
    let volumes = VolumeRule::Overlay;
    let columns = (format == Some(Format::Csv)).then(|| COLUMNS.parse().expect("sound"));
    let options =
        TraceOptions { format, columns, extent, volumes, capacity: Some(CAPACITY), ..TraceOptions::default() };
    let mut source = match open(path, &options) {
        Ok(source) => source,
        Err(error) => return verdict::<(), _>(Err(error)),
    };
    let mut last = base::units::Time::ZERO;
    for _ in 0..REQUESTS {
        match source.next() {
            Ok(Some(arrival)) => {
                assert!(arrival.at >= last, "time runs backwards");
                assert!(arrival.io.end().get() <= CAPACITY.get(), "beyond the drive");
                last = arrival.at;
            }
            Ok(None) => break,
            Err(error) => return verdict::<(), _>(Err(error)),
        }
    }
    assert!(source.notes().iter().all(|note| !note.is_empty()), "a note that says nothing");
    Verdict::Taken
}

/// The columns of the CSV sample.
const COLUMNS: &str = "time=time:us,op=op,offset=offset:512B,size=size:B";

fn target(format: Format) -> Target {
    Target {
        name: format!("trace-{format}"),
        corpus: vec![sample(format)],
        damage: Damage::Bytes(&[",", "R", "W", "Read", "write", "\t", " ", "\n", "#", "-1", "0x10", ".", "1e9"]),
        run: Box::new(move |input, seed, scratch| {
            let path = scratch.file("trace", input);
            let named = (!seed.is_multiple_of(3) || format == Format::Csv).then_some(format);
            let extent = [ExtentRule::Wrap, ExtentRule::Compact, ExtentRule::default()][seed as usize % 3];
            read(&path, named, extent)
        }),
    }
}

/// A damaged trace in a compressed file; in half of the inputs the compressed bytes are damaged, too.
fn compressed() -> Target {
    Target {
        name: "trace-compressed".into(),
        corpus: vec![sample(Format::Spc).repeat(20)],
        damage: Damage::Bytes(&[]),
        run: Box::new(|input, seed, scratch| {
            let mut rng = Rng::stream(seed, "fuzz.compressed");
            let mut bytes = if rng.chance(0.5) {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(input).expect("memory");
                encoder.finish().expect("memory")
            } else {
                zstd::encode_all(input, 1).expect("memory")
            };
            if rng.chance(0.5) {
                let plain = bytes.clone();
                mutate::damage(&mut rng, &mut bytes, &[], &plain);
            }
            read(&scratch.file("trace", &bytes), None, ExtentRule::Wrap)
        }),
    }
}

/// A tar of two traces.
fn archive() -> Target {
    let mut tar = Vec::new();
    for (name, member) in [("a.spc", sample(Format::Spc)), ("b.spc", sample(Format::Spc))] {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", member.len()).as_bytes());
        header[156] = b'0';
        header[148..156].fill(b' ');
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(header);
        tar.extend(&member);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.extend([0; 1024]);
    Target {
        name: "trace-tar".into(),
        corpus: vec![tar],
        damage: Damage::Bytes(&["ustar", "0000001", "7777777777", "\0", "L", "x"]),
        run: Box::new(|input, _, scratch| read(&scratch.file("trace.tar", input), None, ExtentRule::Wrap)),
    }
}

/// The target of descriptions of CSV columns.
fn columns() -> Target {
    Target {
        name: "trace-columns".into(),
        corpus: vec![
            COLUMNS.as_bytes().to_vec(),
            b"time=1:ms,op=2,offset=3:4KiB,size=4:B,read=r/R,delimiter=;".to_vec(),
        ],
        damage: Damage::Bytes(&[
            "time=",
            "op=",
            "volume=",
            "placement=",
            "read=",
            ":",
            ",",
            "/",
            "100ns",
            "=",
            "9999999999",
        ]),
        run: Box::new(|input, _, _| verdict(String::from_utf8_lossy(input).parse::<Columns>())),
    }
}

pub(super) fn targets() -> Vec<Target> {
    Format::ALL.iter().copied().map(target).chain([compressed(), archive(), columns()]).collect()
}
