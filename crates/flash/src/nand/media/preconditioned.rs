//! The content that preconditioning writes.

use base::units::Lba;

use crate::nand::{Sector, SectorKind, Spare, Stamp};

/// The content that preconditioning writes to a slot: its first sector and the version, or zeros if the slot holds no
/// data.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreconditionedSlot(Option<(u64, u32)>);

impl PreconditionedSlot {
    #[inline]
    pub(super) fn of(spare: Spare, sectors: u32) -> Self {
        let Spare::Data { lpn, version } = spare else { return Self(None) };
        Self(Some((u64::from(lpn.get()) * u64::from(sectors), version)))
    }

    /// The stamp of the first sector.
    #[inline]
    pub(super) fn stamp(self) -> Stamp {
        self.0.map_or(Stamp::default(), |(first, version)| Stamp::preconditioned(Lba::new(first), version))
    }

    /// Fills a slot: with stamps, or with zeros.
    #[inline]
    pub(super) fn fill(self, kind: SectorKind, into: &mut [u8]) {
        match kind {
            SectorKind::Stamp => self.stamp().fill_run(into),
            SectorKind::Nothing | SectorKind::Bytes => into.fill(0),
        }
    }

    /// True if the bytes of a slot are this content.
    #[inline]
    pub(super) fn is(self, kind: SectorKind, content: &[u8]) -> bool {
        match kind {
            SectorKind::Stamp => kind.run(content) == Some(self.stamp()),
            SectorKind::Nothing | SectorKind::Bytes => content.iter().all(|byte| *byte == 0),
        }
    }
}
