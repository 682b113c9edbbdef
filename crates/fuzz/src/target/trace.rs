//! Traces: every format by its name and by detection, through every compression.

use std::io::Write;
use std::path::Path;

use base::engine::Rng;
use base::units::Sectors;
use workload::Source;
use workload::trace::{Columns, ExtentRule, Format, TraceOptions, VolumeRule, open};

use crate::{Damage, Target, Verdict, mutate, verdict};

const CAPACITY: Sectors = Sectors::new(1 << 24);

/// Requests read of a trace at most: damage can repeat what is there, not make more.
const REQUESTS: u32 = 100_000;

/// A sound trace of each format, in its text or bytes; `None` for a format that a new line of the registry brought and
/// nobody wrote a sample of.
fn sample(format: Format) -> Option<Vec<u8>> {
    let text = |text: &str| Some(text.as_bytes().to_vec());
    match format.name() {
        "systor" => text(
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,R,0,8991232,131072\n\
            1456095145.226285000,0.008044000,W,1,42560512,4096\n1456095146.000000000,,R,0,512,512\n",
        ),
        "msr" => text(
            "128166372003061629,hm,0,Read,383496192,32768,113736\n128166372016382155,hm,1,Write,2822144,4096,23736\n",
        ),
        "spc" => text("0,303567,3584,w,0.000000\n1,55590,3072,W,0.026214\n2,1234,512,r,0.078643\n"),
        "tencent" => text("1538323200,4247200,128,1,1058\n1538323199,13896880,128,0,1063\n"),
        "blkparse" => text(
            "  8,16   3        4     0.000011950  3645  Q   R 4938888 + 256 [java]\n  8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]\n\
              8,16   1        7     0.001795683  3557  C   R 4938888 + 256 [0]\n  8,0    1        9     1.5 35  Q FWFSM 100 + 8 [jbd2/sda1-8]\nCPU0 (8,16):\n Reads Queued: 1\n",
        ),
        "blkreplay" => text(
            "Copyright\n\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n\
            0.000000000 ;  1234 ; 8 ; R ; 0.0 ; 0.0\n0.100000000 ;  1235 ; 16 ; W ; 0.0 ; 0.0\n",
        ),
        "nexus5" => text(
            "0\t\t8\t\t4096\t\t4\t\t1.740780627\t\t1.740812815\t\t1.740851877\t\t1.741075471\n\
            61071352\t\t8\t\t4096\t\t5\t\t1.741484950\t\t1.741496200\t\t1.741512034\t\t1.741914534\n",
        ),
        "disksim" => text("13.191135 30 0 5 1\n17.829285 20 576560 6 0\n24.314779 17 0 24 1\n"),
        "disksim-pages" => text("13.191135 0 303574 1 1\n17.829285 0 240840 2 0\n"),
        "mqsim" | "ssdsim" => text("938513000 4 264719034 16 0\n938828000 3 197570570 16 1\n"),
        "iolog" => text(
            "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 4096 4096\n/dev/sdb wait 10\n/dev/sdb read 0 512\n/dev/sdb sync\n/dev/sdb close\n",
        ),
        "cloudphysics" => {
            text("version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n1,5633898611441,28,4096,42932746\n")
        }
        "wpa" => text(
            "IO Type;Process (Name);Init Time (s);IO Time (\u{b5}s);Size (B);Min Offset;Disk\r\n\
            Read;b.exe;1,000000300;3,5;16.384;0x0000000000002000;1\r\nWrite;c;1,5;3,5;512;0x1000;1\r\n",
        ),
        "fiu" => text(
            "89966259325410 4892 git commit 508031648 8 W 6 0 0123456789abcdef0123456789abcdef\n\
            89966259325520 4892 sh 508031656 16 R 6 1 0123456789abcdef0123456789abcdef\n",
        ),
        "csv" => text("ts,op,lba,len\n1000,w,16,4096\n2500,r,64,512\n3000,R,0x10,1024\n"),
        "vscsi" => Some(vscsi()),
        "blktrace" => Some(blktrace()),
        "parquet" => Some(parquet()),
        _ => None,
    }
}

/// Records of version 1: serial number, bytes, segments, command, version, lba, time.
fn vscsi() -> Vec<u8> {
    let mut bytes = Vec::new();
    for i in 0..4_u32 {
        for word in [i, 4096, 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(0x2a_u16.to_le_bytes());
        bytes.extend(0x0100_u16.to_le_bytes());
        bytes.extend(u64::from(1000 + i * 8).to_le_bytes());
        bytes.extend(u64::from(5_000_000 + i * 100).to_le_bytes());
    }
    bytes
}

/// `struct blk_io_trace` of version 7, a read queued and completed.
fn blktrace() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, action) in [(1_u32, 0x0011_0001_u32), (2, 0x0011_0007), (3, 0x0011_0008)] {
        bytes.extend(0x6561_7407_u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend((u64::from(number) * 1000).to_le_bytes());
        bytes.extend(2048_u64.to_le_bytes());
        for word in [4096, action, 77, 8 << 20, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([0; 4]);
    }
    bytes
}

/// A trace in our own format, made by conversion.
fn parquet() -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a place");
    let [from, to] = ["t.csv", "t.parquet"].map(|name| dir.path().join(name));
    std::fs::write(&from, sample(Format::Msr).expect("written above")).expect("written");
    let file = std::fs::File::create(&to).expect("created");
    workload::trace::convert(&from, &file, &to, &TraceOptions::default()).expect("converted");
    std::fs::read(to).expect("there")
}

fn read(path: &Path, format: Option<Format>, extent: ExtentRule) -> Verdict {
    // Two volumes in one address space are a choice that a user has to make; here it is made.
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

/// The columns of the sample of CSV.
const COLUMNS: &str = "time=ts:us,op=op,offset=lba:512B,size=len:B";

fn target(format: Format) -> Target {
    let corpus = sample(format).unwrap_or_else(|| panic!("{format}: write a sample of the format"));
    Target {
        name: format!("trace-{format}"),
        corpus: vec![corpus],
        damage: Damage::Bytes(&[",", "R", "W", "Read", "write", "\t", " ", "\n", "#", "-1", "0x10", ".", "1e9"]),
        run: Box::new(move |input, seed, scratch| {
            let path = scratch.file("trace", input);
            let named = (!seed.is_multiple_of(3) || format == Format::Csv).then_some(format);
            let extent = [ExtentRule::Wrap, ExtentRule::Compact, ExtentRule::default()][seed as usize % 3];
            read(&path, named, extent)
        }),
    }
}

/// A damaged trace that is compressed, and half of the time the compressed bytes are damaged, too.
fn compressed() -> Target {
    Target {
        name: "trace-compressed".into(),
        corpus: vec![sample(Format::Spc).expect("written above").repeat(20)],
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
        let member = member.expect("written above");
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

/// Descriptions of columns.
fn columns() -> Target {
    Target {
        name: "trace-columns".into(),
        corpus: vec![
            COLUMNS.as_bytes().to_vec(),
            b"time=1:ms,op=2,offset=3:4KiB,size=4:B,read=r/R,delimiter=;".to_vec(),
        ],
        damage: Damage::Bytes(&["time=", "op=", "volume=", "read=", ":", ",", "/", "100ns", "=", "9999999999"]),
        run: Box::new(|input, _, _| verdict(String::from_utf8_lossy(input).parse::<Columns>())),
    }
}

pub(super) fn targets() -> Vec<Target> {
    Format::ALL.iter().copied().map(target).chain([compressed(), archive(), columns()]).collect()
}
