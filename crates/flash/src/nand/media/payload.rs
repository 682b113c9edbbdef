//! The content of sectors.
//!
//! The spare areas determine the content that preconditioning writes: it follows from the sector and the version of the
//! write. A block with no other content stores none, so a drive that is only preconditioned takes no memory for it, and
//! neither does its snapshot. In memory the same holds for writes whose versions are noted (`super::writes`).
//!
//! The stamps of one write follow each other. As long as each slot of a block comes from one write, the block stores
//! the first stamp of each: an eighth of the memory for slots of 4 KiB, and the copies of a merge touch few cache
//! lines.

use std::borrow::Cow;
use std::ops::Range;
use std::{fmt, io};

use crate::nand::{Geometry, Sector, SectorKind, Spare, Stamp};
use base::units::{BlockId, Psn, SuperblockId};

use super::preconditioned::PreconditionedSlot;
use super::{Media, SlotRead, StoredContent};
#[cfg(test)]
use super::{Mode, Stream, Target};
#[cfg(test)]
use crate::nand::{decode, encode};
#[cfg(test)]
use base::units::Lba;

/// A slot whose content its backing store has lost.
#[derive(Clone, Copy, Debug)]
struct DamagedSlot(Psn);

impl fmt::Display for DamagedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the content of slot {} is damaged", self.0.get())
    }
}

impl std::error::Error for DamagedSlot {}

/// The content that follows from a spare area.
#[derive(Clone, Copy, Debug)]
pub(super) enum ImpliedContent {
    Preconditioned(PreconditionedSlot),
    /// The first sector of a mapping unit of a noted write.
    Run(Stamp),
}

impl ImpliedContent {
    /// The stamp of the first sector.
    #[inline]
    pub(super) fn stamp(self) -> Stamp {
        match self {
            Self::Preconditioned(content) => content.stamp(),
            Self::Run(first) => first,
        }
    }

    #[inline]
    pub(super) fn fill(self, kind: SectorKind, into: &mut [u8]) {
        match self {
            Self::Preconditioned(content) => content.fill(kind, into),
            Self::Run(first) => first.fill_run(into),
        }
    }
}

/// The content of a block's sectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Content {
    /// Every slot has the content that follows from its spare area.
    #[default]
    Derived,
    /// The first sector of each slot, from which the others follow. Only for stamps.
    Firsts(Box<[Stamp]>),
    Sectors(Box<[u8]>),
}

/// The content of a slot: its first sector, if the others follow from it, or the bytes of all sectors.
#[derive(Clone, Copy, Debug)]
enum Slot<'a> {
    Run(Stamp),
    Sectors(&'a [u8]),
}

impl<'a> Slot<'a> {
    #[inline]
    fn of(kind: SectorKind, bytes: &'a [u8]) -> Self {
        kind.run(bytes).map_or(Self::Sectors(bytes), Self::Run)
    }

    /// True if the content follows from the spare area.
    #[inline]
    fn is(self, kind: SectorKind, told: ImpliedContent) -> bool {
        match (self, told) {
            (Self::Run(first), told) => first == told.stamp(),
            (Self::Sectors(bytes), ImpliedContent::Preconditioned(content)) => {
                !kind.is_stamp() && content.is(kind, bytes)
            }
            (Self::Sectors(_), ImpliedContent::Run(_)) => false,
        }
    }
}

/// The content of the slots of a program: the first sector of a slot if the others are known to follow from it,
/// otherwise all sectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents<'a> {
    kind: SectorKind,
    all: &'a [u8],
    /// The first sector of each slot whose others are known to follow from it; empty if there is no such slot.
    runs: &'a [Option<Stamp>],
}

impl<'a> Contents<'a> {
    /// The content of slots. For a slot with a first sector in `runs`, its bytes in `all` have no meaning.
    #[inline]
    pub(crate) const fn new(kind: SectorKind, all: &'a [u8], runs: &'a [Option<Stamp>]) -> Self {
        Self { kind, all, runs }
    }

    /// The bytes of all sectors of all slots.
    ///
    /// # Panics
    ///
    /// If a slot has only its first sector.
    pub(crate) fn all(self) -> &'a [u8] {
        assert!(self.runs.iter().all(Option::is_none), "a store takes all sectors");
        self.all
    }

    #[inline]
    fn slot(self, i: usize, bytes: usize) -> Slot<'a> {
        match self.runs.get(i) {
            Some(Some(first)) => Slot::Run(*first),
            _ => Slot::of(self.kind, &self.all[i * bytes..][..bytes]),
        }
    }
}

impl Content {
    /// The content of a block with these bytes, in slots of `slot` bytes.
    pub(super) fn of(kind: SectorKind, all: Box<[u8]>, slot: usize) -> Self {
        let firsts: Option<Box<[Stamp]>> = all.chunks_exact(slot).map(|slot| kind.run(slot)).collect();
        firsts.map_or(Self::Sectors(all), Self::Firsts)
    }

    /// The bytes of a block with slots of `slot` bytes, if it stores any.
    fn bytes(&self, slot: usize) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Derived => None,
            Self::Firsts(firsts) => {
                let mut all = vec![0; firsts.len() * slot];
                firsts.iter().zip(all.chunks_exact_mut(slot)).for_each(|(first, into)| first.fill_run(into));
                Some(Cow::Owned(all))
            }
            Self::Sectors(all) => Some(Cow::Borrowed(all)),
        }
    }

    /// Writes a slot whose sectors follow from `first`, in a block that stores content, with slots of `bytes` bytes.
    #[inline]
    pub(super) fn put_run(&mut self, slot: usize, first: Stamp, bytes: usize) {
        match self {
            Self::Derived => {}
            Self::Firsts(firsts) => firsts[slot] = first,
            Self::Sectors(all) => first.fill_run(&mut all[slot * bytes..][..bytes]),
        }
    }

    /// Writes a slot whose sectors do not follow from the first, in a block that stores content.
    #[inline(never)]
    fn put_sectors(&mut self, slot: usize, content: &[u8]) {
        let bytes = content.len();
        if matches!(self, Self::Firsts(_))
            && let Some(all) = self.bytes(bytes)
        {
            *self = Self::Sectors(all.into_owned().into());
        }
        if let Self::Sectors(all) = self {
            all[slot * bytes..][..bytes].copy_from_slice(content);
        }
    }
}

/// The slots of one page, of which memory keeps only the first sectors.
pub(crate) struct Runs<'a> {
    media: &'a Media,
    /// The first sectors of the block; none if they follow from the spare areas.
    firsts: Option<&'a [Stamp]>,
    /// A slot of the page, and its index in the block.
    psn: Psn,
    slot: usize,
    is_all_readable: bool,
}

impl Runs<'_> {
    /// Reads a slot of the page as [`Media::read`] does, and returns its first sector, too.
    ///
    /// # Panics
    ///
    /// If the slot holds no data.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The loop over the slots of a page.
    pub(crate) fn read(&self, psn: Psn) -> (SlotRead, Stamp) {
        let spare = self.media.spare(psn);
        let Spare::Data { lpn, version } = spare else { panic!("read of {psn}, which holds no data: {spare:?}") };
        let first = match self.firsts {
            Some(firsts) => firsts[(self.slot + psn.index()) - self.psn.index()],
            None => self.media.told(spare).stamp(),
        };
        (SlotRead { lpn, version, readable: self.is_all_readable || !self.media.is_unreadable(psn) }, first)
    }
}

impl Media {
    /// The block of a slot's payload, and the slot's index in that block.
    #[inline]
    pub(crate) fn place(&self, psn: Psn) -> (BlockId, usize) {
        let (superblock, offset) = self.geometry.locate(psn);
        let (page, plane) = self.geometry.page_and_plane(offset);
        let in_page = offset - (page * self.geometry.stripe + plane) * self.geometry.slots;
        (self.geometry.block(superblock, plane), (page * self.geometry.slots + in_page) as usize)
    }

    /// Reads the content of a slot. Returns false if the backing store no longer has it.
    #[inline]
    pub(super) fn read_payload(&self, psn: Psn, spare: Spare, into: &mut [u8]) -> bool {
        if let Some(store) = self.backing.get() {
            match store.read(psn, into) {
                StoredContent::Stored => {}
                StoredContent::Derived => PreconditionedSlot::of(spare, self.geometry.sectors).fill(self.kind, into),
                StoredContent::Damaged => {
                    into.fill(0);
                    return false;
                }
            }
            return true;
        }
        let (block, slot) = self.place(psn);
        match &self.payload[block.index()] {
            Content::Derived => self.told(spare).fill(self.kind, into),
            Content::Firsts(firsts) => firsts[slot].fill_run(into),
            Content::Sectors(all) => into.copy_from_slice(&all[slot * into.len()..][..into.len()]),
        }
        true
    }

    /// Bytes of a slot's content.
    #[inline]
    pub(crate) const fn slot_bytes(&self) -> usize {
        self.geometry.sectors as usize * self.kind.bytes()
    }

    /// The content of all sectors of a block, as memory keeps it.
    ///
    /// # Errors
    ///
    /// If the backing store has lost a part of it.
    pub(super) fn payload_of(&self, block: usize) -> io::Result<Option<Cow<'_, [u8]>>> {
        let stored = if self.backing.is_some() { None } else { Some(&self.payload[block]) };
        match stored {
            Some(Content::Derived) if self.writes.is_empty() => return Ok(None),
            Some(Content::Derived) | None => {}
            Some(stored) => return Ok(stored.bytes(self.slot_bytes())),
        }
        let Geometry { slots, stripe, pages, .. } = self.geometry;
        let (superblock, plane) = (SuperblockId::new(block as u32 / stripe), block as u32 % stripe);
        let mut data = vec![0; (pages * slots) as usize * self.slot_bytes()];
        let mut is_derived = true;
        for (i, into) in (0..).zip(data.chunks_exact_mut(self.slot_bytes())) {
            let psn = self.geometry.slot(superblock, (i / slots * stripe + plane) * slots + i % slots);
            let spare = self.spare(psn);
            if !self.read_payload(psn, spare, into) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, DamagedSlot(psn)));
            }
            is_derived &= PreconditionedSlot::of(spare, self.geometry.sectors).is(self.kind, into);
        }
        Ok((!is_derived).then_some(Cow::Owned(data)))
    }

    /// The content of a sector of a slot; the default if sectors have no content. Like reading the spare area, the call
    /// takes no simulated time.
    #[must_use]
    pub fn content<S: Sector>(&self, psn: Psn, sector: u32) -> S {
        if self.kind.is_present() { S::decode(&self.sector(psn, sector)) } else { S::default() }
    }

    /// The bytes of a sector of a slot; empty if sectors have no content.
    #[must_use]
    pub fn sector(&self, psn: Psn, sector: u32) -> Vec<u8> {
        let mut slot = vec![0; self.slot_bytes()];
        if self.kind.is_present()
            && !self.read_payload(psn, self.spare(psn), &mut slot)
            && let Some(store) = self.backing.get()
        {
            store.refuse(psn);
        }
        let bytes = self.kind.bytes();
        slot[sector as usize * bytes..][..bytes].to_vec()
    }

    /// The content that follows from a spare area.
    #[inline]
    pub(super) fn told(&self, spare: Spare) -> ImpliedContent {
        let sectors = self.geometry.sectors;
        if self.kind.is_stamp()
            && let Spare::Data { lpn, version } = spare
            && let Some(first) = self.writes.first(lpn, version, sectors)
        {
            return ImpliedContent::Run(first);
        }
        ImpliedContent::Preconditioned(PreconditionedSlot::of(spare, sectors))
    }

    /// True if the content of a slot follows from its spare area and begins with `first`. Notes the version if it is
    /// new.
    #[inline]
    pub(super) fn tells_run(&mut self, spare: Spare, first: Stamp) -> bool {
        if let Spare::Data { lpn, version } = spare
            && self.writes.is_new(version)
        {
            let known = PreconditionedSlot::of(spare, self.geometry.sectors).stamp() == first;
            self.writes.note(lpn, version, first, known);
        }
        first == self.told(spare).stamp()
    }

    fn tells(&mut self, psn: Psn, content: Slot<'_>) -> bool {
        let spare = self.spare(psn);
        match content {
            Slot::Run(first) => self.tells_run(spare, first),
            content => content.is(self.kind, self.told(spare)),
        }
    }

    /// Stores the content of the slots of a page that has just been programmed, and is `torn` if its program failed.
    /// Stores nothing if all content of the block follows from spare areas. `content` is the content of the whole
    /// program, of which the page takes the slots of `range`.
    #[inline]
    pub(super) fn keep_page(
        &mut self,
        (superblock, plane, page): (SuperblockId, u32, u32),
        (first, range): (Psn, Range<u32>),
        torn: bool,
        content: Contents<'_>,
    ) {
        let bytes = self.slot_bytes();
        let block = self.geometry.block(superblock, plane).index();
        // The frequent case: pages of one slot.
        if let (&[Some(run)], 1) = (content.runs, self.geometry.slots) {
            if let Content::Firsts(firsts) = &mut self.payload[block] {
                firsts[page as usize] = run;
                return;
            }
            if matches!(self.payload[block], Content::Derived) && self.tells_run(self.spare(first), run) {
                return;
            }
        }
        let content = range.map(|i| content.slot(i as usize, bytes));
        if matches!(self.payload[block], Content::Derived) {
            // The content of a torn slot does not matter.
            let mut slots = (first.get()..).map(Psn::new).zip(content.clone());
            if torn || slots.all(|(psn, content)| self.tells(psn, content)) {
                return;
            }
            self.payload[block] = self.derived(superblock, plane, page);
        }
        let stored = &mut self.payload[block];
        for (slot, content) in ((page * self.geometry.slots) as usize..).zip(content) {
            match content {
                Slot::Run(first) => stored.put_run(slot, first, bytes),
                Slot::Sectors(content) => stored.put_sectors(slot, content),
            }
        }
    }

    /// The slots of the page of `psn`, if memory keeps only the first sector of each.
    #[inline]
    pub(crate) fn runs(&self, psn: Psn) -> Option<Runs<'_>> {
        if self.backing.is_some() {
            return None;
        }
        let (block, slot) = self.place(psn);
        let firsts = match &self.payload[block.index()] {
            Content::Derived => None,
            Content::Firsts(firsts) => Some(&firsts[..]),
            Content::Sectors(_) => return None,
        };
        Some(Runs { media: self, firsts, psn, slot, is_all_readable: self.is_all_readable() })
    }

    /// The content of a block whose last programmed page is `page`, derived from the spare areas.
    #[inline(never)]
    pub(super) fn derived(&self, superblock: SuperblockId, plane: u32, page: u32) -> Content {
        let Geometry { slots, stripe, pages, .. } = self.geometry;
        // The page itself is included: earlier slots of it may have been skipped.
        let written = (page + 1) * slots;
        let slot = |i: u32| {
            let offset = (i / slots * stripe + plane) * slots + i % slots;
            self.told(self.spare(self.geometry.slot(superblock, offset)))
        };
        let all = (pages * slots) as usize;
        if self.kind.is_stamp() {
            let mut firsts = vec![Stamp::default(); all];
            (0..written).zip(&mut firsts).for_each(|(i, first)| *first = slot(i).stamp());
            return Content::Firsts(firsts.into());
        }
        let mut data = vec![0; all * self.slot_bytes()];
        let some = data.chunks_exact_mut(self.slot_bytes());
        (0..written).zip(some).for_each(|(i, into)| slot(i).fill(self.kind, into));
        Content::Sectors(data.into())
    }
}

/// Programs and reads of typed sectors, for tests.
#[cfg(test)]
impl Media {
    pub(crate) fn program_sectors<S: Sector>(
        &mut self,
        target: Target,
        count: u32,
        what: (Stream, Mode),
        spare_of: impl Fn(usize) -> (Spare, bool),
        content: &[S],
    ) -> bool {
        let mut bytes = vec![0; content.len() * S::KIND.bytes()];
        encode(content, &mut bytes);
        self.program(target, count, what, spare_of, &bytes)
    }

    pub(crate) fn read_sectors<S: Sector>(&mut self, psn: Psn, into: &mut [S]) -> SlotRead {
        let mut bytes = vec![0; into.len() * S::KIND.bytes()];
        let read = self.read(psn, &mut bytes);
        decode(&bytes, into);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults};
    use base::units::Lpn;

    #[test]
    fn preconditioned_content_takes_no_memory_and_host_data_does() {
        let geometry = Geometry::new(1, 1, 1, 2, 2, 4, 6, 2, 2).expect("a small array");
        let mut m = Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1)).with_content(SectorKind::Stamp);
        let sector = |lpn: u32, version, i| Stamp::preconditioned(Lba::new(u64::from(lpn * 2 + i)), version);
        let mut write = |offset: u32, host: Option<u32>| {
            let target = Target { superblock: SuperblockId::new(1), offset };
            let mut stamps: Vec<Stamp> = (0..8).map(|i| sector(30 + offset + i / 2, 5, i % 2)).collect();
            host.into_iter().for_each(|slot| stamps[slot as usize * 2 + 1] = Stamp(99));
            let spare = |i: usize| (Spare::Data { lpn: Lpn::new(30 + offset + i as u32), version: 5 }, false);
            assert!(m.program_sectors(target, 4, (Stream::HOST, Mode::Full), spare, &stamps));
            m.payload.iter().filter(|block| **block != Content::Derived).count()
        };
        assert_eq!((write(0, None), write(4, None)), (0, 0), "nothing that the spare areas do not say");
        assert_eq!(write(8, Some(3)), 1, "the host has written to one plane");
        assert_eq!(write(12, Some(0)), 2);
        for offset in 0..16 {
            let psn = m.geometry.slot(SuperblockId::new(1), offset);
            let mut data = [Stamp(0); 2];
            m.read_sectors(psn, &mut data);
            let host = offset == 11 || offset == 12;
            let wanted = [sector(30 + offset, 5, 0), if host { Stamp(99) } else { sector(30 + offset, 5, 1) }];
            assert_eq!((data, [m.content(psn, 0), m.content(psn, 1)]), (wanted, wanted), "slot {offset}");
        }
    }

    #[test]
    fn a_block_stores_one_stamp_for_each_slot_until_a_slot_has_sectors_of_two_writes() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 6, 2, 4).expect("a small array");
        let mut m = Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1)).with_content(SectorKind::Stamp);
        let run = |first: u64| (0..4).map(move |i| Stamp(first + i));
        let mut expected: Vec<Stamp> = Vec::new();
        let mut write = |page: u32, stamps: Vec<Stamp>| {
            let spare = |i: usize| (Spare::Data { lpn: Lpn::new(page * 2 + i as u32), version: 9 }, false);
            let target = Target { superblock: SuperblockId::new(2), offset: page * 2 };
            expected.extend(&stamps);
            assert!(m.program_sectors(target, 2, (Stream::HOST, Mode::Full), spare, &stamps));
            let mut data = [Stamp(0); 4];
            for slot in 0..page * 2 + 2 {
                let psn = m.geometry.slot(SuperblockId::new(2), slot);
                m.read_sectors(psn, &mut data);
                assert_eq!(data, expected[slot as usize * 4..][..4], "slot {slot}");
                assert_eq!([0, 1, 2, 3].map(|sector| m.content::<Stamp>(psn, sector)), data);
            }
            let bytes = m.payload_of(2).expect("no store").expect("content").into_owned();
            let mut all = vec![Stamp(0); bytes.len() / 8];
            decode(&bytes, &mut all);
            assert_eq!(all[..expected.len()], expected);
            assert!(all[expected.len()..].iter().all(|unwritten| *unwritten == Stamp(0)));
            assert_eq!(Content::of(SectorKind::Stamp, bytes.into(), 32), m.payload[2], "as a snapshot restores it");
            matches!(m.payload[2], Content::Firsts(_))
        };
        assert!(write(0, run(1 << 24).chain(run(5 << 24 | 8)).collect()));
        assert!(write(1, run(7 << 24).chain([Stamp(0); 4]).collect()));
        assert!(!write(2, run(8 << 24).chain(run(8 << 24).rev()).collect()));
        assert!(!write(3, run(9 << 24).chain(run(9 << 24 | 4)).collect()));
    }
}
