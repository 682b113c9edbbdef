//! The state of the FTL from nothing but the media: after a power cut, and on a new drive.
//!
//! Every programmed slot carries its unit and version. Of several copies the highest version wins; of
//! equal ones the original does, so that the target of an interrupted collection holds nothing and can be
//! erased. Open superblocks are not continued: what follows a torn page is left to the next erase.

use flash::nand::{BlockBirth, Media, Sector, Spare, Stream};
use flash::units::{Lpn, Psn, SuperblockId};

use super::PageFtl;
use super::blocks::State;
use crate::sabotage::Sabotage;

impl PageFtl {
    pub(super) fn recover<S: Sector>(&mut self, media: &Media<S>) {
        let slots = self.geometry.superblock_slots();
        let mut programmed = Vec::new();
        for superblock in (0..self.geometry.superblock_count()).map(SuperblockId::new) {
            let pool = self.geometry.group_of(superblock) as usize;
            if media.is_bad(superblock) {
                self.blocks.set_state(superblock, State::Bad);
                continue;
            }
            self.pools[pool].usable += 1;
            if media.is_erased(superblock) {
                self.pools[pool].free.push(superblock, media.erases(superblock));
            } else {
                programmed.push((media.birth(superblock), superblock));
            }
        }
        // From the oldest on, so that age means the same as before.
        programmed.sort_unstable();
        for (birth, superblock) in &programmed {
            for offset in 0..slots {
                let psn = self.geometry.slot(*superblock, offset);
                let Spare::Data { lpn, version } = media.spare(psn) else { continue };
                self.version = self.version.max(version);
                if lpn.get() < self.map.len() && self.wins(media, lpn, psn, *birth, version) {
                    self.map.set(lpn, psn);
                }
            }
        }
        for lpn in (0..self.map.len()).map(Lpn::new) {
            if let Some(psn) = self.map.get(lpn) {
                self.blocks.mark_valid(psn);
                let pool = self.geometry.group_of(self.geometry.locate(psn).0);
                self.pools[pool as usize].live += 1;
            }
        }
        for (_, superblock) in programmed {
            self.close(self.geometry.group_of(superblock), superblock);
        }
    }

    /// True if the copy at `psn` is to be preferred to the one that the map leads to.
    fn wins<S: Sector>(&self, media: &Media<S>, lpn: Lpn, psn: Psn, birth: BlockBirth, version: u32) -> bool {
        let Some(other) = self.map.get(lpn) else { return true };
        let Spare::Data { version: best, .. } = media.spare(other) else { return true };
        if version != best {
            return (version > best) != self.planted.is(Sabotage::OlderRecovered);
        }
        // Copies are made into superblocks opened for copies, one after another; the original is in an
        // earlier one of those, or in one opened for the host.
        let (superblock, _) = self.geometry.locate(psn);
        let (rival, _) = self.geometry.locate(other);
        let rank = |superblock, birth: BlockBirth| (birth.stream == Stream::Copies, birth.order, superblock);
        let original = rank(superblock, birth) < rank(rival, media.birth(rival));
        original != self.planted.is(Sabotage::CopyRecovered)
    }
}
