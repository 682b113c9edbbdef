//! Writes: the choice of the array, and the appends of small writes to the SLC log, page by page (Chang, Sec. 3.1 and
//! 3.3).
//!
//! The tail may be cleaned between two appends of a write. A page that then leaves the SLC flash with sectors of this
//! write also takes the sectors that the write has yet to append ([`Disk::interrupted`]). Otherwise the next page of
//! these sectors would have the same version and other content, and a mount could not tell which page is newer.

use base::engine::Handle;
use base::units::Lpn;
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::{Stream, Target};

use super::clean::Clean;
use super::disk::Disk;
use super::due::{SmallSector, put_back};
use super::next::{ArrayKind, Next, TaskOutcome, Wakeup};
use super::pages::Store;
use super::slc::{SectorSlot, SlcDecision};
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::sabotage::Sabotage;
use crate::toolkit::{Commands, recovery};

/// The route of a write, which its size and the state of the SLC flash decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// The sectors go to the SLC flash; `done` of them have been processed.
    Small { done: usize },
    /// The mapping units go to the MLC flash.
    Large,
}

#[derive(Debug)]
pub(super) enum BlockingTask {
    Clean(Clean),
    Store(Store),
}

/// A write request: a task.
#[derive(Clone, Debug)]
pub(super) struct Write {
    units: Vec<PageWrite>,
    service: Service,
    route: Route,
    /// The sectors of a small write. A sector whose program failed is appended once more.
    smalls: Vec<SmallSector>,
}

impl Write {
    /// Begins a write and chooses its route (Sec. 3.1).
    pub(super) fn new(disk: &mut Disk, of: impl Iterator<Item = PageWrite>, service: Service) -> Self {
        let (mut units, smalls) = (std::mem::take(&mut disk.vectors.units), std::mem::take(&mut disk.vectors.smalls));
        units.extend(of);
        disk.accessed(units.iter().map(|unit| unit.lpn.get()));
        let mut write = Self { units, service, route: Route::Large, smalls };
        let count: u32 = write.units.iter().map(|unit| unit.mask.count_ones()).sum();
        disk.counts.writes += 1;
        disk.counts.sectors += u64::from(count);
        let verdict = write.judge(disk, count);
        disk.counts.small += u64::from(disk.slc.is_some() && verdict != SlcDecision::Large);
        match verdict {
            SlcDecision::Accepted => write.accept(disk),
            SlcDecision::Throttled => disk.counts.throttled += 1,
            SlcDecision::Unplaced => disk.counts.unplaced += 1,
            SlcDecision::Large => {}
        }
        write
    }

    /// Asks the SLC flash about the write, and lists its sectors if it is small.
    fn judge(&mut self, disk: &mut Disk, count: u32) -> SlcDecision {
        let (sectors, wear) = (disk.mlc.geometry.sectors, disk.mlc.wear());
        let Some(slc) = &mut disk.slc else { return SlcDecision::Large };
        slc.filter.record(count);
        if count <= slc.filter.threshold() {
            for (i, PageWrite { lpn, mask, .. }) in (0..).zip(self.units.iter().copied()) {
                let covered = (0..sectors).filter(|sector| mask >> sector & 1 != 0);
                self.smalls.extend(covered.map(|offset| SmallSector { sector: lpn.get() * sectors + offset, unit: i }));
            }
        }
        slc.judge(count, wear, self.smalls.iter().map(|small| small.sector))
    }

    fn accept(&mut self, disk: &mut Disk) {
        let slc = disk.slc_mut();
        let update = self.smalls.iter().all(|small| slc.place_of(small.sector).is_some());
        slc.valve.taken(update);
        disk.counts.accepted += 1;
        disk.counts.updates += u64::from(update);
        self.route = Route::Small { done: 0 };
    }

    /// Runs the next step of the write.
    pub(super) fn step(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        wakeup: Wakeup,
    ) -> Next<BlockingTask> {
        match (self.route, wakeup) {
            (Route::Small { done }, Wakeup::List(list)) => {
                let done = self.written(disk, flash, list, done);
                self.append(disk, flash, owners, done)
            }
            (Route::Small { done }, Wakeup::Run) => self.append(disk, flash, owners, done),
            (Route::Small { done }, Wakeup::Ended(_)) => {
                std::mem::swap(&mut self.units, &mut disk.interrupted);
                self.append(disk, flash, owners, done)
            }
            (Route::Large, Wakeup::Run) => {
                let store = Store::of_units(disk, std::mem::take(&mut self.units), self.service);
                Next::First(BlockingTask::Store(store))
            }
            (Route::Large, Wakeup::Ended(_)) => self.end(disk),
            (Route::Large, Wakeup::List(_)) => unreachable!("a large write has no list of its own"),
        }
    }

    /// Appends the rest of a small write to the log: makes room, programs pages, or ends the write.
    fn append(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        done: usize,
    ) -> Next<BlockingTask> {
        if done == self.smalls.len() {
            self.units.iter().for_each(|unit| owners.write_done(unit.owner, self.service));
            return self.end(disk);
        }
        self.route = Route::Small { done };
        let sectors = disk.mlc.geometry.sectors;
        let planted = disk.planted;
        let slc = disk.slc_mut();
        if slc.log.used() > slc.most_used() && !slc.is_stuck {
            return self.clean(disk);
        }
        let (next, room) = slc.log.room();
        if room == 0 {
            if slc.log.advance() {
                return Next::Again;
            }
            // Without room at the head the tail must be cleaned, until none is left to clean.
            if slc.log.used() > 1 && !slc.is_stuck {
                return self.clean(disk);
            }
            return self.give_up(disk);
        }
        let Disk { mlc, slc, .. } = disk;
        let slc = slc.as_mut().expect("it takes the write");
        let end = self.smalls.len().min(done + (room * slc.slots) as usize);
        let part = &self.smalls[done..end];
        // The sectors' virtual entries may have gone with the tail meanwhile.
        if !slc.reserve(part.iter().map(|small| small.sector)) {
            return self.give_up(disk);
        }
        let list = flash.slc_array().open_list(Class::Other, 0);
        // The mapping unit of the previous sector, and the slot of a page that already holds the unit in this version.
        let mut held = (u32::MAX, None);
        for (page, smalls) in (next..).zip(part.chunks(slc.slots as usize)) {
            let target = Target { superblock: slc.log.head(), offset: page * slc.slots };
            let program = flash.slc_array().add_program(list, Cause::Host, target, Stream::HOST);
            owners.charge(self.units[smalls[0].unit as usize].owner);
            for small in smalls {
                let unit = &self.units[small.unit as usize];
                let (lpn, version, owner) = (Lpn::new(small.sector), unit.version, unit.owner);
                let slot = Slot { lpn, version, owner, mask: 1, expected: true, ..Slot::default() };
                let to = flash.slc_array().push_slot(program, slot);
                if flash.backend.has_content() {
                    // A page that has left the SLC flash with other sectors of this write holds this sector as well.
                    // The write takes the sector from that page: the buffer may have newer data by now, but two
                    // contents of one version must not be on flash.
                    let offset = small.sector % sectors;
                    let media = flash.backend.media();
                    if held.0 != small.unit {
                        let page = mlc.psn_of(unit.lpn.get()).filter(|_| !planted.is(Sabotage::RestOfWriteLeft));
                        held = (small.unit, page.filter(|page| recovery::version_of(media, *page) == Some(version)));
                    }
                    match held.1 {
                        Some(page) => flash.copy_to_slc((page, offset), to),
                        None => {
                            let at = unit.at + offset as i32;
                            owners.give(&PageWrite { at, mask: 1, ..*unit }, flash.slc_array().content_mut(to));
                        }
                    }
                }
            }
        }
        slc.log.take((part.len() as u32).div_ceil(slc.slots));
        Next::List(ArrayKind::Slc, list)
    }

    /// Begins to clean the tail; the write goes on after that.
    fn clean(&mut self, disk: &mut Disk) -> Next<BlockingTask> {
        std::mem::swap(&mut self.units, &mut disk.interrupted);
        Next::First(BlockingTask::Clean(Clean::new()))
    }

    /// Enters the sectors of programmed pages in the table. Returns the number of sectors processed.
    fn written(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, list: Handle<List>, mut done: usize) -> usize {
        let Disk { slc, counts, .. } = disk;
        let (slc, slc_array) = (slc.as_mut().expect("it took the write"), flash.slc_array());
        let mut programs = Commands::of(slc_array, list);
        while let Some((_, command)) = programs.next(slc_array) {
            for i in 0..command.count() {
                let psn = slc.geometry.slot(command.target.superblock, command.target.offset + i);
                let small = self.smalls[done];
                done += 1;
                if !slc_array.media().holds_data(psn) {
                    slc.log.head_failed();
                    self.smalls.push(small);
                } else {
                    let lpn = self.units[small.unit as usize].lpn.get();
                    slc.set(SectorSlot { sector: small.sector, place: psn.get() }, lpn, false);
                    counts.slc_sectors += 1;
                }
            }
        }
        slc_array.release(list);
        done
    }

    /// Sends all of the write to the MLC flash, because the SLC flash cannot take the rest of it.
    fn give_up(&mut self, disk: &mut Disk) -> Next<BlockingTask> {
        let slc = disk.slc_mut();
        self.smalls.iter().for_each(|small| slc.table.unreserve(small.sector));
        self.route = Route::Large;
        Next::Again
    }

    fn end(&mut self, disk: &mut Disk) -> Next<BlockingTask> {
        if self.route != Route::Large {
            put_back(&mut disk.vectors.units, &mut self.units);
        }
        put_back(&mut disk.vectors.smalls, &mut self.smalls);
        Next::Ended(TaskOutcome::Done)
    }
}
