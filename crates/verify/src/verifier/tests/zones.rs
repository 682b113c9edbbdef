//! A disk with zones that keeps its promises in every order that it may choose, and disks that break them.

use base::engine::Rng;
use ssd::{ZoneAction, ZoneState};

use super::*;

const UNIT: u64 = 2;
const SIZE: u64 = 20;
const CAPACITY: u64 = 16;
const AREA: u64 = 4;
const ZONES: u64 = 2;
const SECTORS: u64 = ZONES * SIZE;

const ZONED: Promise = Promise {
    is_volatile: false,
    discards_durably: false,
    granularity: Sectors::new(UNIT),
    zones: Some(ZoneSectors { size: SIZE, capacity: CAPACITY, unit: UNIT, area: AREA }),
};

fn append(bytes: &[u8]) -> TestRequest {
    TestRequest { command: ClientCommand::Append { fua: false }, data: data(bytes) }
}

const fn manage(action: ZoneAction) -> TestRequest {
    bare(ClientCommand::Zone(action))
}

impl super::Bench {
    /// Answers an append with an address.
    fn appended(&mut self, ticket: Ticket, bytes: &[u8], address: u64) {
        self.end(ticket, &append(bytes), address, bytes.len() as u64);
    }

    fn reports(&mut self, zone: u64, pointer: u64) -> Vec<String> {
        let at = self.at();
        self.0.check_pointer(at, Lba::new(zone), ZoneState::Closed, Lba::new(pointer));
        self.0.take_violations().iter().map(ToString::to_string).collect()
    }
}

#[test]
fn an_append_is_anywhere_until_it_is_answered_and_then_where_its_answer_says() {
    let mut bench = Bench::new(ZONED);
    bench.write(20, &[1, 1]);
    let (two, three) = ([2, 3], [4, 5, 6, 7]);
    let tickets = [(&two[..], 2), (&three[..], 4)].map(|(bytes, n)| bench.begin(&append(bytes), 20, n));
    bench.right(20, &[1, 1, 0, 0, 4, 5, 2, 3]);
    bench.wrong(20, &[1, 4], "sector 21 holds");
    bench.wrong(22, &[0, 4], "sector 23 holds data that no known write brought at");
    let mut bench = Bench::new(ZONED);
    bench.write(20, &[1, 1]);
    let again = [(&two[..], 2), (&three[..], 4)].map(|(bytes, n)| bench.begin(&append(bytes), 20, n));
    assert_eq!(tickets, again);
    // A read that began before the answer and ends behind it.
    let late = bench.begin(&READ, 22, 4);
    bench.appended(tickets[1], &three, 22);
    assert!(bench.found(late, 22, &[4, 5, 6, 7]).is_empty());
    bench.wrong(22, &[0, 5], "sector 22 reads as zeros");
    bench.wrong(25, &[2], "sector 25 holds");
    bench.right(26, &[2, 3]);
    bench.appended(tickets[0], &two, 26);
    bench.right(26, &[2, 3, 0, 0]);
    bench.wrong(28, &[2], "sector 28 holds the data of sector 26");
    assert!(bench.reports(20, 28).is_empty());
    let said = bench.reports(20, 26).join("\n");
    assert!(said.starts_with("sectors 26 to 27 lie behind the write pointer of the zone at 0.0"), "{said}");
    assert!(said.ends_with("s; expected a write pointer behind all that is durable"), "{said}");
    assert!(bench.reports(20, 26).is_empty(), "it is said once");
    assert_eq!(bench.0.status().violations, 5);
}

#[test]
fn appends_under_way_at_a_cut_are_behind_the_pointer_of_that_moment_or_nowhere() {
    for found in [&[2, 3, 4, 5][..], &[4, 5, 2, 3], &[4, 5, 0, 0], &[2, 3, 0, 0], &[0; 4], &[0, 0, 4, 5]] {
        let mut bench = Bench::new(ZONED);
        bench.write(0, &[1, 1]);
        bench.begin(&append(&[2, 3]), 0, 2);
        bench.begin(&append(&[4, 5]), 0, 2);
        bench.0.power_cut();
        bench.right(0, &[1, 1]);
        bench.right(2, found);
        bench.right(2, found);
        let other = if found[2] == 2 { [4, 5] } else { [2, 3] };
        bench.wrong(4, &other, "sectors 4 to 5 hold");
        // The next append goes to the address that the drive chooses.
        let ticket = bench.begin(&append(&[8, 9]), 0, 2);
        bench.appended(ticket, &[8, 9], 6);
        bench.right(6, &[8, 9]);
        bench.0.power_cut();
        bench.wrong(6, &[0, 0], "(durable)");
    }
    let mut bench = Bench::new(ZONED);
    bench.write(0, &[1, 1]);
    bench.begin(&append(&[2, 3]), 0, 2);
    bench.0.power_cut();
    bench.wrong(0, &[2, 3], "sectors 0 to 1 hold data");
    bench.wrong(20, &[2, 3], "sectors 20 to 21 hold data");
}

#[test]
fn a_reset_forgets_all_and_one_that_a_cut_meets_is_whole() {
    let mut bench = Bench::new(ZONED);
    bench.write(0, &[1; 16]);
    bench.write(20, &[2; 4]);
    bench.alone(&manage(ZoneAction::Reset), 0, 0);
    bench.wrong(8, &[1], "expected zeros written at 0.005 s (durable)");
    bench.right(0, &[0; 8]);
    bench.right(20, &[2; 4]);
    assert!(bench.reports(0, 0).is_empty());
    // The first sector that is read tells whether the reset happened.
    for (happened, pointer) in [(false, 16), (true, 16), (true, 0)] {
        let mut bench = Bench::new(ZONED);
        bench.write(0, &[1; 16]);
        bench.begin(&manage(ZoneAction::Reset), 0, 0);
        bench.right(3, &[1]);
        bench.right(3, &[0]);
        bench.0.power_cut();
        assert!(bench.reports(0, pointer).is_empty());
        let (right, wrong) = if happened { (0, 1) } else { (1, 0) };
        if pointer > 0 {
            bench.right(9, &[right]);
        }
        bench.wrong(2, &[wrong], "sector 2 ");
        bench.right(4, &[right; 4]);
        assert_eq!(bench.reports(0, 0).is_empty(), happened);
    }
}

#[test]
fn a_refused_command_changes_nothing() {
    let mut bench = Bench::new(ZONED);
    bench.write(0, &[1, 1]);
    for (request, sectors) in [(write(&[7, 7]), 2), (append(&[7, 7]), 2), (manage(ZoneAction::Reset), 0)] {
        let ticket = bench.begin(&request, 0, sectors);
        let at = bench.at();
        bench.0.end(at, ticket, request.command, 0..sectors, Err(Status::ZoneFull));
    }
    bench.wrong(0, &[7], "sector 0 holds");
    bench.wrong(1, &[0], "sector 1 reads as zeros");
    bench.wrong(2, &[7], "sector 2 holds");
    assert!(!bench.reports(0, 0).is_empty());
    // A failed append to a zone may have written something.
    let ticket = bench.begin(&append(&[5, 6]), 20, 2);
    let at = bench.at();
    bench.0.end(at, ticket, append(&[5, 6]).command, 20..22, Err(Status::ZoneReadOnly));
    bench.right(22, &[5]);
    bench.right(22, &[5, 0]);
    bench.wrong(23, &[6], "sector 23 holds");
}

#[test]
fn a_finished_zone_is_full_and_a_random_write_area_lies_behind_the_pointer() {
    let mut bench = Bench::new(ZONED);
    bench.write(0, &[1, 1]);
    bench.alone(&manage(ZoneAction::Finish), 0, 0);
    assert!(bench.reports(0, 16).is_empty() && !bench.reports(0, 2).is_empty());
    bench.alone(&manage(ZoneAction::OpenZrwa), 20, 0);
    bench.write(20, &[1, 1]);
    bench.write(20, &[2, 2]);
    bench.wrong(20, &[1, 2], "sector 20 holds the data of sector 0");
    assert!(bench.reports(20, 20).is_empty());
    bench.write(24, &[3, 3]);
    bench.0.power_cut();
    bench.wrong(24, &[0, 0], "(durable)");
    assert!(bench.reports(20, 22).is_empty() && !bench.reports(20, 20).is_empty());
    bench.alone(&manage(ZoneAction::FlushZrwa), 25, 0);
    assert!(bench.reports(20, 26).is_empty() && !bench.reports(20, 24).is_empty());
    bench.alone(&manage(ZoneAction::Reset), 20, 0);
    bench.write(20, &[1, 1]);
    assert!(!bench.reports(20, 20).is_empty(), "a reset takes the area back");
}

#[test]
fn what_is_known_of_zones_is_there_again() {
    let home = tempfile::tempdir().expect("a folder");
    let capacity = Sectors::new(SECTORS);
    let mut bench = Bench::new(ZONED);
    assert!(bench.0.keep_in(home.path(), false, capacity).expect("files"));
    bench.write(0, &[1; 8]);
    let first = bench.begin(&append(&[2, 3]), 0, 2);
    let reset = bench.begin(&manage(ZoneAction::Reset), 20, 0);
    // The whole state is written anew in the middle of the run.
    bench.0.renew(false);
    bench.appended(first, &[2, 3], 8);
    bench.begin(&append(&[4, 5]), 0, 2);
    bench.end(reset, &manage(ZoneAction::Reset), 20, 0);
    bench.write(20, &[6, 6]);
    drop(bench);
    let mut bench = Bench::new(ZONED);
    assert!(bench.0.keep_in(home.path(), true, capacity).expect("files"));
    bench.right(0, &[1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5]);
    bench.wrong(10, &[0], "sector 10 reads as zeros");
    bench.right(20, &[6, 6]);
    assert_eq!(bench.0.status().adopted, 0);
    assert!(!bench.reports(0, 8).is_empty() && !bench.reports(20, 20).is_empty());
}

/// The fault of a dishonest disk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    ForgetsToReset,
    HalvesResets,
    AnswersWrongAddresses,
    SwapsAppends,
    OverwritesOnAppend,
    LosesDataAtCuts,
    LowersPointersAtCuts,
    ReportsLowPointers,
    ReopensFinishedZones,
    IgnoresOverwrites,
}

/// An outstanding request.
struct OpenRequest {
    ticket: Ticket,
    request: TestRequest,
    start: u64,
    sectors: u64,
    /// The effect of the request: the content that it found, or the address that it got.
    result: Option<Result<(Vec<u8>, u64), Status>>,
}

#[derive(Clone, Copy, Default)]
struct DiskZone {
    content: [u8; CAPACITY as usize],
    pointer: u64,
    /// True if the zone has a random write area, which takes sectors behind the pointer.
    area: bool,
    /// The number of sectors that the host has written.
    filled: u64,
}

struct ModelDisk {
    rng: Rng,
    lie: Lie,
    bench: Bench,
    zones: [DiskZone; ZONES as usize],
    open: Vec<OpenRequest>,
    byte: u8,
}

const fn zone_of(sector: u64) -> usize {
    (sector / SIZE) as usize
}

impl ModelDisk {
    fn new(seed: u64, lie: Lie) -> Self {
        let (rng, bench) = (Rng::stream(seed, "honest zones"), Bench::new(ZONED));
        Self { rng, lie, bench, zones: Default::default(), open: Vec::new(), byte: 0 }
    }

    fn lies(&mut self, lie: Lie) -> bool {
        self.lie == lie && self.rng.chance(0.2)
    }

    fn begin(&mut self) {
        let zone = self.rng.below(ZONES);
        let (begin, units) = (zone * SIZE, 1 + self.rng.below(3));
        let bytes: Vec<u8> = (0..units * UNIT)
            .map(|_| {
                self.byte = self.byte % 250 + 1;
                self.byte
            })
            .collect();
        let DiskZone { pointer, area, .. } = self.zones[zone as usize];
        let behind = if area { self.rng.below(3) * UNIT } else { 0 };
        // Behind the writes that are outstanding.
        let under_way = |open: &&OpenRequest| zone_of(open.start) == zone as usize && open.result.is_none();
        let ahead: u64 = if area { 0 } else { self.open.iter().filter(under_way).map(|open| open.sectors).sum() };
        let (request, start, sectors) = match self.rng.below(24) {
            0..7 => {
                let start = self.rng.below(CAPACITY);
                (READ, begin + start, 1 + self.rng.below(CAPACITY - start))
            }
            7..12 => (write(&bytes), begin + pointer + ahead + behind, units * UNIT),
            12..19 => (append(&bytes), begin, units * UNIT),
            19 => (manage(ZoneAction::Reset), begin, 0),
            20 => (manage(ZoneAction::Finish), begin, 0),
            21 => (manage(ZoneAction::OpenZrwa), begin, 0),
            22 => (manage(ZoneAction::FlushZrwa), begin + (pointer + UNIT).min(CAPACITY) - 1, 0),
            _ => (FLUSH, 0, 0),
        };
        if zone_of(start) != zone as usize && request != FLUSH {
            return;
        }
        let ticket = self.bench.begin(&request, start, sectors);
        self.open.push(OpenRequest { ticket, request, start, sectors, result: None });
    }

    /// True if the disk has carried out all requests that come before this one.
    fn is_first(&self, at: usize) -> bool {
        let is_action = |open: &OpenRequest| matches!(open.request.command, ClientCommand::Zone(_));
        let of = &self.open[at];
        let earlier =
            self.open[..at].iter().filter(|open| open.result.is_none() && zone_of(open.start) == zone_of(of.start));
        !earlier.into_iter().any(|open| is_action(open) || is_action(of))
    }

    /// Carries out a request, or its first `most` sectors before a power cut.
    fn act(&mut self, at: usize, most: u64) {
        if self.open[at].result.is_some() || !self.is_first(at) {
            return;
        }
        let (TestRequest { command, data: bytes }, start, sectors) = {
            let open = &self.open[at];
            (open.request.clone(), open.start, open.sectors)
        };
        let (number, inside) = (zone_of(start), start % SIZE);
        let mut of = self.zones[number];
        let begin = number as u64 * SIZE;
        let result = match command {
            ClientCommand::Read => Ok((data(&of.content[inside as usize..(inside + sectors) as usize]), 0)),
            ClientCommand::Write { .. } => self.write_to(&mut of, inside, &bytes, most).map(|()| (Vec::new(), start)),
            ClientCommand::Append { .. } if of.area => Err(Status::InvalidZoneOperation),
            ClientCommand::Append { .. } => {
                let mut address = of.pointer;
                if self.lies(Lie::OverwritesOnAppend) && address > 0 {
                    of.pointer -= UNIT;
                    address = of.pointer;
                }
                let other = self.other_append(at).filter(|_| self.lies(Lie::SwapsAppends));
                let done = self.write_to(&mut of, address, &other.unwrap_or(bytes), most);
                let wrong = if self.lies(Lie::AnswersWrongAddresses) { UNIT } else { 0 };
                done.map(|()| (Vec::new(), begin + address + wrong))
            }
            ClientCommand::Zone(action) => self.manage(&mut of, action, inside).map(|()| (Vec::new(), start)),
            ClientCommand::Flush => Ok((Vec::new(), start)),
            _ => unreachable!("nothing else is begun"),
        };
        self.zones[number] = of;
        self.open[at].result = Some(result);
    }

    /// The data of another outstanding append of the same length.
    fn other_append(&self, at: usize) -> Option<Vec<u8>> {
        let of = &self.open[at];
        let other =
            |open: &&OpenRequest| open.ticket != of.ticket && open.sectors == of.sectors && open.result.is_none();
        let is_append = |open: &&OpenRequest| matches!(open.request.command, ClientCommand::Append { .. });
        self.open.iter().filter(other).find(is_append).map(|open| open.request.data.clone())
    }

    fn write_to(&mut self, of: &mut DiskZone, at: u64, data: &[u8], most: u64) -> Result<(), Status> {
        let end = at + data.len() as u64 / 512;
        let is_within = if of.area { at >= of.pointer && end <= of.pointer + 2 * AREA } else { at == of.pointer };
        if of.pointer == CAPACITY {
            return Err(Status::ZoneFull);
        }
        if !is_within {
            return Err(Status::ZoneInvalidWrite);
        }
        if end > CAPACITY {
            return Err(Status::ZoneBoundary);
        }
        let done = end.min(at.saturating_add(most));
        for (sector, bytes) in (at..done).zip(data.chunks(512)) {
            let is_over = of.content[sector as usize] != 0;
            if !(is_over && of.area && self.lies(Lie::IgnoresOverwrites)) {
                of.content[sector as usize] = bytes[0];
            }
        }
        of.pointer = if of.area { of.pointer.max(done.saturating_sub(AREA)) } else { done };
        of.filled = of.filled.max(done);
        Ok(())
    }

    fn manage(&mut self, of: &mut DiskZone, action: ZoneAction, inside: u64) -> Result<(), Status> {
        match action {
            ZoneAction::Reset => {
                let kept = of.content;
                *of = DiskZone::default();
                if self.lies(Lie::ForgetsToReset) {
                    of.content = kept;
                }
            }
            ZoneAction::Finish => (of.pointer, of.area) = (CAPACITY, false),
            ZoneAction::OpenZrwa if of.pointer == 0 && !of.area => of.area = true,
            ZoneAction::FlushZrwa if of.area && inside >= of.pointer && inside < of.pointer + AREA => {
                of.pointer = inside / UNIT * UNIT + UNIT;
                of.area = of.pointer < CAPACITY;
            }
            _ => return Err(Status::InvalidZoneOperation),
        }
        Ok(())
    }

    fn end(&mut self, at: usize) {
        self.act(at, u64::MAX);
        if self.open[at].result.is_none() {
            return;
        }
        let OpenRequest { ticket, request, start, sectors, result } = self.open.remove(at);
        let now = self.bench.at();
        match result.expect("it has acted") {
            Ok((data, address)) => {
                let start = if matches!(request.command, ClientCommand::Append { .. }) { address } else { start };
                self.bench.0.end(now, ticket, request.command, start..start + sectors, Ok(&data));
            }
            Err(failed) => self.bench.0.end(now, ticket, request.command, start..start + sectors, Err(failed)),
        }
    }

    fn report(&mut self) {
        for number in 0..ZONES {
            let pointer = self.zones[number as usize].pointer;
            let low = if self.lies(Lie::ReportsLowPointers) { pointer.saturating_sub(UNIT) } else { pointer };
            let (at, start) = (self.bench.at(), number * SIZE);
            self.bench.0.check_pointer(at, Lba::new(start), ZoneState::Closed, Lba::new(start + low));
        }
    }

    fn cut(&mut self) {
        // Outstanding requests may have happened, the last one in part.
        for _ in 0..self.rng.below(6) {
            if !self.open.is_empty() {
                let any = self.rng.below(self.open.len() as u64) as usize;
                let is_reset = self.open[any].request == manage(ZoneAction::Reset) && self.open[any].result.is_none();
                let before = self.zones[zone_of(self.open[any].start)];
                let is_first = self.is_first(any);
                self.act(any, u64::MAX);
                if is_reset && is_first && self.lie == Lie::HalvesResets {
                    let of = &mut self.zones[zone_of(self.open[any].start)];
                    of.content[..8].copy_from_slice(&before.content[..8]);
                    of.pointer = before.pointer;
                }
            }
        }
        for at in 0..self.open.len() {
            if self.rng.chance(0.5) && self.open[at].request.command.has_data() {
                let part = self.rng.below(3) * UNIT;
                self.act(at, part);
                break;
            }
        }
        self.open.clear();
        for number in 0..ZONES as usize {
            let mut of = self.zones[number];
            if self.lies(Lie::LosesDataAtCuts) && of.filled > 0 {
                of.content[of.filled as usize - 2..of.filled as usize].fill(0);
            }
            if self.lies(Lie::LowersPointersAtCuts) {
                of.pointer = of.pointer.saturating_sub(UNIT);
            }
            if self.lies(Lie::ReopensFinishedZones) && of.pointer == CAPACITY {
                of.pointer = of.filled;
            }
            self.zones[number] = of;
        }
        self.bench.0.power_cut();
        self.report();
    }

    fn step(&mut self) {
        let any = self.rng.below(self.open.len().max(1) as u64) as usize;
        match self.rng.below(100) {
            0..40 if self.open.len() < 8 => self.begin(),
            0..60 if !self.open.is_empty() => self.act(any, u64::MAX),
            60..94 if !self.open.is_empty() => self.end(any),
            94..97 => self.report(),
            97 => self.cut(),
            98 if self.rng.chance(0.2) => {
                while !self.open.is_empty() {
                    self.end(0);
                }
                self.bench.0.power_off();
                self.report();
            }
            _ => {}
        }
    }

    /// Runs `steps` steps; returns the violations.
    fn live(mut self, steps: u32) -> (Vec<Violation>, VerifyStatus) {
        (0..steps).for_each(|_| self.step());
        (self.bench.0.take_violations(), self.bench.0.status())
    }
}

#[test]
fn a_disk_with_zones_that_keeps_its_promises_is_never_accused() {
    let mut compared = 0;
    for seed in 0..3000 {
        let (violations, status) = ModelDisk::new(seed, Lie::None).live(400);
        assert!(violations.is_empty(), "seed {seed}: {}", violations[0]);
        assert_eq!(status.adopted, 0, "seed {seed}: everything is known");
        compared += status.sectors;
    }
    assert!(compared > 200_000, "{compared}");
}

#[test]
fn each_lie_about_zones_is_found() {
    for lie in [
        Lie::ForgetsToReset,
        Lie::HalvesResets,
        Lie::AnswersWrongAddresses,
        Lie::SwapsAppends,
        Lie::OverwritesOnAppend,
        Lie::LosesDataAtCuts,
        Lie::LowersPointersAtCuts,
        Lie::ReportsLowPointers,
        Lie::ReopensFinishedZones,
        Lie::IgnoresOverwrites,
    ] {
        let found = (0..200).filter(|seed| !ModelDisk::new(*seed, lie).live(400).0.is_empty()).count();
        assert!(found > 8, "{lie:?} is found in {found} lives of 200");
    }
}
