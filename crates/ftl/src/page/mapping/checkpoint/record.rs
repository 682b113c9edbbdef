//! The content of a checkpoint in the simulator: words of the record's image in the media.
//!
//! The image has the number of openings before the checkpoint, then a bit for each superblock that was closed, then a
//! bit for each slot to which an entry of the checkpoint leads.

use base::units::{Psn, SuperblockId};

/// Number of words that hold the number of openings.
const HEAD: usize = 2;

#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct CheckpointRecord<'a> {
    words: &'a [u32],
    superblocks: u32,
}

const fn words_of(bits: u32) -> usize {
    bits.div_ceil(u32::BITS) as usize
}

fn set(words: &mut [u32], bit: usize) {
    words[bit / 32] |= 1 << (bit % 32);
}

fn is_set(words: &[u32], bit: usize) -> bool {
    words[bit / 32] >> (bit % 32) & 1 != 0
}

impl<'a> CheckpointRecord<'a> {
    pub(super) const fn words(superblocks: u32, slots: u32) -> usize {
        HEAD + words_of(superblocks) + words_of(slots)
    }

    pub(in crate::page) const fn memory(superblocks: u32, slots: u32) -> u64 {
        (Self::words(superblocks, slots) * size_of::<u32>()) as u64
    }

    /// Begins the record of a checkpoint. `openings` is the number of superblocks opened before it.
    pub(super) fn begin(words: &mut [u32], openings: u64) {
        (words[0], words[1]) = (openings as u32, (openings >> 32) as u32);
    }

    /// Sets the bit of a closed superblock.
    pub(super) fn vouch(words: &mut [u32], superblock: SuperblockId) {
        set(&mut words[HEAD..], superblock.index());
    }

    pub(super) fn is_vouched(words: &[u32], superblock: SuperblockId) -> bool {
        is_set(&words[HEAD..], superblock.index())
    }

    /// Sets the bit of a slot to which an entry leads.
    pub(super) fn lead(words: &mut [u32], superblocks: u32, psn: Psn) {
        set(&mut words[HEAD + words_of(superblocks)..], psn.index());
    }

    pub(super) const fn read(words: &'a [u32], superblocks: u32) -> Self {
        Self { words, superblocks }
    }

    /// The number of superblocks opened before the checkpoint began.
    pub(super) fn openings(self) -> u64 {
        u64::from(self.words[0]) | u64::from(self.words[1]) << 32
    }

    /// True if a superblock was closed when the checkpoint began.
    pub(super) fn was_closed(self, superblock: SuperblockId) -> bool {
        Self::is_vouched(self.words, superblock)
    }

    /// True if an entry leads to this slot, which is in a superblock that was closed.
    pub(super) fn leads(self, psn: Psn) -> bool {
        is_set(&self.words[HEAD + words_of(self.superblocks)..], psn.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_what_was_noted_and_no_more() {
        let mut words = vec![0; CheckpointRecord::words(40, 100)];
        CheckpointRecord::begin(&mut words, 5 << 32 | 7);
        [31, 32].into_iter().for_each(|superblock| CheckpointRecord::vouch(&mut words, SuperblockId::new(superblock)));
        [0, 63, 99].into_iter().for_each(|psn| CheckpointRecord::lead(&mut words, 40, Psn::new(psn)));
        let record = CheckpointRecord::read(&words, 40);
        assert_eq!(record.openings(), 5 << 32 | 7);
        assert!((0..40).filter(|superblock| record.was_closed(SuperblockId::new(*superblock))).eq([31, 32]));
        assert!((0..100).filter(|psn| record.leads(Psn::new(*psn))).eq([0, 63, 99]));
        assert_eq!(CheckpointRecord::memory(40, 100), 4 * words.len() as u64);
    }
}
