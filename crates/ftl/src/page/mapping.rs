//! The map of the FTL, as the rest of the FTL sees it.
//!
//! [`Mapping::Ram`] answers at once. [`Mapping::MapUnit`] answers later: the question stores the work, and
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

use base::units::{Lpn, Psn, SuperblockId, Time};
use flash::backend::Slot;
use flash::nand::{Media, Spare};

use super::map_client::{MapClient, Question};
use super::{PageConfig, PageFtl};
use crate::map_unit::{self, Ask, Asker, Counters, MapUnit};
use crate::port::{Flash, OldPlace, Owner, PageWrite, Service};
use crate::sabotage::Sabotage;
use crate::toolkit::Map;

/// The map of a device.
#[derive(Clone, Debug)]
pub(super) enum Mapping {
    /// A table in RAM that answers at once.
    Ram(Map),
    /// A map unit.
    MapUnit(Box<MapClient>),
}

/// Bytes of memory of the map of a device. At the start of a map unit this includes the entries that recovery found,
/// and those of stale translation pages.
pub(super) fn memory(config: &PageConfig) -> u64 {
    let pages = &config.map_pages;
    let (units, count, entries) = (u64::from(config.units), u64::from(pages.count), u64::from(pages.entries));
    let recovered = Map::memory(count * entries);
    let unit = map_unit::memory(&config.map, units, count, entries);
    Map::memory(units + count) + recovered + unit + Map::memory(count)
}

impl Mapping {
    pub(super) fn new(units: u32) -> Self {
        Self::Ram(Map::new(units))
    }
}

impl Mapping {
    /// The place of a mapping unit, if it is in RAM.
    #[inline]
    pub(super) fn peek(&self, unit: usize) -> Option<Psn> {
        match self {
            Self::Ram(map) => map.peek(unit),
            Self::MapUnit(_) => None,
        }
    }
}

impl PageFtl {
    /// Prefetches the data for the lookup of a mapping unit.
    #[inline]
    pub(crate) fn fetch(&self, unit: usize, media: &Media) {
        match &self.mapping {
            Mapping::Ram(map) => map.fetch(unit),
            Mapping::MapUnit(map_client) => map_client.fetch(unit, media),
        }
    }

    /// True if the map points to a place of a mapping unit, or will soon.
    pub(crate) fn may_hold(&self, lpn: Lpn, media: &Media) -> bool {
        match &self.mapping {
            Mapping::Ram(map) => map.get(lpn).is_some(),
            Mapping::MapUnit(map_client) => map_client.peek(lpn, media).is_some(),
        }
    }

    /// Discards a mapping unit: it reads as zeros until the next write. After a power cut recovery may find an older
    /// copy, unless discards are durable. Returns true if `Owners::discard_done` will report the end later.
    pub(crate) fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool {
        if self.blocks.planted.is(Sabotage::DiscardForgotten) {
            return false;
        }
        self.record_discard(owner, lpn) || self.give_up_unit(now, owner, lpn)
    }

    /// Lets the map no longer point to a mapping unit. Returns true if the map unit will report the end.
    pub(super) fn give_up_unit(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool {
        match &mut self.mapping {
            Mapping::Ram(map) => {
                if let Some(old) = map.set(lpn, None) {
                    self.blocks.invalidate(old);
                }
                false
            }
            Mapping::MapUnit(map_client) => {
                map_client.ask(now, Asker::Host, Question::Discard { owner }, Ask::Update { lpn, to: None });
                true
            }
        }
    }

    /// Drops a valid mapping unit from the map and the counts, for [`Sabotage::CollectionDrops`].
    pub(super) fn drop_unit(&mut self, flash: &Flash<'_>, psn: Psn) {
        let Mapping::Ram(_) = self.mapping else { return self.blocks.invalidate(psn) };
        if let Spare::Data { lpn, .. } = flash.backend.media().spare(psn) {
            self.discard(flash.now, None, lpn);
        }
    }

    /// A mapping unit has been programmed. Returns true if the map points to it; false if the owner gets the report
    /// later.
    ///
    /// From now on the new place counts as valid, beside the old one. Its superblock is neither a candidate for
    /// collection nor erased before the map unit answers, because either place may be the current one by then.
    #[inline]
    pub(super) fn enter(
        &mut self,
        flash: &mut Flash<'_>,
        slot: &Slot,
        (psn, superblock): (Psn, SuperblockId),
        service: Service,
    ) -> bool {
        match &mut self.mapping {
            Mapping::Ram(map) => {
                self.blocks.table.mark_valid_in(psn, superblock);
                if let Some(old) = map.set(slot.lpn, Some(psn)) {
                    self.blocks.invalidate(old);
                }
                return true;
            }
            Mapping::MapUnit(_) if slot.lpn.get() >= self.units => self.page_stored(flash, slot, psn),
            Mapping::MapUnit(map_client) => {
                if !self.blocks.planted.is(Sabotage::PlaceUnmarked) {
                    self.blocks.table.mark_valid_in(psn, superblock);
                }
                self.blocks.table.begin_program(superblock);
                let question = Question::Write { owner: slot.owner, service, to: psn };
                map_client.ask(flash.now, Asker::Host, question, Ask::Update { lpn: slot.lpn, to: Some(psn) });
            }
        }
        false
    }

    /// A copy has ended: the map follows it only if the host has neither written nor discarded the mapping unit
    /// meanwhile. Returns false if the map unit decides this later; until then both places are valid, and the source
    /// stays pinned. `superblock` is that of the copy, and `pool` that superblock's.
    pub(super) fn enter_copy(
        &mut self,
        now: Time,
        lpn: Lpn,
        [from, to]: [Psn; 2],
        (superblock, pool): (SuperblockId, u32),
    ) -> bool {
        let units = self.units;
        let (map, lpn) = match (Self::side_directory(&mut self.trims, &mut self.checkpoints, lpn), &mut self.mapping) {
            (Some(side), _) => side,
            (None, Mapping::Ram(map)) => (map, lpn),
            (None, Mapping::MapUnit(map_client)) if lpn.get() >= units => {
                (&mut map_client.directory, Lpn::new(lpn.get() - units))
            }
            (None, Mapping::MapUnit(_)) => {
                let source = self.blocks.pool_at(from);
                self.blocks.pools[pool as usize].live += 1;
                self.blocks.pools[source as usize].gc.asked += 1;
                self.blocks.table.mark_valid_in(to, superblock);
                self.blocks.table.begin_program(superblock);
                let ask = match self.blocks.planted.is(Sabotage::ConditionIgnored) {
                    true => Ask::Update { lpn, to: Some(to) },
                    false => Ask::CondUpdate { lpn, from, to },
                };
                if let Mapping::MapUnit(map_client) = &mut self.mapping {
                    map_client.ask(now, Asker::Collector, Question::Copy { from, to }, ask);
                }
                if self.blocks.planted.is(Sabotage::ErasedUnanswered) && self.blocks.table.is_valid(from) {
                    self.blocks.invalidate(from);
                    return true;
                }
                return false;
            }
        };
        if lpn.get() >= map.len() {
            return true;
        }
        let overrules = self.blocks.planted.is(Sabotage::CopyOverrules) && map.get(lpn).is_some();
        if overrules || map.get(lpn) == Some(from) {
            let old = map.set(lpn, Some(to));
            if self.blocks.planted.is(Sabotage::StaleMapping) && to.get() % 16 == 5 && !overrules {
                map.set(lpn, Some(from));
            }
            self.blocks.pools[pool as usize].live += 1;
            self.blocks.table.mark_valid_in(to, superblock);
            if let Some(old) = old {
                self.blocks.invalidate(old);
            }
        }
        true
    }

    /// The place of the other sectors of a partly written mapping unit. The map unit has answered already.
    pub(super) fn rest_of(&self, unit: &PageWrite) -> Option<Psn> {
        match (&self.mapping, unit.old_place) {
            (Mapping::Ram(map), _) => map.get(unit.lpn),
            (Mapping::MapUnit(_), OldPlace::At { psn, .. }) => Some(psn),
            (Mapping::MapUnit(_), _) => None,
        }
    }

    /// Asks the map unit for the place of a partly written mapping unit, unless the place is known and still valid.
    /// Returns true if it asks: the answer brings the write back.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Mostly the map is in RAM, and nothing is asked.
    pub(super) fn asks_place(&mut self, flash: &Flash<'_>, unit: &PageWrite) -> bool {
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return false };
        if unit.is_whole(self.blocks.geometry.sectors) {
            return false;
        }
        let known = match unit.old_place {
            OldPlace::Unasked => false,
            OldPlace::Nowhere => true,
            // While the write waited, the mapping unit may have moved, and the slot may even hold another.
            OldPlace::At { psn, erases } => {
                self.blocks.table.is_valid(psn)
                    && flash.backend.media().erases(self.blocks.geometry.locate(psn).0) == erases
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
        matches!(&self.mapping, Mapping::MapUnit(map_client) if map_client.changes > 0)
    }

    /// True if the map unit has work now. With time off it does not wait for its time.
    #[inline]
    pub(crate) fn map_is_due(&self, timed: bool) -> bool {
        match &self.mapping {
            Mapping::Ram(_) => false,
            Mapping::MapUnit(map_client) => map_client.is_due(timed),
        }
    }

    /// Wakes the map unit at the time that it asked for.
    pub(crate) fn wake(&mut self, now: Time) {
        if let Mapping::MapUnit(map_client) = &mut self.mapping {
            map_client.wake(now);
        }
    }

    /// The counters of the map unit since the power came on, if there is one.
    pub(crate) fn map_counters(&self, now: Time) -> Option<Counters> {
        match &self.mapping {
            Mapping::Ram(_) => None,
            Mapping::MapUnit(map_client) => Some(map_client.counters(now)),
        }
    }

    /// Replaces a map unit with translation pages by one that stores them at the end, see [`crate::Preconditioning::begin`].
    pub(crate) fn begin_preconditioning(&mut self, media: &Media) {
        if let Mapping::MapUnit(map_client) = &mut self.mapping {
            map_client.store_at_the_end(media);
        }
    }

    pub(crate) fn set_timed(&mut self, timed: bool) {
        if let Mapping::MapUnit(map_client) = &mut self.mapping {
            map_client.unit.set_timed(timed);
        }
    }

    /// Starts to store what only the map unit's RAM holds, because the power is about to go off in order.
    pub(crate) fn flush_map(&mut self, now: Time) {
        if let Mapping::MapUnit(map_client) = &mut self.mapping {
            map_client.flush(now);
        }
    }
}
