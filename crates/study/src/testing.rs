//! What the tests of this crate share.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use ssd::{Counters, Drive, Precondition, QueueId, Spec, Ssd};
use testkit::{FixedDrive, List};
use workload::{Arrival, Pacing};

use crate::oracle::Blank;
use crate::run::{Flow, RunResult, Runner};

/// Counters of a disk that has done nothing up to `at`.
pub(crate) fn counters_at(at: Time) -> Counters {
    Counters { at, ..FixedDrive::<()>::new(Sectors::new(1), 1, Span::from_ps(1)).counters() }
}

/// A disk of four servers that take 100 us each.
pub(crate) fn drive<S: Copy + Default>() -> FixedDrive<S> {
    FixedDrive::new(Sectors::new(1 << 20), 4, Span::from_us(100))
}

/// The result of a closed loop of writes and reads on that disk.
pub(crate) fn a_result() -> RunResult {
    let kinds = [IoKind::Write, IoKind::Read, IoKind::Read, IoKind::Flush];
    let mut source = List::cycle(&kinds, 20_000, 8, 1 << 16, 0, Pacing::Closed { depth: 8 });
    Runner::new().settle(Span::from_secs(1)).run(&mut drive(), &mut source, &mut Blank).expect("it runs")
}

/// The result of two flows on that disk: 1,000 reads and 500 writes, eight and four at once.
pub(crate) fn two_flows() -> RunResult {
    let mut reads = List::cycle(&[IoKind::Read], 1_000, 8, 1 << 16, 0, Pacing::Closed { depth: 8 });
    let mut writes = List::cycle(&[IoKind::Write], 500, 8, 1 << 16, 0, Pacing::Closed { depth: 4 });
    let queue = QueueId::default();
    let flows = vec![
        Flow { name: "reader".into(), source: &mut reads, pacing: None, queue },
        Flow { name: "writer".into(), source: &mut writes, pacing: None, queue },
    ];
    Runner::new().settle(Span::from_secs(1)).run_flows(&mut drive(), flows, &mut Blank).expect("it runs")
}

/// The result of 2,000 overwrites at random on a small drive with log blocks.
pub(crate) fn with_log_blocks() -> RunResult {
    let text = "name = \"logged\"\nflash = { part = \"dirik-2009\", channels = 2, chips = 2, blocks = 20, pages = 8 }\n\
                [ftl]\nkind = \"fast\"\nover-provisioning = \"40%\"\nlog = { blocks = 6 }\n";
    let spec: Spec = toml::from_str(text).expect("a description");
    let mut drive: Ssd<()> = Ssd::new(&spec.resolve().expect("valid"), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    let io = |i: u64| Io { kind: IoKind::Write, start: Lba::new(i * 619 % 380 * 4), sectors: Sectors::new(4) };
    let arrivals = (0..2_000).map(|i| Arrival { at: Time::ZERO, io: io(i) }).collect();
    let mut source = List::new(arrivals, Pacing::Closed { depth: 4 });
    Runner::new().settle(Span::from_secs(10)).run(&mut drive, &mut source, &mut Blank).expect("it runs")
}

/// The result of 4,000 writes on a small hybrid disk: most of a page each, to few pages, and some of a block.
pub(crate) fn with_slc() -> RunResult {
    let text = "name = \"hybrid\"\n\
                flash = { part = \"dirik-2009\", channels = 1, chips = 1, blocks = 64, pages = 16, planes = 1 }\n\
                slc = { part = \"dirik-2009\", blocks = 16, pages = 16 }\n[ftl]\nkind = \"chang\"\n\
                over-provisioning = \"40%\"\nchang = { throttle = false }\n";
    let spec: Spec = toml::from_str(text).expect("a description");
    let mut drive: Ssd<()> = Ssd::new(&spec.resolve().expect("valid"), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    let io = |i: u64| {
        let (start, sectors) = if i.is_multiple_of(8) { (i * 619 % 500, 64) } else { (i * 37 % 20 * 10, 4) };
        Io { kind: IoKind::Write, start: Lba::new(start * 4), sectors: Sectors::new(sectors) }
    };
    let arrivals = (0..4_000).map(|i| Arrival { at: Time::ZERO, io: io(i) }).collect();
    let mut source = List::new(arrivals, Pacing::Closed { depth: 1 });
    Runner::new().settle(Span::from_secs(10)).run(&mut drive, &mut source, &mut Blank).expect("it runs")
}

/// The result of 1,000 writes and as many reads on a small drive with this map, after it was filled and overwritten.
pub(crate) fn with_map(map: &str) -> RunResult {
    let text = format!(
        "name = \"mapped\"\nflash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 40, pages = 16 }}\n\
         [ftl]\nmap-unit = \"1KiB\"\nover-provisioning = \"60%\"\nmap = {map}\n"
    );
    let spec: Spec = toml::from_str(&text).expect("a description");
    let mut drive: Ssd<()> = Ssd::new(&spec.resolve().expect("valid"), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {});
    // One unit each, all over the drive, and each unit read long after it was written.
    let request = |i: u64| Io {
        kind: if i < 1_000 { IoKind::Write } else { IoKind::Read },
        start: Lba::new(i * 619 % 1_000 * 2),
        sectors: Sectors::new(2),
    };
    let arrivals = (0..2_000).map(|i| Arrival { at: Time::ZERO, io: request(i) }).collect();
    let mut source = List::new(arrivals, Pacing::Closed { depth: 8 });
    Runner::new().settle(Span::from_secs(10)).run(&mut drive, &mut source, &mut Blank).expect("it runs")
}
