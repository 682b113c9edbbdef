//! What goes on when the map unit answers.

use base::units::{Lpn, Psn};
use flash::backend::Observer;
use flash::nand::Sector;

use super::PageFtl;
use super::asking::Question;
use super::mapping::Mapping;
use crate::map_unit::{Answer, Job, Ticket};
use crate::port::{Flash, Owners, Rest, Unit, Wanted};
use crate::sabotage::Sabotage;

impl PageFtl {
    /// Lets the map unit work, and goes on with what it says.
    pub(crate) fn advance_map<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) {
        let timed = flash.backend.is_timed();
        let Mapping::Unit(asking) = &mut self.mapping else { return };
        let awaited = asking.changes > 0;
        let mut out = asking.advance(flash.now, timed);
        let nothing_waits = self.touched.is_empty() && self.stirred.is_empty() && self.waited == 0;
        if out.answers.is_empty() && out.jobs.is_empty() && nothing_waits {
            // Most steps of a map unit concern nobody else.
            asking.out = out;
            if timed {
                asking.schedule(flash.now, flash.events);
            }
            return;
        }
        // In the order in which they took effect: what a lookup found is pinned before a later answer gives it up.
        for (ticket, answer) in out.answers.drain(..) {
            self.answered(flash, owners, ticket, answer);
        }
        for job in out.jobs.drain(..) {
            match job {
                Job::Load(page) => self.load_page(flash, page),
                Job::Store(page) => self.store_page(flash, owners, page),
            }
        }
        if let Mapping::Unit(asking) = &mut self.mapping {
            asking.out = out;
            if timed {
                asking.schedule(flash.now, flash.events);
            }
        }
        if awaited && !self.awaits_answers() {
            // Those who waited for any of them hear that there are no more.
            (0..self.groups).filter(|pool| !self.pools[*pool as usize].waiting.is_empty()).for_each(|pool| {
                if !self.stirred.contains(&pool) {
                    self.stirred.push(pool);
                }
            });
        }
        self.settle_stirred(flash, owners);
        if awaited && !self.awaits_answers() {
            self.house(flash, owners);
        }
        self.end_write(flash, owners);
    }

    fn answered<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        ticket: Ticket,
        answer: Answer,
    ) {
        let Mapping::Unit(asking) = &mut self.mapping else { return };
        match (asking.close(ticket), answer) {
            (Question::Read(look_up), Answer::Places(places)) => {
                let sectors = self.geometry.sectors as i32;
                let asked = places.into_iter().zip(look_up.masks).take(look_up.count as usize);
                for (i, (place, mask)) in (0..).zip(asked) {
                    let lpn = Lpn::new(look_up.first.get() + i as u32);
                    let wanted = Wanted { owner: look_up.owner, at: look_up.at + i * sectors, mask };
                    match place {
                        Some(psn) => self.read_at(flash, owners, wanted, lpn, psn),
                        None => owners.read_nothing(look_up.owner),
                    }
                }
                self.end_read(flash);
            }
            (Question::Rest(unit), Answer::Places([psn, ..])) => {
                let rest = psn.map_or(Rest::Nowhere, |psn| {
                    let erases = flash.backend.media().erases(self.geometry.locate(psn).0);
                    Rest::At { psn, erases }
                });
                self.write(flash, owners, Unit { rest, ..unit });
            }
            (Question::Write { owner, service, to }, Answer::Updated(old)) => {
                if self.planted.is(Sabotage::PlaceUnmarked) {
                    self.blocks.mark_valid(to);
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
            // With a planted bug a copy is entered without a condition: wherever the unit was, it is not there now.
            (Question::Copy { from, to }, Answer::Updated(old)) => self.copy_answered(flash, (from, to), old),
            (question, answer) => panic!("{answer:?} is no answer to {question:?}"),
        }
    }

    /// A copy is entered, and where it was copied from is garbage; or the unit has been written or discarded meanwhile,
    /// and the copy is. The old place is not needed for it any more, either way; only now may its superblock be erased.
    fn copy_answered<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        (from, to): (Psn, Psn),
        garbage: Option<Psn>,
    ) {
        let (source, _) = self.geometry.locate(from);
        let pool = self.pool_of(source);
        let early = self.planted.is(Sabotage::ErasedUnanswered);
        self.pools[pool as usize].gc.asked -= 1;
        self.give_up_place(garbage.filter(|psn| !early || *psn == to));
        self.answered_for(to);
        self.stir(pool);
        if !early && self.blocks.unpin(source) {
            self.settle(flash, source);
        }
    }

    fn give_up_place(&mut self, place: Option<Psn>) {
        let Some(psn) = place else { return };
        self.invalidate(psn);
        self.stir(self.pool_at(psn));
    }

    /// The map unit has answered for a unit that was programmed.
    fn answered_for(&mut self, to: Psn) {
        let (superblock, _) = self.geometry.locate(to);
        self.release(superblock);
        self.stir(self.pool_of(superblock));
    }

    fn stir(&mut self, pool: u32) {
        if !self.stirred.contains(&pool) {
            self.stirred.push(pool);
        }
    }

    /// Where answers have made room, or have let a victim go, what waits for that goes on.
    fn settle_stirred<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) {
        if self.stirred.is_empty() {
            return;
        }
        let mut stirred = std::mem::take(&mut self.stirred);
        for pool in stirred.drain(..) {
            self.resume(flash, owners, pool);
            self.kick(flash, owners, pool);
        }
        self.stirred = stirred;
        self.house(flash, owners);
    }
}
