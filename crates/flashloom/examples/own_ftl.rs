//! A page-mapping FTL of one's own: it appends pages to one block after another and keeps the map in RAM. If free
//! blocks run out, it copies the block with the fewest valid pages. It uses only what `flashloom` exports.
//!
//! `cargo run --example own_ftl`

use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::Arc;

use flashloom::backend::{Cause, Class, List, Slot};
use flashloom::ftl::{
    Config, Flash, Ftl, Handle, Mount, OldPlace, Owner, Owners, PageRead, PageWrite, Service, full_mask,
};
use flashloom::nand::{Geometry, Media, Spare, Stamp, Stream, Target};
use flashloom::units::{Lpn, Psn, Sectors, Span, SuperblockId, Time};
use flashloom::{Device, Flow, Oracle, Session, Ssd, Stop, TraceOptions, Workload};

/// Blocks kept from the host: two open blocks, and one to copy to.
const KEPT: u32 = 4;

/// The configuration of the FTL.
#[derive(Clone, Debug)]
struct LogConfig {
    geometry: Geometry,
}

impl Config for LogConfig {
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl> {
        Box::new(LogFtl::mount(self, from))
    }

    fn scan_time(&self, _: &Media, _: Option<&Media>) -> Span {
        Span::ZERO
    }

    fn units(&self) -> u32 {
        // A sixth of the blocks is spare, for garbage collection.
        (self.geometry.superblock_count() - KEPT) * 5 / 6 * self.geometry.superblock_slots()
    }

    fn table_ram(&self) -> u64 {
        u64::from(self.units()) * 4
    }

    fn memory(&self) -> u64 {
        u64::from(self.units()) * size_of::<Option<Psn>>() as u64
    }

    fn memory_of_mount(&self) -> u64 {
        0
    }

    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        say("ftl", &"own");
    }
}

/// The purpose of a list, as its tag in the backend.
const READ: u32 = 0;
const WRITE: u32 = 1;
const COPY: u32 = 2;
const ERASE: u32 = 3;

/// The FTL.
#[derive(Clone, Debug)]
struct LogFtl {
    geometry: Geometry,
    /// The page of each mapping unit.
    map: Vec<Option<Psn>>,
    free: VecDeque<SuperblockId>,
    /// The open block and its next page, for host writes and for copies.
    open: [Option<(SuperblockId, u32)>; 2],
    /// Full blocks, the oldest first.
    closed: Vec<SuperblockId>,
    /// The victim of garbage collection, and the number of its copies under way.
    victim: Option<(SuperblockId, u32)>,
    /// Reads and programs under way in each block; they must end before the block is erased.
    busy: Vec<u32>,
    /// Writes that wait for a free block.
    waiting: VecDeque<PageWrite>,
    version: u32,
    found: u32,
}

impl LogFtl {
    /// The valid mapping units of a block: those that the map points to.
    fn valid(&self, media: &Media, block: SuperblockId) -> Vec<(Lpn, Psn)> {
        let slots = (0..self.geometry.superblock_slots()).map(|offset| self.geometry.slot(block, offset));
        let named = slots.filter_map(|psn| match media.spare(psn) {
            Spare::Data { lpn, .. } => Some((lpn, psn)),
            Spare::Empty | Spare::Torn => None,
        });
        named.filter(|(lpn, psn)| self.map[lpn.index()] == Some(*psn)).collect()
    }

    /// The next page for the host (0) or for copies (1); `None` if it needs a new block and may not take one.
    fn next_page(&mut self, stream: usize) -> Option<Target> {
        if self.open[stream].is_none() {
            // The last free block is for copies, so that garbage collection always ends.
            let kept = if stream == 0 { 1 } else { 0 };
            let block = if self.free.len() > kept { self.free.pop_front() } else { None };
            self.open[stream] = Some((block?, 0));
        }
        let (superblock, offset) = self.open[stream]?;
        self.open[stream] = Some((superblock, offset + 1));
        if offset + 1 == self.geometry.superblock_slots() {
            self.closed.push(superblock);
            self.open[stream] = None;
        }
        self.busy[superblock.index()] += 1;
        Some(Target { superblock, offset })
    }

    /// Programs a mapping unit of the host. Returns false if the write must wait.
    fn program(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) -> bool {
        let Some(target) = self.next_page(0) else { return false };
        let list = flash.backend.open_list(Class::Other, WRITE);
        let command = flash.backend.add_program(list, Cause::Host, target, Stream::HOST);
        let PageWrite { lpn, owner, at, mask, version, .. } = unit;
        let slot = flash.backend.push_slot(command, Slot { lpn, version, owner, at, mask, ..Slot::default() });
        if flash.backend.has_content() {
            owners.give(&unit, flash.backend.content_mut(slot));
        }
        owners.charge(owner);
        flash.submit(list);
        true
    }

    /// If few blocks are free, starts to copy the block with the fewest valid pages.
    fn collect(&mut self, flash: &mut Flash<'_>) {
        if self.victim.is_some() || self.free.len() > 2 {
            return;
        }
        let idle = self.closed.iter().copied().filter(|block| self.busy[block.index()] == 0);
        let media = flash.backend.media();
        let Some(victim) = idle.min_by_key(|block| self.valid(media, *block).len()) else { return };
        let units = self.valid(media, victim);
        if units.len() as u32 == self.geometry.superblock_slots() {
            return;
        }
        self.closed.retain(|block| *block != victim);
        self.victim = Some((victim, units.len() as u32));
        for (lpn, psn) in &units {
            let target = self.next_page(1).expect("a block is kept for copies");
            let list = flash.backend.open_list(Class::Other, COPY);
            let read = flash.backend.add_read(list, Cause::Gc, victim);
            let from = flash.backend.push_slot(read, Slot { psn: *psn, lpn: *lpn, expected: true, ..Slot::default() });
            let program = flash.backend.add_program(list, Cause::Gc, target, Stream::COPIES);
            let to = flash.backend.push_slot(program, Slot::default());
            flash.backend.forward(read, from, program, to);
            flash.submit(list);
        }
        if units.is_empty() {
            self.erase(flash, victim);
        }
    }

    fn erase(&mut self, flash: &mut Flash<'_>, block: SuperblockId) {
        let list = flash.backend.open_list(Class::Other, ERASE);
        flash.backend.add_erase(list, Cause::Gc, block);
        flash.submit(list);
    }

    /// Ends a copy: the map changes, unless the host has written the mapping unit meanwhile.
    fn copied(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        let read = flash.backend.list(list).first().expect("a read");
        let program = flash.backend.command(read).sibling().expect("a program");
        let target = flash.backend.command(program).target;
        let (from, to) = (flash.backend.slot(read, 0).1.psn, self.geometry.slot(target.superblock, target.offset));
        let lpn = flash.backend.slot(read, 0).1.lpn;
        self.busy[target.superblock.index()] -= 1;
        if self.map[lpn.index()] == Some(from) {
            self.map[lpn.index()] = Some(to);
        }
        let (victim, left) = self.victim.as_mut().expect("a victim");
        *left -= 1;
        if *left == 0 {
            let victim = *victim;
            self.erase(flash, victim);
        }
    }
}

impl LogFtl {
    fn mount(config: &LogConfig, from: &Mount<'_>) -> Self {
        let (geometry, media) = (config.geometry.clone(), from.media);
        let mut ftl = Self {
            map: vec![None; config.units() as usize],
            free: VecDeque::new(),
            open: [None; 2],
            closed: Vec::new(),
            victim: None,
            busy: vec![0; geometry.superblock_count() as usize],
            waiting: VecDeque::new(),
            version: 0,
            found: 0,
            geometry,
        };
        // Each spare area has the mapping unit and the number of its write: the newest write counts.
        let mut newest = vec![0; ftl.map.len()];
        for block in (0..ftl.geometry.superblock_count()).map(SuperblockId::new) {
            if media.is_erased(block) {
                ftl.free.push_back(block);
                continue;
            }
            ftl.closed.push(block);
            for offset in 0..ftl.geometry.superblock_slots() {
                let psn = ftl.geometry.slot(block, offset);
                let Spare::Data { lpn, version } = media.spare(psn) else { continue };
                if version > newest[lpn.index()] {
                    newest[lpn.index()] = version;
                    ftl.map[lpn.index()] = Some(psn);
                    ftl.version = ftl.version.max(version);
                }
            }
        }
        ftl.found = ftl.map.iter().flatten().count() as u32;
        ftl
    }
}

impl Ftl for LogFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.map.len() as u32
    }

    fn free_blocks(&self) -> u64 {
        self.free.len() as u64
    }

    fn latest_version(&self) -> u32 {
        self.version
    }

    fn next_version(&mut self) -> u32 {
        self.version += 1;
        self.version
    }

    fn read(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        PageRead { owner, at, mask }: PageRead,
        lpn: Lpn,
    ) -> bool {
        let Some(psn) = self.map[lpn.index()] else { return false };
        let (block, _) = self.geometry.locate(psn);
        self.busy[block.index()] += 1;
        let list = flash.backend.open_list(Class::HostRead, READ);
        let read = flash.backend.add_read(list, Cause::Host, block);
        flash.backend.push_slot(read, Slot { lpn, psn, owner, at, mask, expected: true, ..Slot::default() });
        owners.charge(owner);
        flash.submit(list);
        true
    }

    fn end_read(&mut self, _: &mut Flash<'_>) {}

    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        assert_eq!(unit.mask, full_mask(self.geometry.sectors), "this FTL takes whole units");
        assert_eq!(unit.old_place, OldPlace::Unasked);
        if !self.waiting.is_empty() || !self.program(flash, owners, unit) {
            self.waiting.push_back(unit);
        }
    }

    fn end_write(&mut self, flash: &mut Flash<'_>, _: &mut dyn Owners) {
        self.collect(flash);
    }

    fn discard(&mut self, _: Time, _: Owner, lpn: Lpn) -> bool {
        self.map[lpn.index()] = None;
        false
    }

    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let first = flash.backend.list(list).first().expect("a command");
        let target = flash.backend.command(first).target;
        match flash.backend.list(list).tag() {
            READ => {
                let (place, slot) = flash.backend.slot(first, 0);
                self.busy[self.geometry.locate(slot.psn).0.index()] -= 1;
                owners.read_done(&slot, flash.backend.content_of(place), service);
            }
            WRITE => {
                let (_, slot) = flash.backend.slot(first, 0);
                self.busy[target.superblock.index()] -= 1;
                // The map changes only now: the old copy becomes garbage.
                self.map[slot.lpn.index()] = Some(self.geometry.slot(target.superblock, target.offset));
                owners.write_done(slot.owner, service);
            }
            COPY => self.copied(flash, list),
            _ => {
                let (victim, _) = self.victim.take().expect("a victim");
                self.free.push_back(victim);
            }
        }
        flash.backend.release(list);
        while let Some(unit) = self.waiting.pop_front() {
            if !self.program(flash, owners, unit) {
                self.waiting.push_front(unit);
                break;
            }
        }
        self.collect(flash);
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        for (lpn, psn) in (0..).map(Lpn::new).zip(&self.map) {
            let Some(psn) = psn else { continue };
            assert!(matches!(media.spare(*psn), Spare::Data { lpn: found, .. } if found == lpn), "{lpn} is at {psn}");
        }
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The description gives everything but the FTL: one plane, and one page for each mapping unit.
    let device = Device::parse(
        "name = 'own'\n\
         flash = { part = 'K9K8G08U0M', channels = 2, chips = 2, blocks = 24, pages = 32, planes = 1 }\n\
         ftl = { over-provisioning = '50%' }",
    )?;
    let resolved = &device.resolved;
    let config = LogConfig { geometry: resolved.geometry.clone() };
    let faults = flashloom::nand::Faults::new(&resolved.spec.flash.faults, 1);
    let timing = &resolved.backend.timing;
    let media = Media::new(resolved.geometry.clone(), resolved.part.endurance, timing.one_shot, faults);
    // ANCHOR: device
    let mut drive: Ssd<Stamp> = Ssd::with_ftl(resolved, Arc::new(config), 1, media, None);

    // A session runs this FTL like any other, and an oracle checks every read.
    let unit = Sectors::new(u64::from(resolved.geometry.sectors));
    let mut oracle = Oracle::blank(unit);
    let writes = "name = 'mixed'\nrequests = 20_000\narrivals = { kind = 'closed', depth = 8 }\n\
                  [[stream]]\nreads = '30%'\nalign = '2KiB'\nsizes = [{ size = '2KiB' }]\n\
                  address = { pattern = 'uniform' }\n";
    let session = Session::new(&device).stop(Stop::Requests(20_000));
    let flow: Flow<'_> = session.open(&Workload::parse(writes)?, &TraceOptions::default())?;
    let outcome = session.flow(flow).run_on(&mut drive, &mut oracle)?;
    // ANCHOR_END: device
    let summary = outcome.first().summary();
    println!("{} requests, write amplification {:.2}", summary.requests, summary.write_amplification.unwrap_or(0.0));
    println!("{} reads returned the newest data", oracle.verified().reads);
    drive.check();
    Ok(())
}
