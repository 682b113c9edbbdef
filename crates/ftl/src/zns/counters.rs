//! Counters of a drive with zones: resets, finishes, padding, and random write areas.

use crate::zone::ZoneShape;

/// Counters of the zones of a drive since the power came on, and the present numbers of active and open zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneCounters {
    /// Resets of zones that were not empty.
    pub resets: u64,
    /// Finishes of zones that were not full.
    pub finishes: u64,
    /// Mapping units of zones that finishes filled with padding.
    pub padded: u64,
    /// Zones that are active now.
    pub active: u32,
    /// Zones that are open now.
    pub open: u32,
    /// Counters of the random write areas; `None` if the drive has none.
    pub zrwa: Option<ZrwaCounters>,
}

/// Counters of the random write areas of zones since the power came on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZrwaCounters {
    /// Mapping units that a newer write replaced in the area, so that they never reach flash.
    pub overwritten: u64,
    /// Mapping units that the write pointer passed before the host had written them: they are programmed as zeros.
    pub unwritten: u64,
    /// Writes behind the area that moved the write pointer.
    pub implicit_flushes: u64,
    /// Commands that moved the write pointer (explicit flushes).
    pub explicit_flushes: u64,
    /// Zones that have a random write area now.
    pub zones: u32,
}

impl ZoneCounters {
    pub(super) fn new(shape: ZoneShape) -> Self {
        Self { zrwa: shape.zrwa.map(|_| ZrwaCounters::default()), ..Self::default() }
    }

    /// The counters since an earlier snapshot, and the present numbers of zones.
    #[must_use]
    pub fn since(&self, from: &Self) -> Self {
        Self {
            resets: self.resets - from.resets,
            finishes: self.finishes - from.finishes,
            padded: self.padded - from.padded,
            zrwa: self.zrwa.map(|zrwa| zrwa.since(&from.zrwa.unwrap_or_default())),
            ..*self
        }
    }
}

impl ZrwaCounters {
    const fn since(&self, from: &Self) -> Self {
        Self {
            overwritten: self.overwritten - from.overwritten,
            unwritten: self.unwritten - from.unwritten,
            implicit_flushes: self.implicit_flushes - from.implicit_flushes,
            explicit_flushes: self.explicit_flushes - from.explicit_flushes,
            zones: self.zones,
        }
    }
}
