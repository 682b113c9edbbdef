//! Reads: sectors in the SLC flash come from there, the others from the MLC flash (Chang, Sec. 3.5).

use base::engine::Handle;
use base::units::Lpn;
use flash::backend::{Cause, List, Slot, SlotContent};

use super::disk::Disk;
use super::due::put_back;
use super::gather::{Gatherer, each_gathered, release_gathered};
use super::next::{ArrayKind, Next, TaskOutcome, Wakeup};
use super::requests::PendingRead;
use crate::port::{Flash, Owners, Service};
use crate::toolkit::{Slots, add_read};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadPhase {
    Begun,
    /// Sectors are being read from the SLC flash.
    Gathering,
    /// Pages are being read from the MLC flash.
    Reading {
        gathered: Option<Handle<List>>,
    },
}

/// A read request: a task.
#[derive(Clone, Debug)]
pub(super) struct Read {
    units: Vec<PendingRead>,
    service: Service,
    phase: ReadPhase,
}

/// The slot that answers a mapping unit, or the sectors of the unit that the SLC flash lacks.
fn slot_of(unit: &PendingRead) -> Slot {
    let &PendingRead { owner, at, mask, lpn, slc, .. } = unit;
    Slot { lpn: Lpn::new(lpn), owner, at, mask: mask & !slc, ..Slot::default() }
}

impl Read {
    pub(super) fn new(disk: &mut Disk, of: impl Iterator<Item = PendingRead>, service: Service) -> Self {
        let mut units = std::mem::take(&mut disk.vectors.reads);
        units.extend(of);
        disk.accessed(units.iter().map(|unit| unit.lpn));
        Self { units, service, phase: ReadPhase::Begun }
    }

    /// Runs the next step of the read.
    pub(super) fn step(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        wakeup: Wakeup,
    ) -> Next {
        match self.phase {
            ReadPhase::Begun => match self.gather(disk, flash, owners) {
                Some(list) => {
                    self.phase = ReadPhase::Gathering;
                    Next::List(ArrayKind::Slc, list)
                }
                None => self.read(disk, flash, owners, None),
            },
            ReadPhase::Gathering => self.read(disk, flash, owners, Some(wakeup.list())),
            ReadPhase::Reading { gathered } => {
                let list = wakeup.list();
                let next = self.answer(disk, flash, owners, gathered, Some(list));
                flash.backend.release(list);
                next
            }
        }
    }

    /// Reads the sectors that are in the SLC flash.
    fn gather(&mut self, disk: &Disk, flash: &mut Flash<'_>, owners: &mut dyn Owners) -> Option<Handle<List>> {
        let slc = disk.slc.as_ref()?;
        let mut gatherer = Gatherer::new();
        for (i, unit) in self.units.iter_mut().enumerate() {
            unit.slc = gatherer.add_unit(flash, slc, Cause::Host, (unit.lpn, unit.mask), (i, unit.owner));
            if unit.slc != 0 {
                owners.charge(unit.owner);
            }
        }
        gatherer.list()
    }

    /// Reads the other sectors from the MLC flash.
    fn read(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        gathered: Option<Handle<List>>,
    ) -> Next {
        let mut list = None;
        for unit in &mut self.units {
            let mask = unit.mask & !unit.slc;
            let Some(psn) = disk.mlc.psn_of(unit.lpn).filter(|_| mask != 0) else { continue };
            unit.from_mlc = true;
            let list = *list.get_or_insert_with(|| flash.backend.open_list(owners.read_class(unit.owner), 0));
            let (lba, _) = disk.mlc.split(unit.lpn);
            if !disk.look_up(lba) {
                disk.add_spare_scans(flash, list);
            }
            add_read(flash.backend, list, Cause::Host, Slot { psn, expected: true, ..slot_of(unit) });
            owners.charge(unit.owner);
        }
        match list {
            Some(list) => {
                self.phase = ReadPhase::Reading { gathered };
                Next::List(ArrayKind::Mlc, list)
            }
            None => self.answer(disk, flash, owners, gathered, None),
        }
    }

    /// Answers the owners, because all data has been read.
    fn answer(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        gathered: Option<Handle<List>>,
        list: Option<Handle<List>>,
    ) -> Next {
        let sectors = disk.mlc.geometry.sectors;
        each_gathered(flash, gathered, |flash, place, slot| {
            let unit = &self.units[slot.at as usize];
            let at = unit.at + (slot.lpn.get() % sectors) as i32;
            owners.read_sector(unit.owner, at, flash.slc_array().content_of(place), slot.lost);
        });
        let mut slots = list.map(|list| Slots::of(flash.backend, list));
        for unit in &self.units {
            if unit.from_mlc {
                let slot = slots.as_mut().and_then(|slots| slots.next(flash.backend));
                let (place, slot) = slot.expect("a slot for each unit that was read");
                let slot = Slot { lost: slot.lost, ..slot_of(unit) };
                owners.read_done(&slot, flash.backend.content_of(place), self.service);
            } else if unit.slc != 0 {
                owners.read_done(
                    &Slot { owner: unit.owner, ..Slot::default() },
                    SlotContent::Sectors(&[]),
                    self.service,
                );
            } else {
                owners.read_nothing(unit.owner);
            }
        }
        release_gathered(flash, gathered);
        put_back(&mut disk.vectors.reads, &mut self.units);
        Next::Ended(TaskOutcome::Done)
    }
}
