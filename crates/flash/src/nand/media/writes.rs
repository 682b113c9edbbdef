//! The content of host writes, derived from their versions.
//!
//! The mapping units of one write follow each other, and so do their stamps. So the content of a slot follows from the
//! version and the logical number in its spare area, if the first unit of each write is noted. A block whose slots all
//! have derived content stores nothing, like a block with content of preconditioning only: copies move no content, and
//! a program touches few cache lines.
//!
//! A version is noted only while no slot has it, so that the derived content of no slot changes. A version that is used
//! again after a power cut, or for the mapping units of several writes in a buffer, keeps the unit that was noted
//! first; blocks for which that is wrong store their content.

use base::memory::growing;
use base::units::Lpn;

use crate::nand::{Geometry, SectorKind, Stamp};

/// The number of slots for each noted version for which there is room.
const SLOTS: u32 = 8;

/// The first mapping unit of a write, and its first sector.
#[derive(Clone, Copy, Debug)]
struct WriteStart {
    /// The first mapping unit; `NONE` if the version is not noted.
    lpn: u32,
    first: Stamp,
}

const NONE: u32 = u32::MAX;

/// The noted writes, by version.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    /// The version of the first entry of the list.
    base: u32,
    entries: Vec<WriteStart>,
    /// The most entries of the list.
    most: usize,
    /// The latest version of any slot whose content is not stored.
    latest: u32,
}

impl Writes {
    pub(super) const fn new(geometry: &Geometry, kind: SectorKind) -> Self {
        let most = if kind.is_stamp() { (geometry.slot_count() / SLOTS) as usize } else { 0 };
        Self { base: 0, entries: Vec::new(), most, latest: 0 }
    }

    /// Bytes for an array of this shape.
    pub(super) fn memory(geometry: &Geometry, kind: SectorKind) -> u64 {
        Self::memory_of(geometry, kind, u64::MAX)
    }

    /// Bytes after `slots` slots were written.
    pub(super) fn memory_of(geometry: &Geometry, kind: SectorKind, slots: u64) -> u64 {
        growing((Self::new(geometry, kind).most as u64).min(slots), size_of::<WriteStart>())
    }

    /// True if no version is noted.
    pub(super) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Begins to note versions after `latest`, because slots may have earlier versions.
    pub(super) fn begin_behind(&mut self, latest: u32) {
        self.latest = self.latest.max(latest);
    }

    /// The first sector of a mapping unit in a slot of this version, if the version is noted.
    #[inline]
    pub(super) fn first(&self, lpn: Lpn, version: u32, sectors: u32) -> Option<Stamp> {
        let WriteStart { lpn: begin, first } = *self.entries.get(version.checked_sub(self.base)? as usize)?;
        if begin == NONE {
            return None;
        }
        Some(first.following(lpn.get().checked_sub(begin)?.checked_mul(sectors)?))
    }

    /// True if no slot without stored content has this version or a later version.
    #[inline]
    pub(super) const fn is_new(&self, version: u32) -> bool {
        version > self.latest
    }

    /// Notes the version of a slot that is programmed. Its content begins with `first`; `known` is true if it is the
    /// content that preconditioning writes.
    #[inline(never)]
    pub(super) fn note(&mut self, lpn: Lpn, version: u32, first: Stamp, known: bool) {
        if !self.is_new(version) {
            return;
        }
        self.latest = version;
        if !known {
            self.add(version, WriteStart { lpn: lpn.get(), first });
        }
    }

    fn add(&mut self, version: u32, noted: WriteStart) {
        if self.entries.is_empty() {
            self.base = version;
        }
        let place = (version - self.base) as usize;
        if place < self.most {
            self.entries.resize(place, WriteStart { lpn: NONE, ..noted });
            self.entries.push(noted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Media, Sector, Spare, Stream, Target};
    use base::units::{Lba, Psn, SuperblockId};
    use proptest::prelude::*;

    const BLOCKS: u32 = 4;
    const PAGES: u32 = 8;
    const SECTORS: u32 = 4;

    fn geometry() -> Geometry {
        Geometry::new(1, 1, 1, 1, 1, BLOCKS, PAGES, 1, SECTORS).expect("a small array")
    }

    fn writes() -> Writes {
        Writes::new(&geometry(), SectorKind::Stamp)
    }

    #[test]
    fn a_noted_version_tells_the_units_of_its_write() {
        let mut writes = writes();
        let first = |writes: &Writes, lpn, version| writes.first(Lpn::new(lpn), version, 4).map(|Stamp(s)| s);
        writes.note(Lpn::new(7), 20, Stamp(100), false);
        writes.note(Lpn::new(8), 20, Stamp(999), false);
        writes.note(Lpn::new(3), 22, Stamp(200), false);
        assert_eq!([7, 9].map(|lpn| first(&writes, lpn, 20)), [Some(100), Some(108)]);
        assert_eq!((first(&writes, 3, 22), first(&writes, 2, 22)), (Some(200), None), "no unit before the first");
        assert_eq!([19, 21, 23].map(|version| first(&writes, 3, version)), [None; 3], "not noted");
    }

    #[test]
    fn a_version_that_a_slot_may_have_is_not_noted() {
        let mut writes = writes();
        writes.begin_behind(9);
        writes.note(Lpn::new(1), 9, Stamp(4), false);
        writes.note(Lpn::new(1), 11, Stamp(4), true);
        writes.note(Lpn::new(1), 11, Stamp(8), false);
        assert!([9, 11].iter().all(|version| writes.first(Lpn::new(1), *version, 4).is_none()));
    }

    #[test]
    fn versions_beyond_the_most_are_not_noted() {
        let mut writes = writes();
        for version in [5, 8, 9] {
            writes.note(Lpn::new(1), version, Stamp(40), false);
        }
        assert_eq!([5, 8, 9].map(|version| writes.first(Lpn::new(1), version, 4).is_some()), [true, true, false]);
        assert!(writes.entries.len() == 4, "32 slots have four entries");
    }

    #[test]
    fn the_copies_of_noted_writes_store_nothing() {
        let mut media = media();
        let block = SuperblockId::new;
        (0..3)
            .for_each(|page| assert!(program(&mut media, (block(0), page), (10 + page, 5), &content(2, 10 + page, 5))));
        let pages = (0..3).map(|page| (media.geometry().slot(block(0), page), page, None));
        let pages: Vec<_> = pages.collect();
        assert!(media.copy_pages((block(1), Stream::COPIES), pages.into_iter()));
        assert!(media.payload.iter().all(|content| matches!(content, super::super::Content::Derived)));
        let copied = media.geometry().slot(block(1), 2);
        assert_eq!([0, 3].map(|sector| media.content::<Stamp>(copied, sector)), [0, 3].map(|i| content(2, 12, 5)[i]));
    }

    fn media() -> Media {
        Media::new(geometry(), 10, 1, Faults::new(&FaultSpec::default(), 1)).with_content(SectorKind::Stamp)
    }

    fn program(
        media: &mut Media,
        (superblock, offset): (SuperblockId, u32),
        (lpn, version): (u32, u32),
        content: &[Stamp],
    ) -> bool {
        let spare = |_| (Spare::Data { lpn: Lpn::new(lpn), version }, false);
        media.program_sectors(Target { superblock, offset }, 1, Default::default(), spare, content)
    }

    /// The content of a page: from preconditioning, zeros, a mapping unit of one of two writes, or of both.
    fn content(kind: u32, lpn: u32, version: u32) -> Vec<Stamp> {
        let sector = lpn * SECTORS;
        let write = |number: u64| Stamp(number << 40 | u64::from(version) << 24 | u64::from(sector));
        let first = match kind {
            0 => Stamp::preconditioned(Lba::new(u64::from(sector)), version),
            1 => Stamp(0),
            3 => write(2),
            _ => write(1),
        };
        let mut sectors: Vec<Stamp> = (0..SECTORS).map(|i| first.following(i)).collect();
        if kind == 4 {
            sectors[2] = write(2);
        }
        sectors
    }

    #[derive(Clone, Debug)]
    enum MediaOperation {
        /// Programs a block: the block, a logical page, a version and a kind of content.
        Program(u32, u32, u32, u32),
        /// Copies a slot to a block.
        Copy(u32, u32),
        Erase(u32),
        /// Saves a snapshot and loads it again.
        Save,
    }

    fn step() -> impl Strategy<Value = MediaOperation> {
        let block = || 0..BLOCKS;
        prop_oneof![
            6 => (block(), 0..6_u32, 1..12_u32, 0..5_u32).prop_map(|(b, l, v, k)| MediaOperation::Program(b, l, v, k)),
            3 => (0..BLOCKS * PAGES, block()).prop_map(|(slot, block)| MediaOperation::Copy(slot, block)),
            1 => block().prop_map(MediaOperation::Erase),
            1 => Just(MediaOperation::Save),
        ]
    }

    proptest! {
        /// The versions are arbitrary: of several writes, from before an erase, and lower versions.
        #[test]
        fn slots_hold_what_was_programmed(steps in prop::collection::vec(step(), 0..80)) {
            let mut media = media();
            let mut held = vec![None; (BLOCKS * PAGES) as usize];
            let mut next = [0; BLOCKS as usize];
            for step in steps {
                match step {
                    MediaOperation::Program(block, lpn, version, kind) if next[block as usize] < PAGES => {
                        let page = next[block as usize];
                        next[block as usize] += 1;
                        let sectors = content(kind, lpn, version);
                        prop_assert!(program(&mut media, (SuperblockId::new(block), page), (lpn, version), &sectors));
                        held[(block * PAGES + page) as usize] = Some(sectors);
                    }
                    MediaOperation::Copy(slot, block) if next[block as usize] < PAGES && slot / PAGES != block => {
                        let Some(sectors) = held[slot as usize].clone() else { continue };
                        let page = next[block as usize];
                        next[block as usize] += 1;
                        prop_assert!(media.copy_pages((SuperblockId::new(block), Stream::COPIES), [(Psn::new(slot), page, None)].into_iter()));
                        held[(block * PAGES + page) as usize] = Some(sectors);
                    }
                    MediaOperation::Program(..) | MediaOperation::Copy(..) => {}
                    MediaOperation::Erase(block) => {
                        prop_assert!(media.erase(SuperblockId::new(block)));
                        next[block as usize] = 0;
                        held[(block * PAGES) as usize..][..PAGES as usize].fill(None);
                    }
                    MediaOperation::Save => {
                        let mut saved = Vec::new();
                        media.save(&mut saved).expect("memory can be written");
                        let faults = Faults::new(&FaultSpec::default(), 1);
                        media = Media::load(SectorKind::Stamp, geometry(), 10, 1, faults, None, &mut &saved[..]).expect("a snapshot");
                    }
                }
                for (slot, sectors) in (0..).map(Psn::new).zip(&held) {
                    let Some(sectors) = sectors else { continue };
                    let mut read = vec![Stamp(0); SECTORS as usize];
                    media.read_sectors(slot, &mut read);
                    prop_assert_eq!(&read, sectors, "{}", slot);
                    let content: Vec<_> = (0..SECTORS).map(|sector| media.content::<Stamp>(slot, sector)).collect();
                    prop_assert_eq!(&content, sectors, "{}", slot);
                }
            }
        }
    }
}
