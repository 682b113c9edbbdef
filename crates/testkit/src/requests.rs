//! Random requests, small and large, half of them to a small range of sectors, so that they overlap.

use base::engine::Rng;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors};

/// Draws one request to a drive of `capacity` sectors.
pub fn draw(rng: &mut Rng, capacity: u64) -> Io {
    let kind = match rng.below(100) {
        0..30 => IoKind::Read,
        30..92 => IoKind::Write,
        92..96 => IoKind::Flush,
        _ => IoKind::Discard,
    };
    if kind == IoKind::Flush {
        return Io::FLUSH;
    }
    let most = if rng.chance(0.1) { 96 } else { 12 };
    let sectors = 1 + rng.below(most.min(capacity));
    let space = if rng.chance(0.5) { (capacity / 10).max(sectors) } else { capacity };
    let start = rng.below(space - sectors + 1);
    // Drives of three or four handles do not know some of these identifiers; the last is handle 1 of the second of two
    // reclaim groups.
    let placement = PlacementId::new([0, 1, 2, 3, 4, 0x8001][(start / 8 % 6) as usize]);
    Io { placement, ..Io::new(kind, Lba::new(start), Sectors::new(sectors)) }
}
