//! The map of the FTL, as the rest of the FTL sees it.
//!
//! [`L2p::Ram`] answers at once. [`L2p::MapUnit`] answers later: the question stores the work, and
//! [`super::answer`] continues it. A table in RAM (the global translation directory) maps the translation pages
//! themselves.
//!
//! A read asks for at most 16 neighbours of one translation page at once, and pins the places in the order of the answers. A
//! write is programmed first; then the map unit gets an `Update`, and the write is acknowledged after the answer. A part of a
//! mapping unit is looked up before it is placed. A discard is an update to nowhere. A copy is entered on the condition that the
//! mapping unit is still where it was copied from (`CondUpdate`); if not, the copy is garbage.
//!
//! Questions of the host and of the collector take effect in no fixed order, so between the end of a program and the answer
//! either copy may be the current one:
//!
//! | hazard | rule |
//! | --- | --- |
//! | no entry leads to the new place yet, and its superblock is erased | a place is valid from the end of its program, beside the old one; only an answer gives a place up |
//! | the superblock is collected, and the copy races with the update | a superblock stays *full*, and is no candidate, until each mapping unit programmed there has its answer |
//! | the victim is erased while the map still leads there | a copied mapping unit pins its victim until the `CondUpdate` is answered |
//! | a copy fails its condition, and the old place is given up with it | a failed condition gives nothing up: the write that superseded the place does |
//! | a read's place is erased before the read | answers are handled in the order in which they took effect, and a look-up pins at once |
//! | the rest of a mapping unit is read from a place that was given up while the write waited | the map unit is asked again if the slot is invalid or its superblock was erased since |
//! | a pool is given up, or a write refused, although an answer will make room | neither happens while an answer is outstanding; the last answer wakes all waiting writes |

pub(super) mod checkpoint;
pub(super) mod checkpoint_pages;
pub(super) mod map_client;
pub(super) mod map_pages;
mod mount;
pub(super) mod moves;
pub(super) mod translation;
pub(super) mod trim;
pub(super) mod trim_pages;

use base::units::{Lpn, Psn, SuperblockId, Time};
use flash::backend::Slot;
use flash::nand::{Media, Spare};

use super::PageConfig;
use super::block_manager::BlockManager;
use super::block_manager::pool::Holds;
use crate::map_unit::{self, Ask, Asker, Counters, HostMemory, MapUnit};
use crate::port::{Flash, OldPlace, Owner, Owners, PageWrite, Service};
use crate::sabotage::Sabotage;
use crate::toolkit::{Map, Versions};
use checkpoint::Checkpoints;
use map_client::{MapClient, Question};
use trim::Trims;

/// The map of a device, and the pages on flash that keep the map and the discards.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) l2p: L2p,
    /// Mapping units that the host can address. The FTL's own pages have the numbers behind them.
    pub(super) units: u32,
    /// Mapping units that recovery found.
    pub(super) found: u32,
    pub(super) versions: Versions,
    /// The trim pages, if discards are durable.
    pub(super) trims: Option<Box<Trims>>,
    pub(super) checkpoints: Option<Box<Checkpoints>>,
}

/// The table from logical to physical places.
#[derive(Clone, Debug)]
pub(super) enum L2p {
    /// A table in RAM that answers at once.
    Ram(Map),
    /// The map is on flash behind a map unit, which answers look-ups after some time.
    MapUnit(Box<MapClient>),
}

/// The table that has the place of a page numbered behind the pages of the map, and the number of the page in that
/// table; none for other logical numbers.
fn side_entry<'a>(
    trims: &'a mut Option<Box<Trims>>,
    checkpoints: &'a mut Option<Box<Checkpoints>>,
    lpn: Lpn,
) -> Option<(&'a mut Map, Lpn)> {
    let of_checkpoint = checkpoints.as_mut().and_then(|checkpoints| checkpoints.entry(lpn));
    of_checkpoint.or_else(|| trims.as_mut().and_then(|trims| trims.entry(lpn)))
}

/// Bytes of memory of the map of a device. At the start of a map unit they include the entries that recovery found, and
/// the content of stale translation pages.
pub(super) fn memory(config: &PageConfig) -> u64 {
    let pages = &config.map_pages;
    let (units, count, entries) = (u64::from(config.units), u64::from(pages.count), u64::from(pages.entries));
    let recovered = Map::memory(count * entries);
    let unit = map_unit::memory(&config.map, units, count, entries);
    Map::memory(units + count) + recovered + unit + Map::memory(count)
}

impl L2p {
    /// The place of a mapping unit, if the map is a table in RAM.
    #[inline]
    pub(super) fn peek(&self, unit: usize) -> Option<Psn> {
        match self {
            Self::Ram(map) => map.peek(unit),
            Self::MapUnit(_) => None,
        }
    }
}

impl Mapping {
    /// Prefetches the data for the lookup of a mapping unit.
    #[inline]
    pub(crate) fn prefetch(&self, unit: usize, media: &Media) {
        match &self.l2p {
            L2p::Ram(map) => map.prefetch(unit),
            L2p::MapUnit(map_client) => map_client.prefetch(unit, media),
        }
    }

    /// True if the map may point to a place of a mapping unit, now or after pending answers.
    pub(crate) fn may_hold(&self, lpn: Lpn, media: &Media) -> bool {
        match &self.l2p {
            L2p::Ram(map) => map.get(lpn).is_some(),
            L2p::MapUnit(map_client) => map_client.peek(lpn, media).is_some(),
        }
    }

    /// Discards a mapping unit: it reads as zeros until the next write. After a power cut recovery may find an older
    /// copy, unless discards are durable. Returns true if `Owners::discard_done` will report the end later.
    pub(crate) fn discard(&mut self, blocks: &mut BlockManager, now: Time, owner: Owner, lpn: Lpn) -> bool {
        let latest = self.versions.latest();
        let trims = self.trims.as_mut().filter(|_| !blocks.planted.is(Sabotage::DiscardUnrecorded));
        trims.is_some_and(|trims| trims.record(owner, lpn, latest)) || self.give_up_unit(blocks, now, owner, lpn)
    }

    /// Removes the map's entry of a mapping unit. Returns true if the map unit will report the end.
    pub(super) fn give_up_unit(&mut self, blocks: &mut BlockManager, now: Time, owner: Owner, lpn: Lpn) -> bool {
        match &mut self.l2p {
            L2p::Ram(map) => {
                if let Some(old) = map.set(lpn, None) {
                    blocks.invalidate(old);
                }
                false
            }
            L2p::MapUnit(map_client) => {
                map_client.ask(now, Asker::Host, Question::Discard { owner }, Ask::Update { lpn, to: None });
                true
            }
        }
    }

    /// Drops a valid mapping unit from the map and the counts, for [`Sabotage::CollectionDrops`].
    pub(super) fn drop_unit(&mut self, blocks: &mut BlockManager, flash: &Flash<'_>, psn: Psn) {
        let L2p::Ram(_) = self.l2p else { return blocks.invalidate(psn) };
        if let Spare::Data { lpn, .. } = flash.backend.media().spare(psn) {
            self.discard(blocks, flash.now, None, lpn);
        }
    }

    /// Enters the place of a mapping unit that has been programmed. Returns true if the map points to it; false if the
    /// map unit has been asked, and the owner gets the report after the answer.
    ///
    /// From now on the new place counts as valid, beside the old one. Its superblock is neither a candidate for
    /// collection nor erased before the map unit answers, because until then either place may be the current one.
    #[inline]
    pub(super) fn enter(
        &mut self,
        blocks: &mut BlockManager,
        flash: &mut Flash<'_>,
        slot: &Slot,
        (psn, superblock): (Psn, SuperblockId),
        service: Service,
    ) -> bool {
        match &mut self.l2p {
            L2p::Ram(map) => {
                blocks.table.mark_valid_in(psn, superblock);
                if let Some(old) = map.set(slot.lpn, Some(psn)) {
                    blocks.invalidate(old);
                }
                return true;
            }
            L2p::MapUnit(_) if slot.lpn.get() >= self.units => self.page_stored(blocks, flash, slot, psn),
            L2p::MapUnit(map_client) => {
                if !blocks.planted.is(Sabotage::PlaceUnmarked) {
                    blocks.table.mark_valid_in(psn, superblock);
                }
                blocks.table.begin_program(superblock);
                let question = Question::Write { owner: slot.owner, service, to: psn };
                map_client.ask(flash.now, Asker::Host, question, Ask::Update { lpn: slot.lpn, to: Some(psn) });
            }
        }
        false
    }

    /// Enters a copy that has ended, unless the host has written or discarded the mapping unit meanwhile. Returns false
    /// if the map unit decides that later; until then both places are valid, and the source stays pinned. `superblock`
    /// is the superblock of the copy, and `pool` its pool.
    pub(super) fn enter_copy(
        &mut self,
        blocks: &mut BlockManager,
        now: Time,
        lpn: Lpn,
        [from, to]: [Psn; 2],
        (superblock, pool): (SuperblockId, u32),
    ) -> bool {
        let units = self.units;
        let (map, lpn) = match (side_entry(&mut self.trims, &mut self.checkpoints, lpn), &mut self.l2p) {
            (Some(side), _) => side,
            (None, L2p::Ram(map)) => (map, lpn),
            (None, L2p::MapUnit(map_client)) if lpn.get() >= units => {
                (&mut map_client.directory, Lpn::new(lpn.get() - units))
            }
            (None, L2p::MapUnit(_)) => {
                let source = blocks.pool_at(from);
                blocks.pools[pool as usize].live += 1;
                blocks.pools[source as usize].gc.asked += 1;
                blocks.table.mark_valid_in(to, superblock);
                blocks.table.begin_program(superblock);
                let ask = match blocks.planted.is(Sabotage::ConditionIgnored) {
                    true => Ask::Update { lpn, to: Some(to) },
                    false => Ask::CondUpdate { lpn, from, to },
                };
                if let L2p::MapUnit(map_client) = &mut self.l2p {
                    map_client.ask(now, Asker::Collector, Question::Copy { from, to }, ask);
                }
                if blocks.planted.is(Sabotage::ErasedUnanswered) && blocks.table.is_valid(from) {
                    blocks.invalidate(from);
                    return true;
                }
                return false;
            }
        };
        if lpn.get() >= map.len() {
            return true;
        }
        let overrules = blocks.planted.is(Sabotage::CopyOverrules) && map.get(lpn).is_some();
        if overrules || map.get(lpn) == Some(from) {
            let old = map.set(lpn, Some(to));
            if blocks.planted.is(Sabotage::StaleMapping) && to.get() % 16 == 5 && !overrules {
                map.set(lpn, Some(from));
            }
            blocks.pools[pool as usize].live += 1;
            blocks.table.mark_valid_in(to, superblock);
            if let Some(old) = old {
                blocks.invalidate(old);
            }
        }
        true
    }

    /// The old place of a partly written mapping unit, from which its other sectors are read; called after the map
    /// unit's answer.
    pub(super) fn rest_of(&self, unit: &PageWrite) -> Option<Psn> {
        match (&self.l2p, unit.old_place) {
            (L2p::Ram(map), _) => map.get(unit.lpn),
            (L2p::MapUnit(_), OldPlace::At { psn, .. }) => Some(psn),
            (L2p::MapUnit(_), _) => None,
        }
    }

    /// Asks the map unit for the place of a partly written mapping unit, unless the place is known and still valid.
    /// Returns true if the map unit was asked: its answer brings the write back.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Mostly the map is in RAM, and no question is asked.
    pub(super) fn asks_place(&mut self, blocks: &BlockManager, flash: &Flash<'_>, unit: &PageWrite) -> bool {
        let L2p::MapUnit(map_client) = &mut self.l2p else { return false };
        if unit.is_whole(blocks.layout.shape.sectors) {
            return false;
        }
        let known = match unit.old_place {
            OldPlace::Unasked => false,
            OldPlace::Nowhere => true,
            // While the write waited, the mapping unit may have moved, and the slot may even hold another mapping unit.
            OldPlace::At { psn, erases } => {
                blocks.table.is_valid(psn) && flash.backend.media().erases(blocks.layout.member_at(psn)) == erases
            }
        };
        if !known {
            map_client.ask(
                flash.now,
                Asker::Host,
                Question::OldPlace(*unit),
                Ask::Lookup { first: unit.lpn, count: 1 },
            );
        }
        !known
    }

    /// True if the map unit still owes an answer that may free or take space.
    pub(super) fn awaits_answers(&self) -> bool {
        matches!(&self.l2p, L2p::MapUnit(map_client) if map_client.awaits_answers())
    }

    /// True if a trim page or a page of a checkpoint must be stored now.
    pub(super) fn side_pages_are_due(&self, blocks: &BlockManager) -> bool {
        self.trims.as_ref().is_some_and(|trims| trims.is_due())
            || self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_due(blocks))
    }

    /// Notes that a write has come to the FTL: it is newer than a discard that its mapping unit may have.
    #[inline]
    pub(super) fn note_write(&mut self, unit: &PageWrite) {
        if let Some(trims) = &mut self.trims {
            trims.note_write(unit);
        }
    }

    /// Notes that a mapping unit has been programmed, or refused if not `written`.
    #[inline]
    pub(super) fn note_written(&mut self, lpn: Lpn, version: u32, written: bool) {
        if let Some(trims) = &mut self.trims {
            trims.note_written(lpn, version, written);
        }
    }

    /// True if a mapping unit that has just been programmed is older than a durable discard of it.
    #[inline]
    pub(super) fn is_outdated(&mut self, slot: &Slot) -> bool {
        self.trims.as_mut().is_some_and(|trims| trims.is_outdated(slot))
    }

    /// Refuses a write that never finds space. For a trim page the discards that it records are refused; for a page of a
    /// checkpoint the checkpoint is given up.
    pub(super) fn refuse(&mut self, blocks: &mut BlockManager, owners: &mut dyn Owners, unit: &PageWrite) {
        if let Some(checkpoints) = self.checkpoints.as_mut().filter(|of| of.holds(unit.lpn)) {
            return checkpoints.give_up(blocks, unit);
        }
        self.note_written(unit.lpn, unit.version, false);
        match self.trims.as_mut().filter(|trims| trims.holds(unit.lpn)) {
            Some(trims) => trims.refuse(owners, unit.lpn),
            None => owners.write_refused(unit.owner),
        }
    }

    /// The content of the pool that takes a mapping unit.
    pub(super) fn kind_of(&self, lpn: Lpn) -> Holds {
        let data = lpn.get() < self.units || self.is_trim(lpn) || self.is_checkpoint(lpn);
        if data { Holds::Data } else { Holds::Pages }
    }

    /// The places of all pages with numbers behind those of the map's pages.
    pub(super) fn side_places(&self) -> impl Iterator<Item = Option<Psn>> + '_ {
        let trims = self.trims.iter().flat_map(|trims| trims.places());
        trims.chain(self.checkpoints.iter().flat_map(|checkpoints| checkpoints.places()))
    }

    /// True if the map unit has work to do now. With time off the time of its work does not count.
    #[inline]
    pub(crate) fn map_is_due(&self, timed: bool) -> bool {
        match &self.l2p {
            L2p::Ram(_) => false,
            L2p::MapUnit(map_client) => map_client.is_due(timed),
        }
    }

    /// Marks the map unit's work as due, if its time has come.
    pub(crate) fn wake(&mut self, now: Time) {
        if let L2p::MapUnit(map_client) = &mut self.l2p {
            map_client.wake(now);
        }
    }

    /// The host memory buffer, if the drive asks for one.
    pub(crate) fn host_memory(&mut self) -> Option<&mut HostMemory> {
        match &mut self.l2p {
            L2p::Ram(_) => None,
            L2p::MapUnit(map_client) => map_client.host_memory.as_deref_mut(),
        }
    }

    /// The counters of the map unit since the power came on, if there is one.
    pub(crate) fn map_counters(&self, now: Time) -> Option<Counters> {
        match &self.l2p {
            L2p::Ram(_) => None,
            L2p::MapUnit(map_client) => Some(map_client.counters(now)),
        }
    }

    /// Replaces a map unit with translation pages by one that stores the pages when the power goes off, see
    /// [`crate::Preconditioning::begin`].
    pub(crate) fn begin_preconditioning(&mut self, media: &Media) {
        if let L2p::MapUnit(map_client) = &mut self.l2p {
            map_client.store_at_the_end(media);
        }
    }

    pub(crate) fn set_timed(&mut self, timed: bool) {
        if let L2p::MapUnit(map_client) = &mut self.l2p {
            map_client.unit.set_timed(timed);
        }
    }

    /// Starts to store the entries that only the map unit's RAM holds, because the power is about to go off in order.
    pub(crate) fn flush_map(&mut self, now: Time) {
        if let L2p::MapUnit(map_client) = &mut self.l2p {
            map_client.flush(now);
        }
    }
}
