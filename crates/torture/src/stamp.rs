//! The name of a sector's content: the request that wrote it, and the place in that request.
//!
//! The rebuilt drive holds eight bytes for each sector instead of 512, so copies of it are small. The journal has the
//! bytes.

use flash::nand::Stamp;

/// The bits of a stamp that number the sectors of a request. The bits above have the request's number plus one. The
/// highest bit is clear in them: it marks stamps of preconditioning.
const OFFSET_BITS: u32 = 24;

/// The most sectors of a request.
pub(crate) const MOST_SECTORS: u64 = 1 << OFFSET_BITS;

/// The origin of a sector's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The sector reads as zeros: it was never written, or has been discarded.
    Zeros,
    /// Preconditioning wrote the sector, for this address. The sector reads as zeros, too.
    Preconditioned(u64),
    /// A request wrote it.
    Request {
        /// The request's number.
        of: u32,
        /// The sector's place in the request.
        offset: u64,
    },
}

/// The stamps of `sectors` sectors of request `of`, from its sector `from` on.
pub(crate) fn stamps(of: u32, from: u64, sectors: u64) -> Vec<Stamp> {
    let first = (u64::from(of) + 1) << OFFSET_BITS;
    (from..from + sectors).map(|offset| Stamp(first | offset)).collect()
}

/// The origin that a stamp names.
pub(crate) fn origin(stamp: Stamp) -> Origin {
    if let Some((sector, _)) = stamp.as_preconditioned() {
        return Origin::Preconditioned(sector.get());
    }
    match (stamp.0 >> OFFSET_BITS).checked_sub(1) {
        None => Origin::Zeros,
        Some(of) => Origin::Request { of: of as u32, offset: stamp.0 & (MOST_SECTORS - 1) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Lba;
    use flash::nand::Sector;

    #[test]
    fn a_stamp_names_its_origin() {
        for of in [0, 1, u32::MAX] {
            let all = stamps(of, MOST_SECTORS - 2, 2);
            assert_eq!(origin(all[1]), Origin::Request { of, offset: MOST_SECTORS - 1 });
            assert_eq!(all[1].as_preconditioned(), None);
        }
        assert_eq!(origin(Stamp::default()), Origin::Zeros);
        assert_eq!(origin(Stamp::preconditioned(Lba::new(77), 3)), Origin::Preconditioned(77));
    }
}
