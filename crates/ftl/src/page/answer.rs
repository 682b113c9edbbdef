//! Answers of the map unit, and the work that they continue.

use base::units::{Lpn, Psn, Time};

use super::mapping::L2p;
use super::mapping::map_client::Question;
use super::{PageFtl, UnmappedReads};
use crate::map_unit::{Answer, Job, Ticket};
use crate::port::{Flash, OldPlace, Owners, PageRead, PageWrite};
use crate::sabotage::Sabotage;

impl PageFtl {
    /// Advances the map unit, and continues the work that its answers unblock.
    pub(crate) fn advance_map(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let timed = flash.backend.is_timed();
        let nothing_waits = self.nothing_waits();
        let L2p::MapUnit(map_client) = &mut self.mapping.l2p else { return };
        map_client.begin_transfers(flash, owners);
        let awaited = map_client.awaits_answers();
        let mut out = map_client.advance(flash.now, timed, nothing_waits);
        if out.answers.is_empty() && out.jobs.is_empty() && nothing_waits {
            map_client.out = out;
            if timed {
                map_client.schedule(flash.now, flash.events);
            }
            return;
        }
        // Answers are handled in the order in which they took effect: the place of a lookup is pinned before a later
        // answer invalidates the place.
        for (ticket, answer) in out.answers.drain(..) {
            self.answered(flash, owners, ticket, answer);
        }
        for job in out.jobs.drain(..) {
            match job {
                Job::Load(page) => self.mapping.load_page(&mut self.blocks, flash, (page, None)),
                Job::LoadPart { page, entries } => {
                    self.mapping.load_page(&mut self.blocks, flash, (page, Some(entries)));
                }
                Job::Store(page) => {
                    let sectors = self.blocks.layout.shape.sectors;
                    if let Some(unit) = self.mapping.stage_page(flash.backend.media_mut(), page, (sectors, timed)) {
                        self.write(flash, owners, unit);
                    }
                }
            }
        }
        if let L2p::MapUnit(map_client) = &mut self.mapping.l2p {
            map_client.out = out;
            map_client.begin_transfers(flash, owners);
            if timed {
                map_client.schedule(flash.now, flash.events);
            }
        }
        if awaited && !self.mapping.awaits_answers() {
            // Wakes all pools with waiting writes: no further answer will come, so they must decide now.
            let mut at = 0;
            while let Some(pool) = self.writer.first_with_waiting(&self.blocks, at) {
                self.note_change(pool);
                at = pool + 1;
            }
        }
        self.collect_changed(flash, owners);
        if awaited && !self.mapping.awaits_answers() {
            self.place_unplaced(flash, owners);
        }
        let sends = !self.writer.touched.is_empty();
        self.end_write(flash, owners);
        if sends {
            // The program that was sent may have ended the turn of a block, so a write may have room.
            self.writer.announce_room(owners);
        }
    }

    /// Lets the map unit do its steps up to `until`, as long as no other event comes first: most of its steps concern
    /// only the map unit. See [`crate::Background::work_alone`].
    pub(crate) fn map_works_alone(&mut self, flash: &mut Flash<'_>, until: Time, stepped: impl FnMut(Time)) -> bool {
        if !self.nothing_waits()
            || self.collector.is_due()
            || self.blocks.timer_is_due()
            || self.mapping.trims.as_ref().is_some_and(|trims| trims.is_due())
            || !flash.backend.is_timed()
        {
            return false;
        }
        let L2p::MapUnit(map_client) = &mut self.mapping.l2p else { return false };
        map_client.work_alone(&mut flash.now, until, flash.events, stepped)
    }

    /// True if no pool and no write waits for the map unit.
    fn nothing_waits(&self) -> bool {
        self.writer.touched.is_empty() && self.changed_pools.is_empty() && self.writer.waited == 0
    }

    fn answered(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, ticket: Ticket, answer: Answer) {
        let L2p::MapUnit(map_client) = &mut self.mapping.l2p else { return };
        let question = map_client.close(ticket);
        if map_client.host_memory.is_some() {
            map_client.notify_host_memory(flash, &question);
        }
        match (question, answer) {
            (Question::Read(look_up), Answer::Places(places)) => {
                let sectors = self.blocks.layout.shape.sectors as i32;
                let masks = map_client.take_masks(&look_up);
                for (i, place) in (0..look_up.count as i32).zip(places) {
                    let mask = masks.as_ref().map_or(look_up.mask, |masks| masks[i as usize]);
                    let lpn = Lpn::new(look_up.first.get() + i as u32);
                    let wanted = PageRead { owner: look_up.owner, at: look_up.at + i * sectors, mask };
                    match place {
                        Some(psn) => self.read_at(flash, owners, wanted, lpn, psn),
                        None if self.unmapped_reads == UnmappedReads::FlashRead => {
                            self.read_unmapped(flash, owners, wanted, lpn);
                        }
                        None => owners.read_nothing(look_up.owner),
                    }
                }
                self.end_read(flash);
            }
            (Question::OldPlace(unit), Answer::Places([psn, ..])) => {
                let old_place = psn.map_or(OldPlace::Nowhere, |psn| {
                    let erases = flash.backend.media().erases(self.blocks.layout.member_at(psn));
                    OldPlace::At { psn, erases }
                });
                self.write(flash, owners, PageWrite { old_place, ..unit });
            }
            (Question::Write { owner, service, to }, Answer::Updated(old)) => {
                if self.blocks.planted.is(Sabotage::PlaceUnmarked) {
                    self.blocks.table.mark_valid(to);
                }
                self.give_up_place(old);
                self.answered_for(to);
                owners.write_done(owner, service);
            }
            (Question::Discard { owner }, Answer::Updated(old)) => {
                self.give_up_place(old);
                owners.discard_done(owner);
            }
            (Question::Copy { from, to }, Answer::Condition(held)) => {
                self.copy_answered(flash, (from, to), Some(if held { from } else { to }));
            }
            // Only a planted bug enters a copy without a condition: the previous place is invalid now, wherever it was.
            (Question::Copy { from, to }, Answer::Updated(old)) => self.copy_answered(flash, (from, to), old),
            (question, answer) => panic!("{answer:?} is no answer to {question:?}"),
        }
    }

    /// Ends a copy for which the map unit has answered. Either the copy was entered and its source is garbage, or the
    /// host has written or discarded the mapping unit meanwhile and the copy is garbage. The copy no longer needs its
    /// source, whose superblock may be erased only now.
    fn copy_answered(&mut self, flash: &mut Flash<'_>, (from, to): (Psn, Psn), garbage: Option<Psn>) {
        let (source, _) = self.blocks.layout.locate(from);
        let pool = self.blocks.pool_of(source);
        let early = self.blocks.planted.is(Sabotage::ErasedUnanswered);
        self.blocks.pools[pool as usize].gc.asked -= 1;
        self.give_up_place(garbage.filter(|psn| !early || *psn == to));
        self.answered_for(to);
        self.note_change(pool);
        if !early && self.blocks.table.unpin(source) {
            self.blocks.erase_if_empty(flash, source);
        }
    }

    fn give_up_place(&mut self, place: Option<Psn>) {
        let Some(psn) = place else { return };
        self.blocks.invalidate(psn);
        self.note_change(self.blocks.pool_at(psn));
    }

    /// Notes that the map unit has answered for a programmed mapping unit.
    fn answered_for(&mut self, to: Psn) {
        let (superblock, _) = self.blocks.layout.locate(to);
        self.blocks.release(superblock);
        self.note_change(self.blocks.pool_of(superblock));
    }

    fn note_change(&mut self, pool: u32) {
        if !self.changed_pools.contains(&pool) {
            self.changed_pools.push(pool);
        }
    }

    /// Continues collection in the pools in which answers have freed space or a victim.
    fn collect_changed(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        if self.changed_pools.is_empty() {
            return;
        }
        let mut changed_pools = std::mem::take(&mut self.changed_pools);
        for pool in changed_pools.drain(..) {
            self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
            self.start_gc(flash, owners, pool);
        }
        self.changed_pools = changed_pools;
        self.place_unplaced(flash, owners);
    }
}
