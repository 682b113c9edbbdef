//! The place of each mapping unit of a zone: arithmetic instead of a map.
//!
//! A zone is striped over its dies by programs. A *row* is the data of one program; row `r` of a zone goes to its die
//! `r` modulo the number of its dies. On each die the zone has one superblock or several, and fills one after the
//! other. So a map has to hold only the superblocks of each zone.
//!
//! Zones take turns at the groups of dies: zone `z` has group `z` modulo the number of groups. The dies of a group are
//! on as many channels as possible. Each zone of a group begins on the die behind that of the previous zone, so that
//! zones that are written in step do not meet on one die.

use base::units::{DieId, Divisor, Lpn};
use flash::nand::Geometry;

use crate::zone::ZoneShape;

/// The place of a row of a zone in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPlace {
    /// The number of the superblock within its zone.
    pub(super) member: u32,
    /// The row's first slot in that superblock.
    pub(super) offset: u32,
}

/// The meaning of a name in the spare area of a saved random write area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowName {
    /// The zone has a random write area.
    Zone(u32),
    /// The slot holds a mapping unit of a random write area.
    Unit(Lpn),
}

/// The numbers from which the place of a mapping unit is computed.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) geometry: Geometry,
    pub(super) shape: ZoneShape,
    size: Divisor,
    /// Mapping units of a row.
    row: Divisor,
    rows: Divisor,
    dies: Divisor,
    /// Superblocks of a zone on each of its dies.
    layers: u32,
    groups: Divisor,
    /// All dies, those with the same number in their channels one after another.
    order: Vec<DieId>,
}

impl Layout {
    /// The layout of zones that are striped over `dies` dies each, with programs of `row` slots.
    pub(super) fn new(geometry: &Geometry, shape: ZoneShape, dies: u32, row: u32) -> Self {
        let all = geometry.die_count();
        let of_channel = all / geometry.channels;
        let order = (0..all).map(|i| DieId::new(i % geometry.channels * of_channel + i / geometry.channels));
        Self {
            shape,
            size: Divisor::new(shape.size),
            row: Divisor::new(row),
            rows: Divisor::new(geometry.superblock_slots() / row),
            dies: Divisor::new(dies),
            layers: Self::layers(geometry, shape.capacity, dies),
            groups: Divisor::new(all / dies),
            order: order.collect(),
            geometry: geometry.clone(),
        }
    }

    /// The number of superblocks on each die for a zone of this capacity.
    pub(super) const fn layers(geometry: &Geometry, capacity: u32, dies: u32) -> u32 {
        (capacity as u64).div_ceil(geometry.superblock_slots() as u64 * dies as u64) as u32
    }

    /// Bytes of the tables.
    pub(super) const fn memory(geometry: &Geometry) -> u64 {
        geometry.die_count() as u64 * size_of::<DieId>() as u64
    }

    /// The zone of a mapping unit, and the unit's number in the zone.
    #[inline]
    pub(super) const fn split(&self, lpn: Lpn) -> (u32, u32) {
        self.size.split(lpn.get())
    }

    #[inline]
    pub(super) const fn unit(&self, zone: u32, unit: u32) -> Lpn {
        Lpn::new(zone * self.shape.size + unit)
    }

    /// The row of a unit, and the unit's number there.
    #[inline]
    pub(super) const fn row_of(&self, unit: u32) -> (u32, u32) {
        self.row.split(unit)
    }

    /// Mapping units of a whole row.
    #[inline]
    pub(super) const fn row_units(&self) -> u32 {
        self.row.get()
    }

    /// Rows of a zone; the last row may be filled in part.
    pub(super) const fn zone_rows(&self) -> u32 {
        self.shape.capacity.div_ceil(self.row.get())
    }

    /// Mapping units that a row of a zone holds.
    pub(super) fn units_in(&self, row: u32) -> u32 {
        self.row.get().min(self.shape.capacity - row * self.row.get())
    }

    /// Superblocks of a zone.
    pub(super) const fn members(&self) -> u32 {
        self.layers * self.dies.get()
    }

    #[inline]
    pub(super) const fn place_of(&self, row: u32) -> RowPlace {
        let (on_die, die) = self.dies.split(row);
        let (layer, inside) = self.rows.split(on_die);
        RowPlace { member: layer * self.dies.get() + die, offset: inside * self.row.get() }
    }

    #[inline]
    pub(super) fn die_of(&self, zone: u32, member: u32) -> DieId {
        let (turn, group) = self.groups.split(zone);
        let (_, die) = self.dies.split(member + turn % self.dies.get());
        self.order[(group * self.dies.get() + die) as usize]
    }

    #[inline]
    pub(super) fn die_of_row(&self, zone: u32, row: u32) -> DieId {
        let (_, die) = self.dies.split(row);
        self.die_of(zone, die)
    }

    /// Superblocks that a zone has on each of its dies.
    pub(super) const fn on_each_die(&self) -> u32 {
        self.layers
    }

    pub(super) fn zones_of_group(&self, group: u32) -> impl DoubleEndedIterator<Item = u32> + use<> {
        let groups = self.groups.get();
        (0..(self.shape.zones + groups - 1 - group) / groups).map(move |i| i * groups + group)
    }

    pub(super) const fn groups(&self) -> u32 {
        self.groups.get()
    }

    pub(super) const fn group_of(&self, zone: u32) -> u32 {
        self.groups.split(zone).1
    }

    pub(super) fn group_of_die(&self, die: DieId) -> u32 {
        let place = self.order.iter().position(|other| *other == die).expect("a die of the array");
        place as u32 / self.dies.get()
    }

    pub(super) fn dies_of_group(&self, group: u32) -> &[DieId] {
        let dies = self.dies.get() as usize;
        &self.order[group as usize * dies..][..dies]
    }

    pub(super) const fn superblock_rows(&self) -> u32 {
        self.rows.get()
    }

    /// The name in the spare area of a row that only pads a zone: no mapping unit of the host has it.
    pub(super) const fn padding_of(&self, zone: u32) -> Lpn {
        Lpn::new(self.shape.zones * self.shape.size + zone)
    }

    /// The name in the spare area that says that a zone has a random write area, when the area is saved.
    pub(super) const fn window_of(&self, zone: u32) -> Lpn {
        Lpn::new(self.shape.zones * self.shape.size + self.shape.zones + zone)
    }

    /// The name in the spare area of a mapping unit of a random write area, when the area is saved.
    pub(super) const fn window_unit(&self, lpn: Lpn) -> Lpn {
        Lpn::new(self.shape.zones * self.shape.size + 2 * self.shape.zones + lpn.get())
    }

    /// The meaning of a name for a random write area; `None` for the name of a mapping unit or of padding.
    pub(super) fn window_name(&self, lpn: Lpn) -> Option<WindowName> {
        let ZoneShape { zones, size, .. } = self.shape;
        let number = lpn.get().checked_sub(zones * size + zones)?;
        Some(match number.checked_sub(zones) {
            None => WindowName::Zone(number),
            Some(unit) => WindowName::Unit(Lpn::new(unit)),
        })
    }

    /// The zone of a row of padding with this name; `None` for other names.
    pub(super) const fn padded_zone(&self, lpn: Lpn) -> Option<u32> {
        lpn.get().checked_sub(self.shape.zones * self.shape.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Two channels of two dies; superblocks of two planes, with four pages of two slots each.
    fn layout(dies: u32, capacity: u32) -> Layout {
        let geometry = Geometry::new(2, 2, 1, 2, 2, 8, 4, 2, 1).expect("a small array");
        let shape = ZoneShape { zones: 5, size: 64, capacity, max_active: 3, max_open: 2, zrwa: None };
        Layout::new(&geometry, shape, dies, 4)
    }

    #[test]
    fn every_unit_of_a_zone_has_a_place_of_its_own() {
        for (dies, capacity) in [(1, 16), (1, 37), (2, 32), (2, 61), (4, 64)] {
            let layout = layout(dies, capacity);
            let mut places = BTreeSet::new();
            for unit in 0..capacity {
                let (row, inside) = layout.row_of(unit);
                let RowPlace { member, offset } = layout.place_of(row);
                assert!(member < layout.members() && inside < layout.units_in(row), "unit {unit}");
                assert_eq!(layout.die_of(0, member), layout.die_of_row(0, row));
                assert!(places.insert((member, offset + inside)), "unit {unit}");
            }
            assert_eq!(layout.row_of(capacity - 1).0 + 1, layout.zone_rows());
            let sum: u32 = (0..layout.zone_rows()).map(|row| layout.units_in(row)).sum();
            assert_eq!(sum, capacity);
        }
    }

    #[test]
    fn rows_follow_each_other_over_the_dies_and_dies_of_a_zone_are_on_different_channels() {
        let layout = layout(2, 64);
        let dies: Vec<_> = (0..4).map(|row| layout.die_of_row(0, row).get()).collect();
        assert_eq!(dies, [0, 2, 0, 2], "one die of each channel");
        assert_eq!(layout.die_of_row(1, 0).get(), 1, "the next zone has the other dies");
        assert_eq!(
            [2, 4].map(|zone| layout.die_of_row(zone, 0).get()),
            [2, 0],
            "zones of a group begin on different dies"
        );
        assert_eq!(layout.members(), 4, "two superblocks on each of two dies");
        let offsets: Vec<_> =
            (0..10).map(|row| layout.place_of(row)).map(|place| (place.member, place.offset)).collect();
        let first = [(0, 0), (1, 0), (0, 4), (1, 4), (0, 8), (1, 8), (0, 12), (1, 12)];
        assert_eq!(offsets, [&first[..], &[(2, 0), (3, 0)]].concat());
    }

    #[test]
    fn the_zones_take_turns_at_the_groups() {
        let layout = layout(2, 64);
        let of = |group| layout.zones_of_group(group).collect::<Vec<_>>();
        assert_eq!([of(0), of(1)], [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(layout.padded_zone(layout.padding_of(3)), Some(3));
        assert_eq!(layout.padded_zone(layout.unit(4, 63)), None);
        assert_eq!(layout.window_name(layout.padding_of(4)), None);
        assert_eq!(layout.window_name(layout.window_of(4)), Some(WindowName::Zone(4)));
        let last = layout.unit(4, 63);
        assert_eq!(layout.window_name(layout.window_unit(last)), Some(WindowName::Unit(last)));
    }
}
