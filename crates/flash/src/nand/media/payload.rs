//! The content of sectors.
//!
//! The spare areas determine the content that preconditioning writes: the sector and the version of the write. A
//! block that holds nothing else stores no content, so a drive that is only preconditioned takes no memory for it,
//! and neither does its snapshot. The same holds in memory for writes whose versions are noted (`super::writes`).
//!
//! The stamps of one write follow each other. As long as each slot of a block comes from one write, the block stores the
//! first stamp of each: an eighth of the memory for slots of 4 KiB, and the copies of a merge touch few cache lines.

use std::borrow::Cow;
use std::ops::Range;
use std::{fmt, io};

use crate::nand::{Geometry, Sector, Spare};
use base::units::{BlockId, Lba, Psn, SuperblockId};

use super::{Held, Media, SlotRead};

/// A slot whose content its backing store has lost.
#[derive(Clone, Copy, Debug)]
struct DamagedSlot(Psn);

impl fmt::Display for DamagedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the content of slot {} is damaged", self.0.get())
    }
}

impl std::error::Error for DamagedSlot {}

/// The content that preconditioning writes to a slot: its first sector and the version, if it holds data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preconditioned(Option<(u64, u32)>);

impl Preconditioned {
    #[inline]
    pub(super) fn of(spare: Spare, sectors: u32) -> Self {
        let Spare::Data { lpn, version } = spare else { return Self(None) };
        Self(Some((u64::from(lpn.get()) * u64::from(sectors), version)))
    }

    #[inline]
    pub(super) fn at<S: Sector>(self, sector: u32) -> S {
        self.0.map_or(S::default(), |(first, version)| S::preconditioned(Lba::new(first + u64::from(sector)), version))
    }

    #[inline]
    pub(super) fn fill<S: Sector>(self, into: &mut [S]) {
        let Some((first, version)) = self.0 else { return into.fill(S::default()) };
        for (i, into) in into.iter_mut().enumerate() {
            *into = S::preconditioned(Lba::new(first.wrapping_add(i as u64)), version);
        }
    }

    /// True if a slot holds this content. Compares all sectors at once, without an early exit.
    #[inline]
    pub(super) fn is<S: Sector>(self, content: &[S]) -> bool {
        let Some((first, version)) = self.0 else { return content.iter().all(|held| *held == S::default()) };
        content.iter().enumerate().fold(true, |all, (i, held)| {
            all & (*held == S::preconditioned(Lba::new(first.wrapping_add(i as u64)), version))
        })
    }
}

/// The content that a spare area tells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told<S> {
    /// What preconditioning writes.
    Preconditioned(Preconditioned),
    /// The first sector of a noted write's mapping unit.
    Run(S),
}

impl<S: Sector> Told<S> {
    #[inline]
    pub(super) fn at(self, sector: u32) -> S {
        match self {
            Self::Preconditioned(content) => content.at(sector),
            Self::Run(first) => first.following(sector),
        }
    }

    #[inline]
    pub(super) fn fill(self, into: &mut [S]) {
        match self {
            Self::Preconditioned(content) => content.fill(into),
            Self::Run(first) => first.fill_run(into),
        }
    }
}

/// The content of a block's sectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Content<S> {
    /// Every slot holds the content that its spare area tells.
    #[default]
    Derived,
    /// The first sector of each slot; the others follow it.
    Firsts(Box<[S]>),
    /// All sectors.
    Sectors(Box<[S]>),
}

/// The content of a slot: its first sector, if that determines the others, or all sectors.
#[derive(Clone, Copy, Debug)]
enum Slot<'a, S> {
    Run(S),
    Sectors(&'a [S]),
}

impl<'a, S: Sector> Slot<'a, S> {
    #[inline]
    fn of(sectors: &'a [S]) -> Self {
        if S::FOLLOWS && S::is_run(sectors) { Self::Run(sectors[0]) } else { Self::Sectors(sectors) }
    }

    /// True if this is the content that the spare area tells.
    #[inline]
    fn is(self, told: Told<S>) -> bool {
        match (self, told) {
            (Self::Run(first), told) => first == told.at(0),
            (Self::Sectors(sectors), Told::Preconditioned(content)) => !S::FOLLOWS && content.is(sectors),
            (Self::Sectors(_), Told::Run(_)) => false,
        }
    }
}

/// The content of the slots of a program: all sectors, or the first one of a slot where it is known to determine the
/// others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents<'a, S> {
    all: &'a [S],
    /// The first sector of each slot that it is known to determine; empty if no slot is.
    runs: &'a [Option<S>],
}

impl<'a, S> From<&'a [S]> for Contents<'a, S> {
    #[inline]
    fn from(all: &'a [S]) -> Self {
        Self { all, runs: &[] }
    }
}

impl<'a, S: Sector> Contents<'a, S> {
    /// The content of slots; `all` is without meaning where `runs` has the first sector.
    #[inline]
    pub(crate) const fn new(all: &'a [S], runs: &'a [Option<S>]) -> Self {
        Self { all, runs }
    }

    /// All sectors of all slots.
    ///
    /// # Panics
    /// If a slot has only its first.
    pub(crate) fn all(self) -> &'a [S] {
        assert!(self.runs.iter().all(Option::is_none), "a store takes all sectors");
        self.all
    }

    #[inline]
    fn slot(self, i: usize, sectors: usize) -> Slot<'a, S> {
        match self.runs.get(i) {
            Some(Some(first)) => Slot::Run(*first),
            _ => Slot::of(&self.all[i * sectors..][..sectors]),
        }
    }
}

impl<S: Sector> Content<S> {
    /// Stores these sectors of all slots.
    pub(super) fn of(all: Box<[S]>, sectors: u32) -> Self {
        if all.chunks_exact(sectors as usize).all(|slot| matches!(Slot::of(slot), Slot::Run(_))) {
            return Self::Firsts(all.iter().step_by(sectors as usize).copied().collect());
        }
        Self::Sectors(all)
    }

    /// All sectors of a block, if it stores any.
    fn sectors(&self, sectors: u32) -> Option<Cow<'_, [S]>> {
        match self {
            Self::Derived => None,
            Self::Firsts(firsts) => {
                let slot = |first: &S| {
                    let first = *first;
                    (0..sectors).map(move |i| first.following(i))
                };
                Some(firsts.iter().flat_map(slot).collect())
            }
            Self::Sectors(all) => Some(Cow::Borrowed(all)),
        }
    }

    /// Puts a slot that `first` determines into a block that stores content, with `sectors` sectors in a slot.
    #[inline]
    pub(super) fn put_run(&mut self, slot: usize, first: S, sectors: usize) {
        match self {
            Self::Derived => {}
            Self::Firsts(firsts) => firsts[slot] = first,
            Self::Sectors(all) => first.fill_run(&mut all[slot * sectors..][..sectors]),
        }
    }

    /// Puts a slot that its first sector does not determine into a block that stores content.
    #[inline(never)]
    fn put_sectors(&mut self, slot: usize, content: &[S]) {
        let sectors = content.len();
        if matches!(self, Self::Firsts(_))
            && let Some(all) = self.sectors(sectors as u32)
        {
            *self = Self::Sectors(all.into_owned().into());
        }
        if let Self::Sectors(all) = self {
            all[slot * sectors..][..sectors].copy_from_slice(content);
        }
    }
}

/// Slots of one page of which memory keeps only the first sectors.
pub(crate) struct Runs<'a, S> {
    media: &'a Media<S>,
    /// The first sectors of the block; none if the spare areas tell them.
    firsts: Option<&'a [S]>,
    /// A slot of the page, and its number in the block.
    psn: Psn,
    slot: usize,
    is_all_readable: bool,
}

impl<S: Sector> Runs<'_, S> {
    /// Reads a slot of the page as [`Media::read`] does, and its first sector.
    ///
    /// # Panics
    /// If the slot holds no data.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The loop over the slots of a page.
    pub(crate) fn read(&self, psn: Psn) -> (SlotRead, S) {
        let spare = self.media.spare(psn);
        let Spare::Data { lpn, version } = spare else { panic!("read of {psn}, which holds no data: {spare:?}") };
        let first = match self.firsts {
            Some(firsts) => firsts[(self.slot + psn.index()) - self.psn.index()],
            None => self.media.told(spare).at(0),
        };
        (SlotRead { lpn, version, readable: self.is_all_readable || !self.media.is_unreadable(psn) }, first)
    }
}

impl<S: Sector> Media<S> {
    /// The place of a slot's payload: the block and the number of the slot in it.
    #[inline]
    pub(crate) fn place(&self, psn: Psn) -> (BlockId, usize) {
        let (superblock, offset) = self.geometry.locate(psn);
        let (page, plane) = self.geometry.page_and_plane(offset);
        let in_page = offset - (page * self.geometry.stripe + plane) * self.geometry.slots;
        (self.geometry.block(superblock, plane), (page * self.geometry.slots + in_page) as usize)
    }

    /// Reads the content of a slot. False if its backing store has it no more.
    #[inline]
    pub(super) fn read_payload(&self, psn: Psn, spare: Spare, into: &mut [S]) -> bool {
        if let Some(store) = self.backing.get() {
            match store.read(psn, into) {
                Held::Stored => {}
                Held::Derived => Preconditioned::of(spare, self.geometry.sectors).fill(into),
                Held::Damaged => {
                    into.fill(S::default());
                    return false;
                }
            }
            return true;
        }
        let (block, slot) = self.place(psn);
        match &self.payload[block.index()] {
            Content::Derived => self.told(spare).fill(into),
            Content::Firsts(firsts) => firsts[slot].fill_run(into),
            Content::Sectors(all) => into.copy_from_slice(&all[slot * into.len()..][..into.len()]),
        }
        true
    }

    /// The content of all sectors of a block, as memory keeps it.
    ///
    /// # Errors
    /// If the backing store has lost some of it.
    pub(super) fn payload_of(&self, block: usize) -> io::Result<Option<Cow<'_, [S]>>> {
        let stored = if self.backing.is_some() { None } else { Some(&self.payload[block]) };
        match stored {
            Some(Content::Derived) if self.writes.is_empty() => return Ok(None),
            Some(Content::Derived) | None => {}
            Some(stored) => return Ok(stored.sectors(self.geometry.sectors)),
        }
        let Geometry { slots, stripe, sectors, pages, .. } = self.geometry;
        let (superblock, plane) = (SuperblockId::new(block as u32 / stripe), block as u32 % stripe);
        let mut data = vec![S::default(); (pages * slots * sectors) as usize];
        let mut is_derived = true;
        for (i, into) in (0..).zip(data.chunks_exact_mut(sectors as usize)) {
            let psn = self.geometry.slot(superblock, (i / slots * stripe + plane) * slots + i % slots);
            let spare = self.spare(psn);
            if !self.read_payload(psn, spare, into) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, DamagedSlot(psn)));
            }
            is_derived &= Preconditioned::of(spare, sectors).is(into);
        }
        Ok((!is_derived).then_some(Cow::Owned(data)))
    }

    /// The content of a sector of a slot; the default without payload. Like reading the spare area, the call itself
    /// takes no simulated time.
    #[must_use]
    pub fn content(&self, psn: Psn, sector: u32) -> S {
        if let Some(store) = self.backing.get() {
            let mut slot = vec![S::default(); self.geometry.sectors as usize];
            if !self.read_payload(psn, self.spare(psn), &mut slot) {
                store.refuse(psn);
            }
            return slot[sector as usize];
        }
        let (block, slot) = self.place(psn);
        match self.payload.get(block.index()) {
            None => S::default(),
            Some(Content::Derived) => self.told(self.spare(psn)).at(sector),
            Some(Content::Firsts(firsts)) => firsts[slot].following(sector),
            Some(Content::Sectors(all)) => all[slot * self.geometry.sectors as usize + sector as usize],
        }
    }

    /// The content that a spare area tells.
    #[inline]
    pub(super) fn told(&self, spare: Spare) -> Told<S> {
        let sectors = self.geometry.sectors;
        if S::FOLLOWS
            && let Spare::Data { lpn, version } = spare
            && let Some(first) = self.writes.first(lpn, version, sectors)
        {
            return Told::Run(first);
        }
        Told::Preconditioned(Preconditioned::of(spare, sectors))
    }

    /// True if the spare area of a slot tells its content, which begins with `first`. The version is noted if it is new.
    #[inline]
    pub(super) fn tells_run(&mut self, spare: Spare, first: S) -> bool {
        if let Spare::Data { lpn, version } = spare
            && self.writes.is_new(version)
        {
            let known = Preconditioned::of(spare, self.geometry.sectors).at::<S>(0) == first;
            self.writes.note(lpn, version, first, known);
        }
        first == self.told(spare).at(0)
    }

    fn tells(&mut self, psn: Psn, content: Slot<'_, S>) -> bool {
        let spare = self.spare(psn);
        match content {
            Slot::Run(first) if S::FOLLOWS => self.tells_run(spare, first),
            content => content.is(self.told(spare)),
        }
    }

    /// Stores the content of the slots of a page, which has just been programmed and is `torn` if that failed; nothing if
    /// its spare areas and those of the pages before it determine all content of the block. `content` is that of the
    /// program, of which the page takes the slots of `range`.
    #[inline]
    pub(super) fn keep_page(
        &mut self,
        (superblock, plane, page): (SuperblockId, u32, u32),
        (first, range): (Psn, Range<u32>),
        torn: bool,
        content: Contents<'_, S>,
    ) {
        let sectors = self.geometry.sectors as usize;
        let block = self.geometry.block(superblock, plane).index();
        // Most pages of one slot.
        if let (&[Some(run)], 1) = (content.runs, self.geometry.slots) {
            if let Content::Firsts(firsts) = &mut self.payload[block] {
                firsts[page as usize] = run;
                return;
            }
            if matches!(self.payload[block], Content::Derived) && self.tells_run(self.spare(first), run) {
                return;
            }
        }
        let content = range.map(|i| content.slot(i as usize, sectors));
        if matches!(self.payload[block], Content::Derived) {
            // What a torn slot holds does not matter.
            let mut slots = (first.get()..).map(Psn::new).zip(content.clone());
            if torn || slots.all(|(psn, content)| self.tells(psn, content)) {
                return;
            }
            self.payload[block] = self.derived(superblock, plane, page);
        }
        let stored = &mut self.payload[block];
        for (slot, content) in ((page * self.geometry.slots) as usize..).zip(content) {
            match content {
                Slot::Run(first) => stored.put_run(slot, first, sectors),
                Slot::Sectors(content) => stored.put_sectors(slot, content),
            }
        }
    }

    /// The slots of the page of `psn`, if memory keeps only the first sector of each.
    #[inline]
    pub(crate) fn runs(&self, psn: Psn) -> Option<Runs<'_, S>> {
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

    /// The content of a block whose last programmed page is `page`, stored.
    #[inline(never)]
    pub(super) fn derived(&self, superblock: SuperblockId, plane: u32, page: u32) -> Content<S> {
        let Geometry { slots, stripe, sectors, pages, .. } = self.geometry;
        // The page itself is included: earlier slots of it may have been skipped.
        let written = (page + 1) * slots;
        let slot = |i: u32| {
            let offset = (i / slots * stripe + plane) * slots + i % slots;
            self.told(self.spare(self.geometry.slot(superblock, offset)))
        };
        let all = (pages * slots) as usize;
        if S::FOLLOWS {
            let mut firsts = vec![S::default(); all];
            (0..written).zip(&mut firsts).for_each(|(i, first)| *first = slot(i).at(0));
            return Content::Firsts(firsts.into());
        }
        let mut data = vec![S::default(); all * sectors as usize];
        let some = data.chunks_exact_mut(sectors as usize);
        (0..written).zip(some).for_each(|(i, into)| slot(i).fill(into));
        Content::Sectors(data.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Mode, Stamp, Stream, Target};
    use base::units::Lpn;

    #[test]
    fn preconditioned_content_takes_no_memory_and_host_data_does() {
        let geometry = Geometry::new(1, 1, 1, 2, 2, 4, 6, 2, 2).expect("a small array");
        let mut m = Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1));
        let sector = |lpn: u32, version, i| Stamp::preconditioned(Lba::new(u64::from(lpn * 2 + i)), version);
        let mut write = |offset: u32, host: Option<u32>| {
            let target = Target { superblock: SuperblockId::new(1), offset };
            let mut stamps: Vec<Stamp> = (0..8).map(|i| sector(30 + offset + i / 2, 5, i % 2)).collect();
            host.into_iter().for_each(|slot| stamps[slot as usize * 2 + 1] = Stamp(99));
            let spare = |i: usize| (Spare::Data { lpn: Lpn::new(30 + offset + i as u32), version: 5 }, false);
            assert!(m.program(target, 4, (Stream::HOST, Mode::Full), spare, &stamps));
            m.payload.iter().filter(|block| **block != Content::Derived).count()
        };
        assert_eq!((write(0, None), write(4, None)), (0, 0), "nothing that the spare areas do not say");
        assert_eq!(write(8, Some(3)), 1, "the host has written to one plane");
        assert_eq!(write(12, Some(0)), 2);
        for offset in 0..16 {
            let psn = m.geometry.slot(SuperblockId::new(1), offset);
            let mut data = [Stamp(0); 2];
            m.read(psn, &mut data);
            let host = offset == 11 || offset == 12;
            let wanted = [sector(30 + offset, 5, 0), if host { Stamp(99) } else { sector(30 + offset, 5, 1) }];
            assert_eq!((data, [m.content(psn, 0), m.content(psn, 1)]), (wanted, wanted), "slot {offset}");
        }
    }

    #[test]
    fn a_block_stores_one_stamp_for_each_slot_until_a_slot_has_sectors_of_two_writes() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 6, 2, 4).expect("a small array");
        let mut m = Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1));
        let run = |first: u64| (0..4).map(move |i| Stamp(first + i));
        let mut expected: Vec<Stamp> = Vec::new();
        let mut write = |page: u32, stamps: Vec<Stamp>| {
            let spare = |i: usize| (Spare::Data { lpn: Lpn::new(page * 2 + i as u32), version: 9 }, false);
            let target = Target { superblock: SuperblockId::new(2), offset: page * 2 };
            expected.extend(&stamps);
            assert!(m.program(target, 2, (Stream::HOST, Mode::Full), spare, &stamps));
            let mut data = [Stamp(0); 4];
            for slot in 0..page * 2 + 2 {
                let psn = m.geometry.slot(SuperblockId::new(2), slot);
                m.read(psn, &mut data);
                assert_eq!(data, expected[slot as usize * 4..][..4], "slot {slot}");
                assert_eq!([0, 1, 2, 3].map(|sector| m.content(psn, sector)), data);
            }
            let all = m.payload_of(2).expect("no store").expect("content").into_owned();
            assert_eq!(all[..expected.len()], expected);
            assert!(all[expected.len()..].iter().all(|rest| *rest == Stamp(0)));
            assert_eq!(Content::of(all.into(), 4), m.payload[2], "as a snapshot restores it");
            matches!(m.payload[2], Content::Firsts(_))
        };
        assert!(write(0, run(1 << 24).chain(run(5 << 24 | 8)).collect()));
        assert!(write(1, run(7 << 24).chain([Stamp(0); 4]).collect()));
        assert!(!write(2, run(8 << 24).chain(run(8 << 24).rev()).collect()));
        assert!(!write(3, run(9 << 24).chain(run(9 << 24 | 4)).collect()));
    }
}
