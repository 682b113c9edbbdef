//! Recovery from spare areas: the state of each superblock, and the newest copy of each mapping unit.
//!
//! Every programmed slot carries its mapping unit and the version of its write, and a copy keeps the version of its
//! original. So the highest version wins, and of equal ones the first in the scan: a family scans its superblocks in an
//! order with originals before their copies. Then the target of an interrupted copy holds nothing valid, and can be
//! erased.

use std::cmp::Ordering;
use std::collections::VecDeque;

use base::units::{Lpn, Psn, SuperblockId};
use flash::nand::{BlockBirth, Media, Spare};

use super::map::Map;
use super::versions::Versions;
use crate::sabotage::{PlantedBug, Sabotage};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountState {
    /// Out of use for good.
    Bad,
    /// Free, with its erase count.
    Erased(u32),
    /// Programmed, even if its data are torn. Births are ordered by age, the oldest first.
    Programmed(BlockBirth),
}

impl MountState {
    /// The state of two superblocks that are written and erased together: bad if one is bad, and erased if both are
    /// erased.
    pub(crate) fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bad, _) | (_, Self::Bad) => Self::Bad,
            (Self::Erased(erases), Self::Erased(others)) => Self::Erased(erases.max(others)),
            (Self::Programmed(birth), Self::Programmed(other)) => Self::Programmed(birth.min(other)),
            (programmed @ Self::Programmed(_), _) | (_, programmed) => programmed,
        }
    }
}

/// Every superblock of an array with its state.
pub(crate) fn survey(media: &Media, planted: PlantedBug) -> impl Iterator<Item = (SuperblockId, MountState)> + use<'_> {
    let all = (0..media.geometry().superblock_count()).map(SuperblockId::new);
    all.map(move |superblock| (superblock, state_of(media, superblock, planted)))
}

pub(crate) fn state_of(media: &Media, superblock: SuperblockId, planted: PlantedBug) -> MountState {
    let torn = planted.is(Sabotage::TornIsFree) && media.spare(media.geometry().slot(superblock, 0)) == Spare::Torn;
    if media.is_bad(superblock) {
        MountState::Bad
    } else if media.is_erased(superblock) || torn {
        MountState::Erased(if planted.is(Sabotage::WearForgotten) { 0 } else { media.erases(superblock) })
    } else {
        MountState::Programmed(media.birth(superblock))
    }
}

/// The version of the data in a slot, if there are any.
#[inline]
pub(crate) fn version_of(media: &Media, psn: Psn) -> Option<u32> {
    match media.spare(psn) {
        Spare::Data { version, .. } => Some(version),
        Spare::Empty | Spare::Torn => None,
    }
}

/// True if a copy of this version replaces the copy that was found before.
#[inline]
pub(crate) fn wins(version: u32, before: Option<u32>, planted: PlantedBug) -> bool {
    before.is_none_or(|before| match version.cmp(&before) {
        Ordering::Greater => !planted.is(Sabotage::OlderRecovered),
        Ordering::Equal => planted.is(Sabotage::CopyRecovered),
        Ordering::Less => planted.is(Sabotage::OlderRecovered),
    })
}

/// Sets an empty map to the newest copies of its mapping units in these superblocks, which come originals first.
/// Ignores mapping units outside the map. Notes every version. Returns the smallest number of units, from 0 on, that
/// includes all units with a place.
pub(crate) fn find_newest(
    media: &Media,
    superblocks: impl Iterator<Item = SuperblockId> + Clone,
    map: &mut Map,
    versions: &mut Versions,
    planted: PlantedBug,
) -> usize {
    if superblocks.clone().count() * 2 > media.geometry().superblock_count() as usize {
        map.touch();
    }
    find_newest_of(media, slots(media, superblocks), map, versions, planted)
}

/// All slots of the superblocks, in order.
pub(crate) fn slots(media: &Media, superblocks: impl Iterator<Item = SuperblockId>) -> impl Iterator<Item = Psn> {
    let geometry = media.geometry();
    superblocks
        .flat_map(move |superblock| (0..geometry.superblock_slots()).map(move |at| geometry.slot(superblock, at)))
}

/// The number of copies by which the prefetch of map entries runs ahead.
const AHEAD: usize = 8;

/// Does for given slots what [`find_newest`] does for superblocks.
pub(crate) fn find_newest_of(
    media: &Media,
    slots: impl Iterator<Item = Psn>,
    map: &mut Map,
    versions: &mut Versions,
    planted: PlantedBug,
) -> usize {
    let mut end = 0;
    // Copies whose map entries are being prefetched.
    let mut ahead = VecDeque::with_capacity(AHEAD + 1);
    let consider = |map: &mut Map, (lpn, version, psn): (Lpn, u32, Psn)| {
        if wins(version, map.get(lpn).and_then(|before| version_of(media, before)), planted) {
            map.set(lpn, Some(psn));
        }
    };
    for psn in slots {
        let Spare::Data { lpn, version } = media.spare(psn) else { continue };
        if lpn.get() & Spare::PARITY != 0 {
            continue;
        }
        if !planted.is(Sabotage::VersionRestarts) {
            versions.note(version);
        }
        if lpn.get() >= map.len() {
            continue;
        }
        end = end.max(lpn.index() + 1);
        map.prefetch(lpn.index());
        ahead.push_back((lpn, version, psn));
        if ahead.len() > AHEAD
            && let Some(copy) = ahead.pop_front()
        {
            consider(map, copy);
        }
    }
    ahead.into_iter().for_each(|copy| consider(map, copy));
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Time;
    use flash::backend::{Backend, Cause, Class, Slot};
    use flash::nand::{Stream, Target};

    use crate::rig::Rig;

    /// An array of one die with six blocks of four pages.
    fn array() -> Backend {
        let text = r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 6, pages = 4, planes = 1 }
ftl = { capacity = '16KiB', kind = 'block', block = { replacements = 0 } }";
        let mut backend = Rig::new(text).backend;
        backend.set_timed(false);
        backend
    }

    /// Programs a mapping unit to the next page of a block. Returns false if the program fails.
    fn program(backend: &mut Backend, (block, page): (u32, u32), lpn: u32, version: u32) -> bool {
        let list = backend.open_list(Class::Other, 0);
        let target = Target { superblock: SuperblockId::new(block), offset: page };
        let program = backend.add_program(list, Cause::Host, target, Stream::HOST);
        backend.push_slot(program, Slot { lpn: Lpn::new(lpn), version, expected: true, ..Slot::default() });
        assert_eq!(backend.begin_serial(Time::ZERO, list), None, "time is off");
        assert_eq!(backend.take_finished(), Some(list));
        let failed = backend.command(program).failed;
        backend.release(list);
        !failed
    }

    fn found(backend: &Backend, blocks: &[u32], units: u32) -> (Vec<(u32, u32)>, u32) {
        let (mut map, mut versions) = (Map::new(units), Versions::default());
        let blocks = blocks.iter().copied().map(SuperblockId::new);
        find_newest(backend.media(), blocks, &mut map, &mut versions, PlantedBug::default());
        (map.iter().map(|(lpn, psn)| (lpn.get(), psn.get())).collect(), versions.latest())
    }

    #[test]
    fn the_survey_finds_each_superblock_bad_erased_or_programmed() {
        let mut backend = array();
        backend.media_mut().retire(SuperblockId::new(1));
        backend.media_mut().faults_mut().fail_program(1);
        for (block, well) in [(4, true), (0, false), (3, true)] {
            assert_eq!(program(&mut backend, (block, 0), 0, 1), well);
        }
        let found: Vec<MountState> = survey(backend.media(), PlantedBug::default()).map(|(_, found)| found).collect();
        let born = |order| MountState::Programmed(BlockBirth { order, stream: Stream::HOST });
        // A superblock with a failed program is not erased.
        assert_eq!(found, [born(1), MountState::Bad, MountState::Erased(0), born(2), born(0), MountState::Erased(0)]);
    }

    #[test]
    fn recovery_takes_the_highest_version_in_any_superblock() {
        let mut backend = array();
        for (place, lpn, version) in [((2, 0), 0, 5), ((2, 1), 1, 6), ((3, 0), 0, 8), ((3, 1), 1, 4), ((3, 2), 0, 7)] {
            assert!(program(&mut backend, place, lpn, version));
        }
        let expected = (vec![(0, 12), (1, 9)], 8);
        assert_eq!(found(&backend, &[2, 3], 2), expected);
        assert_eq!(found(&backend, &[3, 2], 2), expected);
        assert_eq!(
            found(&backend, &[2], 2),
            (vec![(0, 8), (1, 9)], 6),
            "a superblock that is not scanned gives nothing"
        );
        assert_eq!(
            found(&backend, &[2, 3], 1),
            (vec![(0, 12)], 8),
            "the mapping unit is beyond the map, its version counts"
        );
    }

    #[test]
    fn recovery_takes_the_first_scanned_of_equal_versions() {
        let mut backend = array();
        for block in [2, 3, 4] {
            assert!(program(&mut backend, (block, 0), 7, 5));
        }
        for (blocks, place) in [([2, 3, 4], 8), ([3, 4, 2], 12), ([4, 2, 3], 16)] {
            assert_eq!(found(&backend, &blocks, 8), (vec![(7, place)], 5));
        }
        assert!(wins(6, Some(5), PlantedBug::default()) && wins(0, None, PlantedBug::default()));
        assert!(!wins(5, Some(5), PlantedBug::default()) && !wins(4, Some(5), PlantedBug::default()));
    }

    #[test]
    fn a_torn_program_keeps_the_older_copy() {
        let mut backend = array();
        assert!(program(&mut backend, (2, 0), 0, 1));
        backend.media_mut().faults_mut().fail_program(0);
        assert!(!program(&mut backend, (3, 0), 0, 2));
        assert_eq!(found(&backend, &[2, 3], 1), (vec![(0, 8)], 1));
        let torn = backend.media().geometry().slot(SuperblockId::new(3), 0);
        assert_eq!(version_of(backend.media(), torn), None);
    }
}
