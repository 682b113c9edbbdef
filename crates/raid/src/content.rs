//! The content of chunks as bytes of parity.
//!
//! Preconditioning gives each drive its own data, and their sum is not a parity. A real RAID would compute parity for
//! them first, which takes hours. Here parity covers the change since preconditioning: the bytes of a sector are the
//! sum of its content and of its content after preconditioning. So preconditioned stripes are zeros, whose parity is
//! zero. Only drives whose sectors have content need this.

use std::collections::BTreeSet;

use base::units::Lba;
use flash::nand::Sector;
use ssd::History;

use crate::code::Shard;

/// The content after preconditioning at each place.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// The history of the drive that stood at each place first.
    histories: Vec<Option<History>>,
    /// Rows that were discarded since then, which read as zeros.
    discarded: BTreeSet<u64>,
    chunk: u64,
}

impl Content {
    pub(crate) const fn new(histories: Vec<Option<History>>, chunk: u64) -> Self {
        Self { histories, discarded: BTreeSet::new(), chunk }
    }

    /// Notes that stripes have been discarded on all drives.
    pub(crate) fn discard(&mut self, stripes: std::ops::Range<u64>) {
        if self.histories.iter().any(Option::is_some) {
            self.discarded.extend(stripes);
        }
    }

    /// The bytes of these sectors of one stripe, which begin at sector `at` of their place.
    pub(crate) fn bytes<S: Sector>(&self, place: u32, at: u64, sectors: &[S]) -> Shard {
        let mut bytes = vec![0; sectors.len() * S::KIND.bytes()];
        flash::nand::encode(sectors, &mut bytes);
        self.mask::<S>(place, at, &mut bytes);
        bytes
    }

    pub(crate) fn sectors<S: Sector>(&self, place: u32, at: u64, mut bytes: Shard, count: u64) -> Vec<S> {
        let mut sectors = vec![S::default(); count as usize];
        self.mask::<S>(place, at, &mut bytes);
        flash::nand::decode(&bytes, &mut sectors);
        sectors
    }

    /// Adds the content after preconditioning.
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
