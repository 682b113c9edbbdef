//! Many requests at once to as many zones as may be open.
//!
//! The drive keeps requests to a zone in the order of their submission, but for appends among themselves. So the status of each
//! request follows from those submitted before it, and its effect is known at its completion.

use std::collections::BTreeMap;

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Completion, ResolvedDevice, Ssd, Status, ZoneState};

use super::areas::AreaZone;
use super::cuts::UnansweredRequests;
use super::under_way::{ExpectedZone, OutstandingRequest};
use super::{ZoneHost, stamp};

/// The numbers of power cuts and failures in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stress {
    /// The number of power cuts.
    pub cuts: u32,
    /// The number of programs and erases that fail.
    pub failures: u32,
}

/// Submits batches of random requests to a new drive, and checks every answer.
///
/// # Panics
/// If an answer or the data is wrong.
pub fn side_by_side(resolved: &ResolvedDevice, seed: u64, batches: u32, stress: Stress) {
    let mut rng = Rng::stream(seed, "zones.side-by-side");
    let mut host = ZoneHost::new(Ssd::new(resolved, seed));
    let count = u64::from(host.shape.max_open.min(host.shape.zones)).min(6);
    let areas = host.shape.zrwa.map_or(0, |zrwa| u64::from(zrwa.zones));
    let area = |zone: u64| {
        AreaZone::new(host.begin(zone), host.shape, host.unit).filter(|_| zone % 2 == 1 && zone / 2 < areas)
    };
    let zone = |zone| ExpectedZone { area: area(zone).map(|area| [area.clone(), area]), ..ExpectedZone::default() };
    let mut zones: Vec<ExpectedZone> = (0..count).map(zone).collect();
    let every = |times: u32| batches.checked_div(times).map_or(u32::MAX, |every| every.max(1));
    let (cut_every, fail_every) = (every(stress.cuts), every(stress.failures));
    for batch in 0..batches {
        let mut under_way = BTreeMap::new();
        for _ in 0..1 + rng.below(14) {
            let zone = rng.below(count);
            let tag = host.tag;
            if let Some(request) = draw(&mut rng, &host, (zone, tag), &mut zones[zone as usize]) {
                let tag = host.submit(request.io);
                under_way.insert(tag, request);
            }
            if rng.chance(0.2) {
                host.step();
            }
        }
        if batch % fail_every == fail_every - 1 {
            let faults = host.drive.ssd.media_mut().faults_mut();
            match rng.chance(0.7) {
                true => faults.fail_program(rng.below(20)),
                false => faults.fail_erase(rng.below(4)),
            }
        }
        let cuts = batch % cut_every == cut_every - 1;
        let mut left = if cuts { rng.below(120) } else { u64::MAX };
        loop {
            for done in std::mem::take(&mut host.done) {
                let request = under_way.remove(&done.tag).expect("a request completes once");
                complete(&host, &request, &done, &mut zones[request.zone as usize], stress);
            }
            if left == 0 || !host.step() {
                break;
            }
            left -= 1;
        }
        if cuts {
            UnansweredRequests::of(&under_way).check(&mut host, &mut zones, stress.failures > 0);
        } else {
            assert!(under_way.is_empty(), "requests never complete: {under_way:?}");
            host.drive.ssd.check();
        }
        for (number, zone) in (0..).zip(&mut zones) {
            zone.ahead = zone.data.len() as u64;
            zone.full_ahead = zone.finished || zone.ahead == host.sizes()[1];
            settle(&mut host, number, zone, stress);
        }
    }
}

/// Draws a request to a zone, with the status that it must get; `None` if more than one status is possible.
fn draw(rng: &mut Rng, host: &ZoneHost, (zone, tag): (u64, u64), of: &mut ExpectedZone) -> Option<OutstandingRequest> {
    let [size, capacity] = host.sizes();
    if let Some([_, ahead]) = of.area.as_mut().filter(|_| !of.failed) {
        let io = ahead.draw(rng, size);
        let wanted = ahead.carry_out(&io, tag);
        return Some(OutstandingRequest { io, zone, wanted });
    }
    let begin = host.begin(zone);
    let bare = |kind| Io::new(kind, Lba::new(begin), Sectors::new(0));
    let sectors = (1 + rng.below(capacity / host.unit / 3 + 1)) * host.unit;
    let turn = if of.failed { 19 } else { rng.below(20) };
    let (io, wanted) = match turn {
        0 => {
            (of.ahead, of.full_ahead) = (0, false);
            (bare(IoKind::ZoneReset), Status::Done)
        }
        1 => {
            of.full_ahead = true;
            (bare(IoKind::ZoneFinish), Status::Done)
        }
        2..12 => {
            let (kind, at) = if turn < 9 { (IoKind::Append, 0) } else { (IoKind::Write, of.ahead.min(size - sectors)) };
            let io = Io::new(kind, Lba::new(begin + at), Sectors::new(sectors));
            let wanted = match of.ahead + sectors {
                _ if of.full_ahead => Status::ZoneFull,
                _ if kind == IoKind::Write && at != of.ahead => Status::ZoneInvalidWrite,
                end if end > capacity => Status::ZoneBoundary,
                _ => Status::Done,
            };
            // The drive may admit appends in any order, so of two that do not both fit, either may fail.
            if wanted == Status::ZoneBoundary && kind == IoKind::Append {
                return None;
            }
            if wanted == Status::Done {
                of.ahead += sectors;
                of.full_ahead = of.ahead == capacity;
            }
            (io, wanted)
        }
        _ => {
            let sectors = 1 + rng.below(size / 2);
            let at = begin + rng.below(size - sectors + 1);
            (Io::new(IoKind::Read, Lba::new(at), Sectors::new(sectors)), Status::Done)
        }
    };
    Some(OutstandingRequest { io, zone, wanted })
}

/// Checks a completion, and notes the change that it made.
fn complete(
    host: &ZoneHost,
    request: &OutstandingRequest,
    done: &Completion<Stamp>,
    of: &mut ExpectedZone,
    stress: Stress,
) {
    let OutstandingRequest { io, zone, wanted } = *request;
    let begin = host.begin(zone);
    let what = format!("{} {} of zone {zone}", io.kind.name(), done.tag);
    if of.failed || stress.failures > 0 && matches!(done.status, Status::ZoneReadOnly | Status::InvalidZoneTransition) {
        // After a failure, later requests to the zone get other answers than those expected.
        of.failed = true;
        if io.kind != IoKind::Read {
            return;
        }
    } else if stress.failures == 0 || host.report(zone).state != ZoneState::ReadOnly {
        assert_eq!(done.status, wanted, "{what}");
    }
    if done.status != Status::Done {
        return;
    }
    if let Some([now, _]) = of.area.as_mut().filter(|_| io.kind != IoKind::Read) {
        assert!(of.failed || now.complete(&io, done.tag) == Status::Done, "{what}");
        return;
    }
    match io.kind {
        IoKind::Read => {
            let data = of.area.as_ref().map_or(&of.data, |[now, _]| &now.data);
            for (i, sector) in (0..).zip(&done.data) {
                let at = (io.start.get() - begin + i) as usize;
                let content = data.get(at).copied().unwrap_or(0);
                assert!(
                    of.failed || sector.0 == content,
                    "{what} returns {sector:?} for sector {at}, not {content:#x}"
                );
            }
        }
        IoKind::Append | IoKind::Write => {
            let at = done.io.start.get().checked_sub(begin).expect("an address in the zone") as usize;
            assert!(at + io.sectors.get() as usize <= host.sizes()[1] as usize, "{what} ends behind the capacity");
            let end = at + io.sectors.get() as usize;
            if of.data.len() < end {
                // An append that was admitted before this one has not completed yet, so the sectors between are
                // unknown.
                of.data.resize(end, 0);
            }
            for (sector, place) in (0..).zip(&mut of.data[at..end]) {
                assert_eq!(*place, 0, "{what} at {at} overwrites another write");
                *place = stamp(done.tag, sector);
            }
        }
        IoKind::ZoneReset => (of.data, of.finished) = (Vec::new(), false),
        _ => of.finished = true,
    }
}

/// Checks the zone when nothing is under way.
fn settle(host: &mut ZoneHost, number: u64, zone: &mut ExpectedZone, stress: Stress) {
    let (state, [size, capacity]) = (host.report(number).state, host.sizes());
    if stress.failures > 0 && matches!(state, ZoneState::ReadOnly | ZoneState::Offline) {
        zone.failed = true;
    }
    if zone.failed {
        if state == ZoneState::Offline {
            let data = zone.area.as_ref().map_or(&zone.data, |[now, _]| &now.data);
            assert!(data.is_empty(), "zone {number} is offline and had data");
            return;
        }
        // Behind the acknowledged data, a part of the unacknowledged data may follow; this read decides.
        let found = host.read_zone(number);
        if let Some([now, ahead]) = &mut zone.area {
            let known = now.data.iter().zip(&found).all(|(known, found)| *known == 0 || known == found);
            assert!(known, "zone {number} has lost data: {:?}, {found:?}", now.data);
            now.data = found[..capacity as usize].to_vec();
            *ahead = now.clone();
            return;
        }
        let known = zone.data.iter().zip(&found).all(|(known, found)| *known == 0 || known == found);
        assert!(known, "zone {number} has lost data: {:?}, {found:?}", zone.data);
        zone.data = found[..capacity as usize].to_vec();
        return;
    }
    if let Some([now, ahead]) = &mut zone.area {
        now.check(number, host.report(number), &host.read_zone(number));
        *ahead = now.clone();
        return;
    }
    assert!(!zone.data.contains(&0), "zone {number} has a gap");
    let wanted = match zone.data.len() as u64 {
        data if zone.finished || data == capacity => ZoneState::Full,
        0 => ZoneState::Empty,
        _ => state,
    };
    assert_eq!(state, wanted, "zone {number}");
    if state != ZoneState::Full {
        assert_eq!(host.written(number), zone.data.len() as u64, "the write pointer of zone {number}");
    }
    let mut content = zone.data.clone();
    content.resize(size as usize, 0);
    assert_eq!(host.read_zone(number), content, "zone {number}");
}
