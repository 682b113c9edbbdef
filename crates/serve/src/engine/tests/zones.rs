//! A served drive with zones: appends, actions, failures with their reasons, and a recording that replays.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::channel;

use base::engine::Rng;
use ssd::{ZoneAction, ZoneReport, ZoneState};

use super::*;
use crate::record::RequestRow;
use crate::{JobResult, ZoneQuery};

/// Zones of 64 units of 2 KiB, of which four may be open and six active.
pub(super) const ZONED: &str = r#"name = "zoned"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }
ftl = { kind = "zns", map-unit = "2KiB", zns = { max-open = 4, max-active = 6 } }
"#;

pub(crate) fn zoned(more: &str) -> Device {
    Device::parse(format!("{ZONED}{more}")).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Sectors of a mapping unit.
const UNIT: u64 = 4;

struct ZonedDrive {
    bench: Bench,
    /// Sectors from the start of a zone to the start of the next, and sectors of a zone that can be written.
    size: u64,
    capacity: u64,
    addresses: Arc<Mutex<HashMap<u64, Option<Lba>>>>,
}

impl ZonedDrive {
    fn new(more: &str, seed: u64) -> Self {
        let device = zoned(more);
        let shape = device.resolved.zones.expect("it has zones");
        let sectors = u64::from(device.resolved.geometry.sectors);
        assert_eq!(sectors, UNIT);
        let core = Core::new(Box::new(Ssd::new(&device.resolved, seed)), CutPolicy::End);
        let (size, capacity) = (u64::from(shape.size) * UNIT, u64::from(shape.capacity) * UNIT);
        Self { bench: Bench::new(core), size, capacity, addresses: Arc::default() }
    }

    fn append(&mut self, zone: u64, byte: u8, units: u64) -> u64 {
        let (given, addresses) = (Arc::clone(&self.bench.given), Arc::clone(&self.addresses));
        let number = self.bench.jobs;
        self.bench.jobs += 1;
        let data = vec![byte; (units * UNIT * 512) as usize];
        let answer = move |result: Result<JobResult, JobFailure>| {
            let address = result.as_ref().ok().and_then(|returned| returned.address);
            addresses.lock().expect("no panic").insert(number, address);
            given.lock().expect("no panic").push((number, result.map(|returned| returned.data)));
        };
        let none = Job::new(Operation::Append { data, fua: false }, Lba::new(0), Sectors::new(0), |_| {});
        let (start, sectors) = (Lba::new(zone * self.size), Sectors::new(units * UNIT));
        let job = Job { start, sectors, answer: Box::new(answer), ..none };
        self.bench.core.submit(self.bench.now, job, &mut self.bench.answers);
        number
    }

    fn manage(&mut self, action: ZoneAction, zone: u64) -> Result<(), JobFailure> {
        self.bench.alone(Operation::ManageZone(action), zone * self.size, 0).map(drop)
    }

    fn manage_all(&mut self, action: ZoneAction) -> Result<(), JobFailure> {
        self.bench.alone(Operation::ManageZones(action), 0, 0).map(drop)
    }

    fn write(&mut self, sector: u64, byte: u8, units: u64) -> Result<(), JobFailure> {
        let data = vec![byte; (units * UNIT * 512) as usize];
        self.bench.alone(Operation::Write { data, fua: false }, sector, units * UNIT).map(drop)
    }

    fn reports(&mut self, from: u64) -> Result<Vec<ZoneReport>, JobFailure> {
        let (to, reports) = channel();
        let answer = Box::new(move |result| to.send(result).expect("the test waits"));
        self.bench.core.zones(ZoneQuery { from: Lba::new(from), answer });
        reports.try_recv().expect("it is answered")
    }

    fn states(&mut self) -> Vec<ZoneState> {
        self.reports(0).expect("zones").iter().map(|report| report.state).collect()
    }
}

#[test]
fn appends_under_way_together_get_addresses_one_behind_the_other() {
    let mut zoned = ZonedDrive::new("", 1);
    let size = zoned.size;
    let numbers: Vec<u64> = (0..4).map(|n| zoned.append(2, n + 1, 2)).collect();
    let results = zoned.bench.drain();
    assert!(results.iter().all(|(.., result)| result.is_ok()), "{results:?}");
    let addresses = Arc::clone(&zoned.addresses);
    let at: Vec<u64> =
        numbers.iter().map(|n| addresses.lock().expect("no panic")[n].expect("an address").get()).collect();
    assert_eq!(at, [0, 2, 4, 6].map(|unit| 2 * size + unit * UNIT));
    for (n, at) in (1..).zip(at) {
        assert_eq!((zoned.bench.byte(at), zoned.bench.byte(at + 2 * UNIT - 1)), (n, n));
    }
    let report = zoned.reports(2 * size + 5).expect("zones")[0];
    assert_eq!(
        (report.state, u64::from(report.write_pointer.get()) * UNIT),
        (ZoneState::ImplicitlyOpen, 2 * size + 8 * UNIT)
    );
}

#[test]
fn each_failure_has_its_reason() {
    let mut zoned = ZonedDrive::new("", 2);
    let (size, capacity) = (zoned.size, zoned.capacity);
    assert_eq!(zoned.write(UNIT, 1, 1), Err(JobFailure::Drive(ssd::Status::ZoneInvalidWrite)));
    assert_eq!(zoned.write(0, 1, capacity / UNIT + 1), Err(JobFailure::Drive(ssd::Status::ZoneBoundary)));
    assert_eq!(
        zoned.bench.alone(Operation::Write { data: vec![0; 512], fua: false }, 0, 1),
        Err(JobFailure::Drive(ssd::Status::InvalidField))
    );
    assert_eq!(zoned.bench.alone(Operation::Discard, 0, UNIT), Err(JobFailure::Drive(ssd::Status::InvalidOpcode)));
    assert_eq!(zoned.manage(ZoneAction::Close, 0), Err(JobFailure::Drive(ssd::Status::InvalidZoneTransition)));
    assert_eq!(zoned.manage(ZoneAction::FlushZrwa, 0), Err(JobFailure::Drive(ssd::Status::InvalidZoneOperation)));
    assert_eq!(zoned.manage(ZoneAction::Finish, 0), Ok(()));
    assert_eq!(zoned.write(0, 1, 1), Err(JobFailure::Drive(ssd::Status::ZoneFull)));
    (1..5).for_each(|zone| assert_eq!(zoned.manage(ZoneAction::Open, zone), Ok(())));
    assert_eq!(zoned.manage(ZoneAction::Open, 5), Err(JobFailure::Drive(ssd::Status::TooManyOpenZones)));
    (1..5).for_each(|zone| assert_eq!(zoned.write(zone * size, 1, 1), Ok(())));
    assert_eq!(zoned.manage_all(ZoneAction::Close), Ok(()));
    (5..7).for_each(|zone| assert_eq!(zoned.write(zone * size, 1, 1), Ok(())));
    assert_eq!(zoned.write(7 * size, 1, 1), Err(JobFailure::Drive(ssd::Status::TooManyActiveZones)));
    let end = zoned.bench.core.capacity().get();
    assert_eq!(
        zoned.bench.alone(Operation::ManageZone(ZoneAction::Reset), end, 0),
        Err(JobFailure::Drive(ssd::Status::OutOfRange))
    );
    assert_eq!(zoned.reports(end), Err(JobFailure::Drive(ssd::Status::OutOfRange)));
    let mut plain = Bench::new(core("", CutPolicy::End));
    assert_eq!(
        plain.alone(Operation::ManageZones(ZoneAction::Reset), 0, 0),
        Err(JobFailure::Drive(ssd::Status::InvalidOpcode))
    );
}

#[test]
fn an_action_on_all_zones_concerns_those_in_the_right_state() {
    let mut zoned = ZonedDrive::new("", 3);
    let size = zoned.size;
    (1..4).for_each(|zone| assert_eq!(zoned.write(zone * size, zone as u8, 2), Ok(())));
    assert_eq!(zoned.manage(ZoneAction::Finish, 5), Ok(()));
    assert_eq!(zoned.manage_all(ZoneAction::Close), Ok(()));
    use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen};
    assert_eq!(zoned.states()[..6], [Empty, Closed, Closed, Closed, Empty, Full]);
    assert_eq!(zoned.write(2 * size + 2 * UNIT, 2, 1), Ok(()), "a write opens a closed zone");
    assert_eq!(zoned.manage_all(ZoneAction::Open), Ok(()));
    assert_eq!(zoned.states()[..6], [Empty, ExplicitlyOpen, ImplicitlyOpen, ExplicitlyOpen, Empty, Full]);
    assert_eq!(zoned.manage(ZoneAction::Close, 3), Ok(()));
    assert_eq!(zoned.manage_all(ZoneAction::Finish), Ok(()));
    assert_eq!(zoned.states()[..6], [Empty, Full, Full, Full, Empty, Full]);
    assert_eq!(zoned.bench.byte(2 * size), 2);
    assert_eq!(zoned.manage_all(ZoneAction::Reset), Ok(()));
    assert!(zoned.states().iter().all(|state| *state == Empty));
    assert_eq!(zoned.bench.byte(2 * size), 0, "a reset zone reads as zeros");
    assert_eq!(zoned.manage_all(ZoneAction::Reset), Ok(()), "there is nothing to do");
}

#[test]
fn zeros_are_written_behind_the_write_pointer() {
    let mut zoned = ZonedDrive::new("", 4);
    let units = zoned.capacity / UNIT;
    assert_eq!(zoned.write(0, 7, 1), Ok(()));
    let left = (units - 1) * UNIT;
    assert_eq!(zoned.bench.alone(Operation::WriteZeroes { fua: true }, UNIT, left), Ok(Vec::new()));
    assert_eq!(zoned.states()[0], ZoneState::Full);
    assert_eq!((zoned.bench.byte(0), zoned.bench.byte(UNIT)), (7, 0));
}

/// Random jobs on zones, as by clients in a closed loop.
fn served(core: Core, path: &Path, seed: u64) -> (Vec<RequestRow>, u64) {
    let mut zoned = ZonedDrive { bench: Bench::new(core), ..ZonedDrive::new("", seed) };
    let (to, groups) = channel();
    zoned.bench.core.record(crate::record::RequestCollector::new(to));
    let mut rng = Rng::stream(seed, "serve.zones");
    let zones = zoned.bench.core.capacity().get() / zoned.size;
    let (mut outstanding, mut hash) = (0, 0);
    for step in 0..900 {
        if outstanding < 12 && (step == 0 || rng.below(3) > 0) {
            let zone = rng.below(zones.min(7));
            let start = zone * zoned.size;
            match rng.below(12) {
                0..3 => {
                    zoned.bench.submit(Operation::Read, start + rng.below(zoned.capacity - 9), 1 + rng.below(9));
                }
                3..8 => {
                    zoned.append(zone, 1, 1 + rng.below(4));
                }
                8 => {
                    let pointer = u64::from(zoned.reports(start).expect("zones")[0].write_pointer.get()) * UNIT;
                    zoned.bench.write(pointer.min(zones * zoned.size - UNIT), 2, UNIT, rng.below(2) == 0);
                }
                9 => {
                    let all = [ZoneAction::Open, ZoneAction::Close, ZoneAction::Finish, ZoneAction::Reset];
                    let action = all[rng.below(4) as usize];
                    zoned.bench.submit(Operation::ManageZone(action), start, 0);
                }
                10 => {
                    zoned.bench.submit(Operation::ManageZones(ZoneAction::Close), 0, 0);
                }
                _ => {
                    zoned.bench.submit(Operation::Flush, 0, 0);
                }
            }
            outstanding += 1;
        } else if let Some(at) = zoned.bench.core.next_event() {
            zoned.bench.now = zoned.bench.now.max(at);
            outstanding -= zoned.bench.advance(Span::ZERO).len();
        } else {
            outstanding -= zoned.bench.advance(Span::ZERO).len();
        }
    }
    outstanding -= zoned.bench.results().len();
    while outstanding > 0 {
        zoned.bench.now = zoned.bench.now.max(zoned.bench.core.next_event().expect("jobs are under way"));
        outstanding -= zoned.bench.advance(Span::ZERO).len();
        hash = zoned.bench.core.drive().counters().event_hash;
    }
    zoned.bench.core.end(&mut zoned.bench.answers);
    let rows: Vec<RequestRow> = groups.try_iter().flatten().collect();
    super::replay::write(&rows, path);
    (rows, hash)
}

#[test]
fn a_recording_of_zones_run_again_has_the_same_events_and_latencies() {
    for seed in 0..4 {
        super::replay::check_with(served, "zoned", zoned("").resolved, seed);
    }
}
