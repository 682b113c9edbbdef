//! Separation of reclaim unit handles: what the host wrote with one handle must lie in superblocks of that handle, in
//! the reclaim group that the placement identifier names.

use std::collections::BTreeMap;

use base::io::{Io, IoKind, PlacementId};
use base::units::{Psn, SuperblockId};
use flash::nand::Spare;
use ssd::{Drive, FdpSpec, Isolation};

use super::{Trial, Work, script};
use crate::Host;

pub(super) fn placement(trial: &Trial<'_>) -> Work {
    let Some(fdp) = trial.resolved.ftl.fdp else { return Work::default() };
    let mut host = trial.host();
    let script = script::without_discards(trial.seed, trial.capacity(), trial.effort.requests);
    script::play(&mut host, &script);
    host.run_until_idle();
    host.submit(Io::FLUSH);
    host.run_until_idle();
    let writes = script.iter().map(|line| line.io).filter(|io| io.kind == IoKind::Write);
    check(trial, &host, &fdp, &identifiers(trial, writes));
    Work::of(&host)
}

/// Collects the identifier of the latest write to each mapping unit.
fn identifiers(trial: &Trial<'_>, writes: impl Iterator<Item = Io>) -> BTreeMap<u32, PlacementId> {
    let geometry = &trial.resolved.geometry;
    let units = |io: Io| geometry.unit_of(io.start.get()) as u32..=geometry.unit_of(io.end().get() - 1) as u32;
    writes.flat_map(|io| units(io).map(move |lpn| (lpn, io.placement))).collect()
}

/// Checks the superblock of every slot that holds the latest version of a mapping unit.
fn check(trial: &Trial<'_>, host: &Host, fdp: &FdpSpec, identifiers: &BTreeMap<u32, PlacementId>) {
    let (geometry, media) = (&trial.resolved.geometry, host.ssd().media());
    let written = (0..geometry.superblock_count()).map(SuperblockId::new).filter(|member| !media.is_erased(*member));
    let slots =
        written.flat_map(|member| geometry.slots_of(member).map(move |slot| (member, media.spare(Psn::new(slot)))));
    let slots: Vec<(SuperblockId, u32, u32)> = slots
        .filter_map(|(member, spare)| match spare {
            Spare::Data { lpn, version, .. } => Some((member, lpn.get(), version)),
            Spare::Empty | Spare::Torn => None,
        })
        .collect();
    let mut latest = BTreeMap::<u32, u32>::new();
    for (_, lpn, version) in &slots {
        latest.entry(*lpn).and_modify(|known| *known = (*known).max(*version)).or_insert(*version);
    }
    let mut shared = 0;
    for (member, lpn, version) in slots {
        let Some(id) = identifiers.get(&lpn).filter(|_| latest[&lpn] == version) else { continue };
        let target = fdp.target(*id);
        let (handle, stream) = (target.map_or(0, |target| target.handle), media.birth(member).stream);
        if stream.is_host() {
            let wanted = format!("mapping unit {lpn}, identifier {}, in {member}", id.get());
            assert_eq!(u16::from(stream.number()), handle, "handle of {wanted}");
        } else if fdp.isolation == Isolation::Persistent {
            shared += u64::from(u16::from(stream.number()) != handle);
        }
        if let Some(group) = target.and_then(|target| target.group) {
            let dies = &trial.resolved.host.queues.sets[group as usize + 1];
            assert!(dies.contains(&geometry.die_of(member)), "mapping unit {lpn} of group {group} is in {member}");
        }
    }
    let counted = host.ssd().counters().fdp.expect("counters of FDP").shared_copies;
    assert!(shared <= counted, "{shared} mapping units are with another handle, and {counted} were counted");
}
