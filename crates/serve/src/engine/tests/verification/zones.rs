//! Drives with zones that are verified while they are served.

use ssd::{Sabotage, ZoneAction};

use super::super::zones::{ZONED, zoned};
use super::super::*;
use super::lifetime::{ClientLoad, VerifiedLife};
use base::engine::Rng;
use verify::VerifyStatus;

/// Sectors of a mapping unit.
const UNIT: u64 = 4;

/// Zones that clients use.
const ZONES: u64 = 3;

/// A drive with zones, of which some may have random write areas.
fn device(areas: bool) -> Device {
    let text = ZONED.replace("max-active = 6", "max-active = 6, zrwa = { size = \"16KiB\" }");
    Device::parse(if areas { text } else { ZONED.to_owned() }).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Clients of a drive with zones.
struct ZoneLoad {
    /// Sectors from the start of a zone to that of the next, and sectors of a zone that can be written.
    size: u64,
    capacity: u64,
    byte: u8,
}

impl ZoneLoad {
    fn data(&mut self, units: u64) -> Vec<u8> {
        self.byte = self.byte % 250 + 1;
        vec![self.byte; (units * UNIT * 512) as usize]
    }

    fn pointer(bench: &Bench, start: u64) -> u64 {
        let drive = &bench.core.drive().drives()[0];
        u64::from(drive.zone_report(Lba::new(start)).expect("a zone").write_pointer.get()) * UNIT
    }
}

impl ClientLoad for ZoneLoad {
    const CUTS: u64 = 3;
    const HAS_ZONES: bool = true;
    const PAUSE_NS: u64 = 200_000;

    fn submit(&mut self, bench: &mut Bench, rng: &mut Rng) {
        let start = rng.below(ZONES) * self.size;
        let (units, fua) = (1 + rng.below(6), rng.chance(0.2));
        let data = self.data(units);
        match rng.below(60) {
            0..16 => {
                let first = rng.below(self.capacity);
                let sectors = 1 + rng.below(40.min(self.capacity - first));
                bench.submit(Operation::Read, start + first, sectors);
            }
            16..30 => {
                let ahead = if rng.chance(0.3) { rng.below(4) * UNIT } else { 0 };
                let first = (Self::pointer(bench, start) + ahead).min(start + self.size - units * UNIT);
                bench.submit(Operation::Write { data, fua }, first, units * UNIT);
            }
            30..50 => {
                bench.submit(Operation::Append { data, fua }, start, units * UNIT);
            }
            50 => {
                let first = Self::pointer(bench, start).min(start + self.size - 8 * UNIT);
                bench.submit(Operation::WriteZeroes { fua }, first, 8 * UNIT);
            }
            51..54 => {
                bench.submit(Operation::ManageZone(ZoneAction::Reset), start, 0);
                if rng.chance(0.5) {
                    bench.submit(Operation::ManageZone(ZoneAction::OpenZrwa), start, 0);
                }
            }
            54 => _ = bench.submit(Operation::ManageZone(ZoneAction::Finish), start, 0),
            55 => _ = bench.submit(Operation::ManageZone(ZoneAction::OpenZrwa), start, 0),
            56 => {
                let last = Self::pointer(bench, start).min(start + self.size - 2 * UNIT) + UNIT;
                bench.submit(Operation::ManageZone(ZoneAction::FlushZrwa), last, 0);
            }
            57 => _ = bench.submit(Operation::ManageZones(ZoneAction::Close), 0, 0),
            58 if rng.chance(0.3) => _ = bench.submit(Operation::ManageZones(ZoneAction::Reset), 0, 0),
            _ => _ = bench.submit(Operation::Flush, 0, 0),
        }
    }

    fn read_all(&self, bench: &mut Bench) {
        for zone in 0..ZONES {
            for first in (0..self.capacity).step_by(16) {
                let sectors = 16.min(self.capacity - first);
                // A zone may be offline.
                _ = bench.alone(Operation::Read, zone * self.size + first, sectors);
            }
        }
    }
}

/// Runs the life of a drive with zones.
fn live(
    device: &Device,
    bug: Option<Sabotage>,
    on_cut: CutPolicy,
    (seed, steps): (u64, u32),
) -> (Vec<String>, VerifyStatus) {
    let resolved = device.resolved.clone();
    let resolved = bug.map_or(resolved.clone(), |bug| resolved.sabotaged(bug));
    let shape = resolved.zones.expect("it has zones");
    let (size, capacity) = (u64::from(shape.size) * UNIT, u64::from(shape.capacity) * UNIT);
    let core = Core::new(Box::new(Ssd::new(&resolved, seed)), on_cut);
    let load = ZoneLoad { size, capacity, byte: 0 };
    VerifiedLife::new(core, Rng::stream(seed, "verify zones"), load).run(steps)
}

/// Runs honest drives with zones; returns the number of sectors that were compared.
fn accuse_honest_drives(seeds: std::ops::Range<u64>, steps: u32) -> u64 {
    let mut compared = 0;
    for seed in seeds {
        let (areas, on_cut) = (seed % 2 == 0, [CutPolicy::Hold, CutPolicy::End][seed as usize / 2 % 2]);
        let (violations, status) = live(&device(areas), None, on_cut, (seed, steps));
        assert!(violations.is_empty(), "seed {seed}, {on_cut:?}, areas: {areas}: {violations:#?}");
        assert_eq!(status.adopted, 0, "seed {seed}: everything is known");
        compared += status.sectors;
    }
    compared
}

#[test]
fn an_honest_drive_with_zones_is_not_accused() {
    let compared = accuse_honest_drives(0..60, 600);
    assert!(compared > 100_000, "only {compared} sectors were compared");
}

#[test]
#[ignore = "make soak"]
fn honest_drives_with_zones_are_not_accused_in_long_lives() {
    let first = u64::from(std::process::id()) << 32;
    println!("{} sectors were compared", accuse_honest_drives(first..first + 300, 3000));
}

#[test]
fn bugs_of_a_drive_with_zones_are_found() {
    for bug in [Sabotage::AppendMisplaced, Sabotage::ZrwaOverwriteLost] {
        let is_found = |seed: &u64| !live(&device(true), Some(bug), CutPolicy::End, (*seed, 600)).0.is_empty();
        let found = (0..20).filter(is_found).count();
        assert!(found > 5, "{bug:?} is found in {found} lives of 20");
    }
}

/// The violations on a drive that has carried out `promised`, but with the flash of a drive that has carried out `done`
/// only.
fn found(promised: &[Operation], done: &[Operation], then: impl FnOnce(&mut Bench)) -> Vec<String> {
    let device = zoned("");
    let mut benches = [promised, done].map(|operations| {
        let mut core = Core::new(Box::new(Ssd::new(&device.resolved, 1)), CutPolicy::End);
        core.verify(true);
        let mut bench = Bench::new(core);
        for operation in operations {
            let sectors = operation.data().map_or(0, |data| data.len() as u64 / 512);
            assert_eq!(bench.alone(operation.clone(), 0, sectors), Ok(Vec::new()));
        }
        bench
    });
    let [bench, other] = &mut benches;
    std::mem::swap(&mut bench.core.drive, &mut other.core.drive);
    bench.now = bench.now.max(bench.core.now());
    then(bench);
    bench.core.take_violations().iter().map(ToString::to_string).collect()
}

fn append(byte: u8) -> Operation {
    Operation::Append { data: vec![byte; UNIT as usize * 512], fua: true }
}

fn cut(bench: &mut Bench) {
    bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on");
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
}

#[test]
fn a_write_pointer_that_comes_back_too_low_is_a_violation_without_a_read() {
    let promised = [append(1), append(2)];
    assert_eq!(found(&promised, &promised, cut), Vec::<String>::new());
    let said = found(&promised, &promised[..1], cut);
    let [violation] = &said[..] else { panic!("{said:?}") };
    assert!(violation.starts_with("sectors 4 to 7 lie behind the write pointer of the zone at 0.0"), "{violation}");
    assert!(
        violation.ends_with("after a power cut; expected a write pointer behind all that is durable"),
        "{violation}"
    );
}

#[test]
fn a_report_of_a_write_pointer_below_durable_data_is_a_violation() {
    let said = found(&[append(1), append(2)], &[append(1)], |bench| {
        bench.core.zones(ZoneQuery { from: Lba::new(0), answer: Box::new(|zones| assert!(zones.is_ok())) });
    });
    assert!(said.len() == 1 && said[0].starts_with("sectors 4 to 7 lie behind the write pointer"), "{said:?}");
}

#[test]
fn a_reset_that_forgets_nothing_is_found() {
    let promised = [append(1), append(2), Operation::ManageZone(ZoneAction::Reset)];
    let read = |bench: &mut Bench| assert!(bench.alone(Operation::Read, 2, 4).is_ok());
    assert_eq!(found(&promised, &promised, read), Vec::<String>::new());
    let said = found(&promised, &promised[..2], read);
    let [violation] = &said[..] else { panic!("{said:?}") };
    assert!(violation.starts_with("sectors 2 to 5 hold data that no known write brought at 0.0"), "{violation}");
    assert!(violation.contains("expected zeros written at") && violation.ends_with("(durable)"), "{violation}");
}
