//! The adapter from a simple FTL to the port.

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::{Cause, List, Op};
use flash::nand::{Media, Spare};

use super::traffic::{ListTag, Traffic};
use super::{CommandEnd, SimpleCommands, SimpleDrive, SimpleFtl, SimpleWrite};
use crate::port::{Flash, Ftl, Owner, Owners, PageRead, PageWrite, PowerCycle, Service};
use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::{Commands, ProgramSlot, Slots, Versions, add_read};

/// A simple FTL, and the state that the layer keeps for it.
#[derive(Clone, Debug)]
pub(super) struct Layer<F> {
    ftl: F,
    units: u32,
    found: u32,
    versions: Versions,
    traffic: Traffic,
    planted: PlantedBug,
}

impl<F: SimpleFtl> Layer<F> {
    pub(super) fn mount(drive: &SimpleDrive<'_>, planted: PlantedBug) -> Self {
        let ftl = F::mount(drive);
        let mut versions = Versions::default();
        for psn in (0..drive.geometry.slot_count()).map(base::units::Psn::new) {
            if let Spare::Data { version, .. } = drive.spare(psn) {
                versions.note(version);
            }
        }
        let found = (0..drive.units).filter(|unit| ftl.place(Lpn::new(*unit)).is_some()).count() as u32;
        let traffic = Traffic::new(drive.geometry, planted);
        Self { ftl, units: drive.units, found, versions, traffic, planted }
    }

    /// Calls the FTL, which may give commands; then tells the FTL of the blocks that these commands have retired.
    fn call(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        call: impl FnOnce(&mut F, &mut SimpleCommands<'_, '_>),
    ) {
        let Self { ftl, traffic, .. } = self;
        call(ftl, &mut SimpleCommands { flash, owners, traffic });
        while let Some(block) = traffic.next_retired() {
            ftl.done(&mut SimpleCommands { flash, owners, traffic }, CommandEnd::Retired(block));
        }
    }

    fn read_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let mut slots = Slots::of(flash.backend, list);
        while let Some((place, slot)) = slots.next(flash.backend) {
            owners.read_done(&slot, flash.backend.content_of(place), service);
            self.traffic.end_read(flash, slot.psn);
        }
        flash.backend.release(list);
    }

    /// Ends a write or a copy: its reads are over, and its program has succeeded or failed.
    fn program_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>, kind: ListTag) {
        let service = Service::of(flash.backend.list(list));
        let mut commands = Commands::of(flash.backend, list);
        let (mut source, mut end) = (None, None);
        while let Some((handle, command)) = commands.next(flash.backend) {
            let (op, target, failed) = (command.op, command.target, command.failed);
            if op == Op::Read {
                source = Some(flash.backend.slot(handle, 0).1.psn);
                continue;
            }
            self.traffic.end_program(handle, target.superblock);
            end = Some((ProgramSlot::of(flash.backend, handle, (target, failed), 0), target.superblock));
        }
        let (ProgramSlot { slot, psn, torn }, superblock) = end.expect("each of these lists has a program");
        flash.backend.release(list);
        if let Some(source) = source {
            self.traffic.end_read(flash, source);
        }
        let copy = source.filter(|_| kind == ListTag::Copy);
        if torn && !self.planted.is(Sabotage::FailureIgnored) {
            self.call(flash, owners, |ftl, flash| ftl.done(flash, CommandEnd::Failed { superblock, copy }));
            if copy.is_none() {
                // The owner still has the data, so the FTL writes it again.
                let again = SimpleWrite(PageWrite::again(&slot));
                self.call(flash, owners, |ftl, flash| ftl.write(flash, again));
            }
            return;
        }
        let done = match copy {
            Some(from) => CommandEnd::Copied { lpn: slot.lpn, from, to: psn },
            None => CommandEnd::Written { lpn: slot.lpn, to: psn },
        };
        self.call(flash, owners, |ftl, flash| ftl.done(flash, done));
        if copy.is_none() {
            owners.write_done(slot.owner, service);
        }
    }

    fn erase_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let erase = flash.backend.list(list).first().expect("an erase");
        let command = flash.backend.command(erase);
        let (block, failed) = (command.target.superblock, command.failed);
        flash.backend.release(list);
        self.traffic.end_erase();
        if failed {
            flash.backend.media_mut().retire(block);
        }
        let done = if failed { CommandEnd::Retired(block) } else { CommandEnd::Erased(block) };
        self.call(flash, owners, |ftl, flash| ftl.done(flash, done));
    }
}

impl<F: SimpleFtl> Ftl for Layer<F> {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.units
    }

    fn latest_version(&self) -> u32 {
        self.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.versions.next()
    }

    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        let Some(psn) = self.ftl.place(lpn) else { return false };
        self.traffic.begin_read(flash, psn);
        let list = flash.backend.open_list(owners.read_class(wanted.owner), ListTag::Read as u32);
        add_read(flash.backend, list, Cause::Host, wanted.slot(lpn, psn));
        owners.charge(wanted.owner);
        flash.submit(list);
        true
    }

    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        self.call(flash, owners, |ftl, flash| ftl.write(flash, SimpleWrite(unit)));
    }

    fn discard(&mut self, _: Time, _: Owner, lpn: Lpn) -> bool {
        self.ftl.discard(lpn);
        false
    }

    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        match ListTag::of(flash.backend.list(list)) {
            ListTag::Read => self.read_finished(flash, owners, list),
            kind @ (ListTag::Write | ListTag::Copy) => self.program_finished(flash, owners, list, kind),
            ListTag::Erase => self.erase_finished(flash, owners, list),
        }
    }

    /// Each die takes two programs from a write buffer: one that it executes, and one behind it.
    fn takes_writes(&self, _: u32, under_way: u32) -> bool {
        under_way < 2 * self.traffic.dies()
    }

    fn may_hold(&self, lpn: Lpn, _: &Media, _: Option<&Media>) -> bool {
        self.ftl.place(lpn).is_some()
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        for lpn in (0..self.units).map(Lpn::new) {
            let Some(psn) = self.ftl.place(lpn) else { continue };
            let spare = media.spare(psn);
            assert!(
                matches!(spare, Spare::Data { lpn: held, .. } if held == lpn),
                "{lpn} maps to {psn}, which holds {spare:?}"
            );
        }
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }
}

impl<F: SimpleFtl> PowerCycle for Layer<F> {
    fn found(&self) -> u32 {
        self.found
    }
}
