//! The contents that zones may have after a power cut among requests.
//!
//! The drive may have carried out unacknowledged requests, one after another in the order in which it admitted them,
//! and a part of the last write. Appends between two other requests are admitted in any order.

use std::collections::BTreeMap;

use base::io::{Io, IoKind};
use ssd::ZoneState;

use super::under_way::{ExpectedZone, OutstandingRequest};
use super::{ZoneHost, stamp};

/// A request that a power cut has left without an answer.
#[derive(Clone, Copy, Debug)]
struct UnansweredRequest {
    tag: u64,
    io: Io,
    kind: IoKind,
    sectors: u64,
}

/// The unanswered requests of each zone, in the order of their submission.
pub(super) struct UnansweredRequests(BTreeMap<u64, Vec<UnansweredRequest>>);

impl UnansweredRequests {
    pub(super) fn of(under_way: &BTreeMap<u64, OutstandingRequest>) -> Self {
        let mut lost: BTreeMap<u64, Vec<UnansweredRequest>> = BTreeMap::new();
        for (tag, OutstandingRequest { io, zone, .. }) in
            under_way.iter().filter(|(_, request)| request.io.kind != IoKind::Read)
        {
            lost.entry(*zone).or_default().push(UnansweredRequest {
                tag: *tag,
                io: *io,
                kind: io.kind,
                sectors: io.sectors.get(),
            });
        }
        Self(lost)
    }

    /// Cuts the power, checks the contents of the zones, and expects these contents from then on.
    pub(super) fn check(&self, host: &mut ZoneHost, zones: &mut [ExpectedZone], may_fail: bool) {
        host.drive.cut_power();
        host.done.clear();
        host.drive.ssd.power_on(host.drive.ssd.now());
        host.run_until_idle();
        let capacity = host.sizes()[1];
        for (number, zone) in (0..).zip(zones) {
            let report = host.report(number);
            if may_fail && matches!(report.state, ZoneState::ReadOnly | ZoneState::Offline) {
                zone.failed = true;
            }
            let lost = self.0.get(&number).map_or(&[][..], Vec::as_slice);
            let requests: Vec<(u64, Io)> = lost.iter().map(|lost| (lost.tag, lost.io)).collect();
            if zone.failed {
                // The caller compares the acknowledged data.
                zone.area.iter_mut().flatten().for_each(|area| area.forget(&requests));
                continue;
            }
            let found = host.read_zone(number);
            if let Some([now, ahead]) = &mut zone.area {
                let Some(after) = now.after_cut(&requests, &found, report) else {
                    panic!("{now:?} and {requests:?} were under way: zone {number} is {report:?} and holds {found:?}")
                };
                (*now, *ahead) = (after.clone(), after);
                continue;
            }
            let data = found.iter().take_while(|sector| **sector != 0).count();
            assert!(found[data..].iter().all(|sector| *sector == 0), "zone {number} has a gap: {found:?}");
            let found = &found[..data];
            // Acknowledged appends may stand behind one that was not.
            let fits = explains(&zone.data, zone.finished, lost, found);
            let Some(finished) = fits else {
                panic!("zone {number} held {:?} and {lost:?} were under way: it holds {found:?}", zone.data)
            };
            let state = match data as u64 {
                _ if finished.contains(&true) && report.state == ZoneState::Full => ZoneState::Full,
                full if full == capacity => ZoneState::Full,
                _ if !finished.contains(&false) => ZoneState::Full,
                0 => ZoneState::Empty,
                _ => ZoneState::Closed,
            };
            assert_eq!(report.state, state, "zone {number} with {data} sectors");
            zone.data = found.to_vec();
            zone.finished = state == ZoneState::Full;
        }
    }
}

/// Lists whether the zone may have been finished, given that it holds `found`; `None` if it cannot hold that.
fn explains(before: &[u64], finished: bool, lost: &[UnansweredRequest], found: &[u64]) -> Option<Vec<bool>> {
    let mut ways = Vec::new();
    search(before, finished, lost, found, &mut ways);
    (!ways.is_empty()).then_some(ways)
}

/// Tries all orders of appends, and a cut at any place. `content` has zeros where an unanswered append may lie.
fn search(content: &[u64], finished: bool, lost: &[UnansweredRequest], found: &[u64], ways: &mut Vec<bool>) {
    if ways.contains(&true) && ways.contains(&false) {
        return;
    }
    let gap = content.iter().position(|sector| *sector == 0);
    if gap.is_none() && content == found {
        ways.push(finished);
    }
    let Some(first) = lost.first() else { return };
    match first.kind {
        IoKind::ZoneReset if gap.is_none() => search(&[], false, &lost[1..], found, ways),
        IoKind::ZoneFinish if gap.is_none() => search(content, true, &lost[1..], found, ways),
        IoKind::Append | IoKind::Write => {
            let run = lost.iter().take_while(|next| next.kind == first.kind && first.kind == IoKind::Append).count();
            for i in 0..run.max(1) {
                let next = lost[i];
                let at = gap.unwrap_or(content.len());
                let stamps: Vec<u64> = (0..next.sectors).map(|sector| stamp(next.tag, sector)).collect();
                let free = content[at..].iter().take_while(|sector| **sector == 0).count();
                if gap.is_some() && free < stamps.len() {
                    continue;
                }
                // A cut may leave a part of the request, at the end of the content.
                let is_last = gap.is_none();
                let part = found.len().saturating_sub(at).min(stamps.len());
                if is_last && part < stamps.len() && found.starts_with(content) && found[at..] == stamps[..part] {
                    ways.push(finished);
                }
                let mut with = content.to_vec();
                with.resize(with.len().max(at + stamps.len()), 0);
                with[at..at + stamps.len()].copy_from_slice(&stamps);
                // The search continues only if flash holds the content so far, or if a reset follows.
                let differs = with.iter().zip(found).any(|(with, found)| *with != 0 && with != found);
                let resets = lost.iter().any(|next| next.kind == IoKind::ZoneReset);
                if differs && !resets {
                    continue;
                }
                let rest: Vec<UnansweredRequest> =
                    lost.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, next)| *next).collect();
                search(&with, finished, &rest, found, ways);
            }
        }
        _ => {}
    }
}
