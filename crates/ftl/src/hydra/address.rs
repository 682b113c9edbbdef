//! The address of a sector: superchip, superblock, chip, page, bus (Seong et al., Sec. 3.1, Figs. 4 and 6).
//!
//! The chips with the same number on all buses work as one gang, and a gang is a die of the flash array. The paper's
//! pages on each of the buses are one *row* here: one mapping unit and one slot. Consecutive sectors go to consecutive
//! buses, and consecutive rows to consecutive dies of the superchip.

use base::units::Lpn;
use flash::nand::{Geometry, SectorMask};

/// The shape of the drive in superchips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Buses over which the sectors of a row are spread.
    pub(crate) buses: u32,
    /// Dies (gangs of chips) in a superchip.
    pub(crate) chips: u32,
    pub(crate) superchips: u32,
    /// Sectors in a row of all chips of a gang.
    pub(crate) sectors: u32,
    /// Pages in a block; also the number of a superblock's rows in each die.
    pub(crate) pages: u32,
    /// Physical superblocks of a superchip.
    pub(crate) superblocks: u32,
    /// Spare blocks of each die, which replace failing blocks.
    pub(crate) spares: u32,
    pub(crate) logical: u32,
}

#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SectorPlace {
    bus: u32,
    chip: u32,
    page: u32,
    /// The index of the sector within the page of its chip.
    sector: u32,
}

impl Layout {
    #[inline]
    pub(crate) const fn rows(&self) -> u32 {
        self.pages * self.chips
    }

    /// The logical superblock of a row, and the row's index in it.
    #[inline]
    pub(crate) const fn split(&self, row: Lpn) -> (u32, u32) {
        (row.get() / self.rows(), row.get() % self.rows())
    }

    /// The row at an index of a logical superblock.
    pub(crate) const fn join(&self, logical: u32, row: u32) -> Lpn {
        Lpn::new(logical * self.rows() + row)
    }

    /// The superchip of a logical superblock, which never changes: the low bits of the superblock's number.
    #[inline]
    pub(crate) const fn superchip_of(&self, logical: u32) -> u32 {
        logical % self.superchips
    }

    /// The die of a row within the superchip, and the page there.
    #[inline]
    pub(crate) const fn chip_and_page(&self, row: u32) -> (u32, u32) {
        (row % self.chips, row / self.chips)
    }

    /// The array's die for a chip of a superchip.
    #[inline]
    pub(crate) const fn die(&self, superchip: u32, chip: u32) -> u32 {
        superchip * self.chips + chip
    }

    /// The sectors that a transfer is charged for: all buses take as long as the bus with the most sectors.
    #[inline]
    pub(crate) fn bus_sectors(&self, mask: SectorMask) -> u32 {
        // A bus has every `buses`-th sector.
        let bus = (0..self.sectors).step_by(self.buses as usize).fold(0, |bus: SectorMask, sector| bus | 1 << sector);
        let most = (0..self.buses).map(|number| (mask & bus << number).count_ones()).max();
        most.unwrap_or(0) * self.buses
    }

    /// Physical superblocks of all superchips.
    pub(crate) const fn physical(&self) -> u32 {
        self.superchips * self.superblocks
    }

    pub(crate) const fn dies(&self) -> u32 {
        self.superchips * self.chips
    }

    /// The first spare block of a die.
    pub(crate) const fn first_spare(&self) -> u32 {
        self.superblocks
    }

    /// The first block of a die after the data blocks and their spares.
    pub(crate) const fn first_reserved(&self) -> u32 {
        self.superblocks + self.spares
    }

    /// The first logical number beyond the host's rows: the pages of the reserved areas are numbered from here.
    pub(crate) const fn first_number(&self) -> u32 {
        self.logical * self.rows()
    }

    /// True if the array has the dies, pages and row size of this layout.
    pub(crate) fn fits(&self, geometry: &Geometry) -> bool {
        let dies = geometry.die_count() == self.dies() && geometry.groups() == 1 && geometry.row_slots() == 1;
        dies && geometry.pages == self.pages && geometry.sectors == self.sectors
    }

    #[cfg(test)]
    fn place(&self, sector: u32) -> SectorPlace {
        let (chip, page) = self.chip_and_page(sector / self.sectors);
        let inside = sector % self.sectors;
        SectorPlace { bus: inside % self.buses, chip, page, sector: inside / self.buses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTOTYPE: Layout = Layout {
        buses: 4,
        chips: 2,
        superchips: 4,
        sectors: 16,
        pages: 64,
        superblocks: 8000,
        spares: 160,
        logical: 31_000,
    };

    #[test]
    fn sectors_are_where_figure_6_has_them() {
        let at = |sector| {
            let SectorPlace { bus, chip, page, sector } = PROTOTYPE.place(sector);
            (bus, chip, page, sector)
        };
        assert_eq!(at(0), (0, 0, 0, 0));
        assert_eq!(at(5), (1, 0, 0, 1));
        assert_eq!(at(15), (3, 0, 0, 3));
        assert_eq!(at(16), (0, 1, 0, 0));
        assert_eq!(at(32), (0, 0, 1, 0));
        assert_eq!(at(2047), (3, 1, 63, 3));
        // Sec. 3.1: the first bus has sectors 0, 4, 8 and 12.
        assert!([0, 4, 8, 12].map(|sector| PROTOTYPE.place(sector).bus) == [0; 4]);
    }

    #[test]
    fn every_sector_of_a_superblock_has_its_own_place() {
        for (buses, chips) in [(1, 1), (2, 1), (1, 2), (4, 2), (8, 4)] {
            let layout = Layout { buses, chips, sectors: 4 * buses, ..PROTOTYPE };
            let sectors = layout.rows() * layout.sectors;
            let places: std::collections::BTreeSet<_> = (0..sectors)
                .map(|sector| {
                    let place = layout.place(sector);
                    assert!(place.bus < buses && place.chip < chips && place.page < 64 && place.sector < 4);
                    (place.bus, place.chip, place.page, place.sector)
                })
                .collect();
            assert_eq!(places.len() as u32, sectors);
        }
    }

    #[test]
    fn a_logical_superblock_stays_in_its_superchip() {
        assert_eq!(PROTOTYPE.split(Lpn::new(128 * 7 + 5)), (7, 5));
        assert_eq!(PROTOTYPE.join(7, 5), Lpn::new(128 * 7 + 5));
        assert_eq!(PROTOTYPE.superchip_of(7), 3);
        assert_eq!([0, 1].map(|chip| PROTOTYPE.die(3, chip)), [6, 7]);
    }

    #[test]
    fn a_transfer_takes_the_time_of_the_fullest_bus() {
        assert_eq!(PROTOTYPE.bus_sectors(0xFFFF), 16);
        assert_eq!(PROTOTYPE.bus_sectors(0b1), 4, "one sector occupies its bus for one, and the others wait");
        assert_eq!(PROTOTYPE.bus_sectors(0b1_0001), 8, "both on the first bus");
        assert_eq!(PROTOTYPE.bus_sectors(0b1111), 4);
        assert_eq!(PROTOTYPE.bus_sectors(0b1111_1111 << 3), 8);
    }
}
