//! The place of a slot: channel, chip, die, plane, block, page, slot.
//!
//! The numbers are dense, and their digits are ordered so that slots that are programmed together are adjacent. From
//! the most significant digit:
//!
//! ```text
//! DieId        = channel, chip, die
//! SuperblockId = DieId, plane group, block          a group is `stripe` planes
//! BlockId      = SuperblockId, plane in the group
//! Ppn          = SuperblockId, page, plane in the group
//! Psn          = Ppn, slot
//! ```
//!
//! `stripe` is the number of planes that one command works on. Without multi-plane commands it is 1, and a superblock
//! is a block. Ganged chips (Dirik & Jacob, Sec. 3.2, Fig. 5b) act as one chip with that many times the planes, and
//! one command works on all of them.

use std::fmt;

use base::units::{BlockId, ChannelId, DieId, Divisor, Ppn, Psn, SuperblockId};

/// The shape of a flash array, checked, and with its divisions prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels: separately arbitrated buses.
    pub channels: u32,
    /// Chips, or gangs of chips, on each channel.
    pub chips: u32,
    /// Dies in a chip.
    pub dies: u32,
    /// Planes in a die; for ganged chips, the planes of all chips of the gang.
    pub planes: u32,
    /// Planes that one command works on.
    pub stripe: u32,
    /// Blocks in a plane.
    pub blocks: u32,
    /// Pages in a block.
    pub pages: u32,
    /// Mapping units in a page.
    pub slots: u32,
    /// Sectors in a mapping unit, at most 128.
    pub sectors: u32,
    /// Planes of the chip that act as one plane here, because a mapping unit lies on all of them. `planes` counts such
    /// a group as one, and a page here consists of a page of each plane of the group.
    pub planes_per_unit: u32,
    by_sectors: Divisor,
    by_superblock_slots: Divisor,
    by_row_slots: Divisor,
    by_slots: Divisor,
    by_die_superblocks: Divisor,
    by_blocks: Divisor,
    by_channel_dies: Divisor,
}

/// The reason why a geometry is impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// The dimension of this name is zero.
    Zero(&'static str),
    /// The stripe does not divide the planes.
    Stripe {
        /// Planes in a die.
        planes: u32,
        /// Planes that one command works on.
        stripe: u32,
    },
    /// More sectors in a mapping unit than a [`SectorMask`](super::SectorMask) has bits.
    UnitTooLarge(u32),
    /// The number of slots, more than 32 bits can number.
    TooLarge(u128),
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => write!(f, "no {what}: there must be at least one"),
            Self::Stripe { planes, stripe } => {
                write!(f, "{planes} planes do not divide into commands of {stripe}: use a divisor of {planes}")
            }
            Self::UnitTooLarge(sectors) => {
                write!(f, "a mapping unit of {sectors} sectors: at most 128 sectors (64KiB) are possible")
            }
            Self::TooLarge(slots) => {
                write!(f, "{slots} mapping units: at most 4294967294 are possible, use a larger mapping unit")
            }
        }
    }
}

impl Geometry {
    /// The array with groups of `planes` planes of the chip as its planes.
    #[must_use]
    pub const fn with_planes_per_unit(mut self, planes: u32) -> Self {
        self.planes_per_unit = planes;
        self
    }

    /// Checks a shape. `planes` counts the planes of ganged chips together.
    ///
    /// # Errors
    ///
    /// If a dimension is zero, the stripe does not divide the planes, a mapping unit has more than 128 sectors, or
    /// there are more slots than 32 bits can number.
    #[allow(clippy::too_many_arguments)] // Flash has nine dimensions; they are named at the one call.
    pub fn new(
        channels: u32,
        chips: u32,
        dies: u32,
        planes: u32,
        stripe: u32,
        blocks: u32,
        pages: u32,
        slots: u32,
        sectors: u32,
    ) -> Result<Self, GeometryError> {
        let dimensions = [
            (channels, "channels"),
            (chips, "chips"),
            (dies, "dies"),
            (planes, "planes"),
            (stripe, "planes per command"),
            (blocks, "blocks"),
            (pages, "pages"),
            (slots, "mapping units in a page"),
            (sectors, "sectors in a mapping unit"),
        ];
        if let Some((_, what)) = dimensions.iter().find(|(n, _)| *n == 0) {
            return Err(GeometryError::Zero(what));
        }
        if !planes.is_multiple_of(stripe) {
            return Err(GeometryError::Stripe { planes, stripe });
        }
        if sectors > 128 {
            return Err(GeometryError::UnitTooLarge(sectors));
        }
        let total: u128 = dimensions[..4].iter().chain(&dimensions[5..8]).map(|(n, _)| u128::from(*n)).product();
        if total >= u128::from(u32::MAX) {
            return Err(GeometryError::TooLarge(total));
        }
        Ok(Self {
            channels,
            chips,
            dies,
            planes,
            stripe,
            blocks,
            pages,
            slots,
            sectors,
            planes_per_unit: 1,
            by_sectors: Divisor::new(sectors),
            by_superblock_slots: Divisor::new(stripe * pages * slots),
            by_row_slots: Divisor::new(stripe * slots),
            by_slots: Divisor::new(slots),
            by_die_superblocks: Divisor::new(planes / stripe * blocks),
            by_blocks: Divisor::new(blocks),
            by_channel_dies: Divisor::new(chips * dies),
        })
    }

    /// The number of dies of the array.
    #[must_use]
    pub const fn die_count(&self) -> u32 {
        self.channels * self.chips * self.dies
    }

    /// The number of plane groups of a die. A command works on one group.
    #[must_use]
    pub const fn groups(&self) -> u32 {
        self.planes / self.stripe
    }

    /// The number of superblocks of the array.
    #[must_use]
    pub const fn superblock_count(&self) -> u32 {
        self.die_count() * self.groups() * self.blocks
    }

    /// The number of blocks of the array, in all planes.
    #[must_use]
    pub const fn block_count(&self) -> u32 {
        self.superblock_count() * self.stripe
    }

    /// Slots in a row: the pages with one page number in all planes of a superblock.
    #[must_use]
    #[inline]
    pub const fn row_slots(&self) -> u32 {
        self.by_row_slots.get()
    }

    /// Slots in a superblock: the slots of a row times the rows.
    #[must_use]
    #[inline]
    pub const fn superblock_slots(&self) -> u32 {
        self.by_superblock_slots.get()
    }

    /// The number of slots of the array.
    #[must_use]
    pub const fn slot_count(&self) -> u32 {
        self.superblock_count() * self.superblock_slots()
    }

    /// The mapping unit of a host sector. Exact up to sector 2^58.
    #[must_use]
    #[inline]
    pub const fn unit_of(&self, sector: u64) -> u64 {
        self.by_sectors.wide_quotient(sector)
    }

    /// The superblock of a slot and the slot's offset in it.
    #[must_use]
    #[inline]
    pub fn locate(&self, psn: Psn) -> (SuperblockId, u32) {
        let (superblock, offset) = self.by_superblock_slots.split(psn.get());
        (SuperblockId::new(superblock), offset)
    }

    /// The slot at `offset` in a superblock; the inverse of [`locate`](Self::locate).
    #[must_use]
    #[inline]
    pub const fn slot(&self, superblock: SuperblockId, offset: u32) -> Psn {
        Psn::new(superblock.get() * self.by_superblock_slots.get() + offset)
    }

    /// The page number and the plane (in its group) at an offset of a superblock.
    #[must_use]
    #[inline]
    pub fn page_and_plane(&self, offset: u32) -> (u32, u32) {
        let (page, rest) = self.by_row_slots.split(offset);
        (page, self.by_slots.quotient(rest))
    }

    /// The row of pages that holds a slot, counted over the whole array.
    #[must_use]
    #[inline]
    pub fn row_of(&self, psn: Psn) -> u32 {
        self.by_row_slots.quotient(psn.get())
    }

    /// The numbers of a superblock's slots, which are consecutive.
    #[must_use]
    #[inline]
    pub const fn slots_of(&self, superblock: SuperblockId) -> std::ops::Range<u32> {
        let slots = self.by_superblock_slots.get();
        superblock.get() * slots..(superblock.get() + 1) * slots
    }

    /// The page that holds a slot.
    #[must_use]
    #[inline]
    pub fn page_of(&self, psn: Psn) -> Ppn {
        Ppn::new(self.by_slots.quotient(psn.get()))
    }

    /// The block of a superblock in one plane of its group.
    #[must_use]
    #[inline]
    pub const fn block(&self, superblock: SuperblockId, plane: u32) -> BlockId {
        BlockId::new(superblock.get() * self.stripe + plane)
    }

    /// The superblock that contains a block.
    #[must_use]
    pub const fn superblock_of(&self, block: BlockId) -> SuperblockId {
        SuperblockId::new(block.get() / self.stripe)
    }

    /// The die that contains all blocks of a superblock.
    #[must_use]
    #[inline]
    pub fn die_of(&self, superblock: SuperblockId) -> DieId {
        DieId::new(self.by_die_superblocks.quotient(superblock.get()))
    }

    /// The plane group of a superblock, counted over all dies: groups of one die are adjacent.
    #[must_use]
    #[inline]
    pub fn group_of(&self, superblock: SuperblockId) -> u32 {
        self.by_blocks.quotient(superblock.get())
    }

    /// The channel to which a die is connected.
    #[must_use]
    #[inline]
    pub fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId::new(self.by_channel_dies.quotient(die.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape() -> impl Strategy<Value = Geometry> {
        (1..4u32, 1..4u32, 1..3u32, 1..3u32, 1..5u32, 1..9u32, 1..9u32, 1..5u32).prop_map(
            |(channels, chips, dies, groups, stripe, blocks, pages, slots)| {
                Geometry::new(channels, chips, dies, groups * stripe, stripe, blocks, pages, slots, 8).expect("small")
            },
        )
    }

    proptest! {
        #[test]
        fn every_slot_number_splits_into_its_address_and_joins_again(g in shape(), pick in any::<u32>()) {
            let psn = Psn::new(pick % g.slot_count());
            let (superblock, offset) = g.locate(psn);
            prop_assert_eq!(g.slot(superblock, offset), psn);
            let (page, plane) = g.page_and_plane(offset);
            prop_assert!(page < g.pages && plane < g.stripe);
            prop_assert_eq!(g.superblock_of(g.block(superblock, plane)), superblock);
            let die = g.die_of(superblock);
            prop_assert!(die.get() < g.die_count());
            prop_assert_eq!(g.group_of(superblock) / g.groups(), die.get());
            prop_assert!(g.channel_of(die).get() < g.channels);
            prop_assert_eq!(g.page_of(psn).get() / (g.stripe * g.pages), superblock.get());
        }
    }

    #[test]
    fn an_impossible_geometry_is_refused_with_its_reason() {
        let error = |channels, planes, stripe, blocks| {
            Geometry::new(channels, 1, 1, planes, stripe, blocks, 64, 1, 8).expect_err("impossible").to_string()
        };
        assert!(error(0, 1, 1, 8).contains("channels"));
        assert!(error(1, 3, 2, 8).contains("divisor of 3"));
        assert!(error(1, 1, 1, 1 << 30).contains("larger mapping unit"));
    }
}
