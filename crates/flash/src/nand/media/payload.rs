//! The content of sectors.
//!
//! The spare areas determine the content that preconditioning writes: the sector and the version of the write. A
//! block that holds nothing else stores no content, so a drive that is only preconditioned takes no memory for it,
//! and neither does its snapshot.

use std::borrow::Cow;
use std::{fmt, io};

use crate::nand::{Geometry, Sector, Spare};
use base::units::{BlockId, Lba, Psn, SuperblockId};

use super::{Held, Media};

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
    fn at<S: Sector>(self, sector: u32) -> S {
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

impl<S: Sector> Media<S> {
    /// The place of a slot's payload: the block and the range in it.
    pub(super) fn place(&self, psn: Psn) -> (BlockId, std::ops::Range<usize>) {
        let (superblock, offset) = self.geometry.locate(psn);
        let (page, plane) = self.geometry.page_and_plane(offset);
        let first = (page * self.geometry.slots + offset % self.geometry.slots) * self.geometry.sectors;
        (self.geometry.block(superblock, plane), first as usize..(first + self.geometry.sectors) as usize)
    }

    /// Reads the content of a slot. False if its backing store has it no more.
    #[inline]
    pub(super) fn read_payload(&self, psn: Psn, derived: Preconditioned, into: &mut [S]) -> bool {
        if let Some(store) = self.backing.get() {
            match store.read(psn, into) {
                Held::Stored => {}
                Held::Derived => derived.fill(into),
                Held::Damaged => {
                    into.fill(S::default());
                    return false;
                }
            }
            return true;
        }
        let (block, range) = self.place(psn);
        match &self.payload[block.index()] {
            Some(data) => into.copy_from_slice(&data[range]),
            None => derived.fill(into),
        }
        true
    }

    /// The content of all sectors of a block, as memory keeps it.
    ///
    /// # Errors
    /// If the backing store has lost some of it.
    pub(super) fn payload_of(&self, block: usize) -> io::Result<Option<Cow<'_, [S]>>> {
        if !self.backing.is_some() {
            return Ok(self.payload[block].as_deref().map(Cow::Borrowed));
        }
        let Geometry { slots, stripe, sectors, pages, .. } = self.geometry;
        let (superblock, plane) = (SuperblockId::new(block as u32 / stripe), block as u32 % stripe);
        let mut data = vec![S::default(); (pages * slots * sectors) as usize];
        let mut is_derived = true;
        for (i, into) in (0..).zip(data.chunks_exact_mut(sectors as usize)) {
            let psn = self.geometry.slot(superblock, (i / slots * stripe + plane) * slots + i % slots);
            let derived = self.preconditioned(psn);
            if !self.read_payload(psn, derived, into) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, DamagedSlot(psn)));
            }
            is_derived &= derived.is(into);
        }
        Ok((!is_derived).then_some(Cow::Owned(data)))
    }

    /// The content of a sector of a slot; the default without payload. Like reading the spare area, the call itself
    /// takes no simulated time.
    #[must_use]
    pub fn content(&self, psn: Psn, sector: u32) -> S {
        if let Some(store) = self.backing.get() {
            let mut slot = vec![S::default(); self.geometry.sectors as usize];
            if !self.read_payload(psn, self.preconditioned(psn), &mut slot) {
                store.refuse(psn);
            }
            return slot[sector as usize];
        }
        let (block, range) = self.place(psn);
        match self.payload.get(block.index()) {
            None => S::default(),
            Some(Some(data)) => data[range][sector as usize],
            Some(None) => self.preconditioned(psn).at(sector),
        }
    }

    /// The content of a slot that only preconditioning has written.
    #[inline]
    pub(super) fn preconditioned(&self, psn: Psn) -> Preconditioned {
        Preconditioned::of(self.spare(psn), self.geometry.sectors)
    }

    /// The payload of a block whose last programmed page is `page`. Stores it from now on.
    pub(super) fn keep_payload(&mut self, superblock: SuperblockId, plane: u32, page: u32) -> &mut [S] {
        let block = self.geometry.block(superblock, plane).index();
        if self.payload[block].is_none() {
            let Geometry { slots, stripe, sectors, pages, .. } = self.geometry;
            let mut data = vec![S::default(); (pages * slots * sectors) as usize];
            // The page itself is included: earlier slots of it may have been skipped.
            for (i, into) in (0..).zip(data.chunks_exact_mut(sectors as usize)).take(((page + 1) * slots) as usize) {
                let offset = (i / slots * stripe + plane) * slots + i % slots;
                let psn = self.geometry.slot(superblock, offset);
                self.preconditioned(psn).fill(into);
            }
            self.payload[block] = Some(data.into());
        }
        self.payload[block].as_deref_mut().expect("it has just been made")
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
            assert!(m.program(target, 4, (Stream::Host, Mode::Full), spare, &stamps));
            m.payload.iter().flatten().count()
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
}
