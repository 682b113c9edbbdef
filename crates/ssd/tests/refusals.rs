//! A drive that has become read-only refuses discards, writes and flushes. Its reads still return the acknowledged
//! data, from the buffer and from flash.

use std::collections::BTreeMap;

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::{FaultKind, Stamp};
use ssd::{Completion, Drive, QueueId, Request, Spec, Ssd, Status};

const UNIT: u64 = 8;

/// A drive, and the possible contents of each mapping unit: a single one, until a request on the unit is refused.
struct CheckedDrive {
    drive: Ssd<Stamp>,
    holds: BTreeMap<u64, Vec<u64>>,
    stamps: u64,
}

impl CheckedDrive {
    fn new(rest: &str) -> Self {
        let text = format!(
            "name = \"refusals\"\nflash = {{ part = \"K9GAG08U0M\", channels = 1, chips = 2, blocks = 12, pages = 16 }}\n\
             {rest}"
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let drive = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7);
        Self { drive, holds: BTreeMap::new(), stamps: 0 }
    }

    fn request(&mut self, kind: IoKind, unit: u64, data: Vec<Stamp>) -> Completion<Stamp> {
        let io = match kind {
            IoKind::Flush => Io::FLUSH,
            _ => Io::new(kind, Lba::new(unit * UNIT), Sectors::new(UNIT)),
        };
        self.drive.submit(self.drive.now(), Request { tag: unit, queue: QueueId::default(), io, data });
        let mut done = Vec::new();
        while done.is_empty() {
            let at = self.drive.next_event().expect("a request completes");
            self.drive.advance(at, &mut done);
        }
        self.drive.check();
        done.remove(0)
    }

    fn write(&mut self, unit: u64) -> Status {
        self.stamps += 1;
        let status = self.request(IoKind::Write, unit, vec![Stamp(self.stamps); UNIT as usize]).status;
        self.note(unit, self.stamps, status);
        status
    }

    fn discard(&mut self, unit: u64) -> Status {
        let status = self.request(IoKind::Discard, unit, Vec::new()).status;
        self.note(unit, 0, status);
        status
    }

    fn note(&mut self, unit: u64, content: u64, status: Status) {
        let holds = self.holds.entry(unit).or_insert_with(|| vec![0]);
        match status {
            Status::Done => *holds = vec![content],
            _ => holds.push(content),
        }
    }

    /// Reads a unit and compares it. Returns its content.
    fn read(&mut self, unit: u64) -> u64 {
        let read = self.request(IoKind::Read, unit, Vec::new());
        assert_eq!(read.status, Status::Done);
        let got = read.data[0].0;
        assert!(read.data.iter().all(|sector| sector.0 == got), "unit {unit} is a mixture: {:?}", read.data);
        let holds = self.holds.entry(unit).or_insert_with(|| vec![0]);
        assert!(holds.contains(&got), "unit {unit} holds {got}, which must be one of {holds:?}");
        *holds = vec![got];
        got
    }

    fn units(&self) -> u64 {
        self.drive.capacity().get() / UNIT
    }

    /// Fills the drive and flushes. Then all programs fail, and the drive is overwritten until it refuses a write.
    fn wear_out(&mut self) {
        for unit in 0..self.units() {
            assert_eq!(self.write(unit), Status::Done);
        }
        assert_eq!(self.request(IoKind::Flush, 0, Vec::new()).status, Status::Done);
        for nth in 8..4096 {
            self.drive.media_mut().faults_mut().fail_soon(FaultKind::Program, nth);
        }
        let refused = (0..100_000).find(|i| self.write(i * 7 % self.units()) != Status::Done);
        assert!(refused.is_some_and(|i| i > 0), "a write after the flush was acknowledged");
    }
}

const DURABLE: [(&str, &str); 6] = [
    ("a buffer", "buffer = { size = \"64KiB\" }\n[ftl]\nover-provisioning = \"40%\"\ndiscard = \"durable\"\n"),
    (
        "a buffer of superblocks",
        r#"buffer = { size = "128KiB", policy = "superblock", superblock = "32KiB" }
[ftl]
over-provisioning = "40%"
discard = "durable"
"#,
    ),
    (
        "a buffer and a table",
        r#"buffer = { size = "64KiB" }
[ftl]
map = { kind = "table" }
over-provisioning = "40%"
discard = "durable"
"#,
    ),
    (
        "a buffer and a map on flash",
        r#"buffer = { size = "64KiB" }
[ftl]
map = { kind = "dftl" }
over-provisioning = "60%"
discard = "durable"
"#,
    ),
    ("no buffer", "[ftl]\nover-provisioning = \"40%\"\ndiscard = \"durable\"\n"),
    ("a map on flash", "[ftl]\nmap = { kind = \"dftl\" }\nover-provisioning = \"60%\"\ndiscard = \"durable\"\n"),
];

#[test]
fn a_refused_discard_does_not_bring_older_data_back() {
    for (name, rest) in DURABLE {
        println!("{name}");
        let mut checked = CheckedDrive::new(rest);
        checked.wear_out();
        let mut kept = 0;
        for unit in 0..checked.units() {
            let before = checked.read(unit);
            let status = checked.discard(unit);
            let after = checked.read(unit);
            kept += u64::from(status == Status::ReadOnly && after == before);
            // A second discard of the unit must not pass as recorded.
            let again = checked.discard(unit);
            assert!(status == Status::Done || again == Status::ReadOnly, "{name}: unit {unit} is discarded unrecorded");
            checked.read(unit);
        }
        assert!(kept > 0, "{name}: no discard was refused");
    }
}

#[test]
fn refused_writes_and_flushes_leave_what_was_acknowledged() {
    let volatile = DURABLE.map(|(name, rest)| (name, rest.replace("discard = \"durable\"\n", "")));
    let families = ["block", "fast", "bast"].into_iter().flat_map(|kind| {
        let ftl = format!("[ftl]\nkind = \"{kind}\"\nover-provisioning = \"50%\"\n");
        [(kind, ftl.clone()), (kind, format!("buffer = {{ size = \"64KiB\" }}\n{ftl}"))]
    });
    for (name, rest) in volatile.into_iter().chain(families) {
        println!("{name}: {rest}");
        let mut checked = CheckedDrive::new(&rest);
        checked.wear_out();
        let is_buffered = rest.contains("buffer");
        for round in 0..3 {
            for unit in (0..checked.units()).step_by(3) {
                checked.read(unit);
                checked.write(unit);
                checked.read(unit);
            }
            let flush = checked.request(IoKind::Flush, 0, Vec::new()).status;
            assert_eq!(flush, if is_buffered { Status::ReadOnly } else { Status::Done }, "{name}, round {round}");
            for unit in 0..checked.units() {
                checked.read(unit);
            }
        }
    }
}
