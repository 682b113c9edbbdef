//! The content of chunks as bytes of parity.
//!
//! Preconditioning gives each drive data of its own, and their sum is no parity. A real RAID would compute parity for them first, and that
//! takes hours. Here parity counts the change since preconditioning: the bytes of a sector are what the sector holds, plus what preconditioning
//! left in it, so preconditioned stripes are zeros, whose parity is zero. Only drives whose sectors have content need this.

use std::collections::BTreeSet;

use base::units::Lba;
use flash::nand::Sector;
use ssd::History;

use crate::code::Shard;

/// The data that preconditioning left at each place.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// By place; of the drive that stood there first.
    histories: Vec<Option<History>>,
    /// Rows that were discarded since: they hold zeros.
    discarded: BTreeSet<u64>,
    /// Sectors of a chunk.
    chunk: u64,
}

impl Content {
    pub(crate) const fn new(histories: Vec<Option<History>>, chunk: u64) -> Self {
        Self { histories, discarded: BTreeSet::new(), chunk }
    }

    /// Stripes have been discarded on all drives.
    pub(crate) fn discard(&mut self, stripes: std::ops::Range<u64>) {
        if self.histories.iter().any(Option::is_some) {
            self.discarded.extend(stripes);
        }
    }

    /// The bytes of sectors of one stripe, from `at` on.
    pub(crate) fn bytes<S: Sector>(&self, place: u32, at: u64, sectors: &[S]) -> Shard {
        let mut bytes = vec![0; sectors.len() * S::KIND.bytes()];
        flash::nand::encode(sectors, &mut bytes);
        self.mask::<S>(place, at, &mut bytes);
        bytes
    }

    /// The sectors of such bytes.
    pub(crate) fn sectors<S: Sector>(&self, place: u32, at: u64, mut bytes: Shard, count: u64) -> Vec<S> {
        let mut sectors = vec![S::default(); count as usize];
        self.mask::<S>(place, at, &mut bytes);
        flash::nand::decode(&bytes, &mut sectors);
        sectors
    }

    /// Adds what preconditioning left.
    fn mask<S: Sector>(&self, place: u32, at: u64, bytes: &mut [u8]) {
        let Some(history) = self.histories.get(place as usize).and_then(Option::as_ref) else { return };
        if S::KIND.bytes() == 0 || self.discarded.contains(&(at / self.chunk)) {
            return;
        }
        let mut left = vec![0; S::KIND.bytes()];
        for (sector, bytes) in (at..).zip(bytes.chunks_exact_mut(S::KIND.bytes())) {
            if let Some(content) = history.content::<S>(Lba::new(sector)) {
                content.encode(&mut left);
                bytes.iter_mut().zip(&left).for_each(|(byte, left)| *byte ^= left);
            }
        }
    }
}
