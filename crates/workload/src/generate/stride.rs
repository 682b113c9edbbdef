//! Zones at equal distances, one of which at a time receives requests: fio's `zonemode=strided`, and its sequential
//! requests with holes (`rw=read:8k`).

use base::engine::Rng;

use super::permute::Permutation;
use super::spec::StrideOrder;

/// The zones of a region. Lengths are in sectors, positions count from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ZoneLayout {
    pub(super) zone: u64,
    /// The distance from the start of a zone to the start of the next.
    pub(super) step: u64,
    /// The number of sectors that a zone receives before the next zone's turn.
    pub(super) bytes: u64,
    /// True if the next zone lies before the current one.
    pub(super) backwards: bool,
    /// The length of an address unit.
    pub(super) unit: u64,
    pub(super) region: u64,
}

/// The zone that receives requests, and the position in it.
#[derive(Clone, Debug)]
pub(super) struct Stride {
    layout: ZoneLayout,
    order: StrideOrder,
    /// The start of the zone.
    first: u64,
    /// The number of sectors that the zone has received since its turn began.
    received: u64,
    /// The positions of the sequence of each kind of request, from the start of the zone.
    at: [u64; 3],
    /// The order of address units in this pass, and the position in it.
    pass: (Permutation, u64),
}

impl Stride {
    pub(super) fn new(layout: ZoneLayout, order: StrideOrder, rng: &mut Rng) -> Self {
        let pass = (Permutation::new((layout.zone / layout.unit).max(1), rng), 0);
        Self { layout, order, first: 0, received: 0, at: [0; 3], pass }
    }

    /// The address of the next request of `sectors`, from the start of the region. `kind` (below 3) selects the sequence.
    pub(super) fn draw(&mut self, kind: usize, sectors: u64, rng: &mut Rng) -> u64 {
        if self.received >= self.layout.bytes {
            self.next_zone(rng);
        }
        self.received += sectors;
        // The last zone may be cut off by the end of the region, but the first zone has room for a request.
        if self.room() < sectors {
            self.first = 0;
        }
        let room = self.room();
        let starts = (room - sectors) / self.layout.unit + 1;
        let within = match self.order {
            StrideOrder::Sequential => {
                let at = if self.at[kind] + sectors > room { 0 } else { self.at[kind] };
                self.at[kind] = at + sectors;
                at
            }
            StrideOrder::Uniform => rng.below(starts) * self.layout.unit,
            StrideOrder::Shuffled => self.next_of_pass(starts, rng) * self.layout.unit,
        };
        self.first + within
    }

    /// The number of sectors from the start of the zone to its end, or to that of the region.
    fn room(&self) -> u64 {
        self.layout.zone.min(self.layout.region - self.first)
    }

    fn next_zone(&mut self, rng: &mut Rng) {
        let ZoneLayout { zone, step, backwards, unit, region, .. } = self.layout;
        (self.received, self.at) = (0, [0; 3]);
        self.pass = (Permutation::new((zone / unit).max(1), rng), 0);
        self.first = match backwards {
            false if self.first + step < region => self.first + step,
            false => 0,
            true if self.first >= step => self.first - step,
            // Wraps around as fio does: a whole step and a zone fit between the new zone and the end of the region.
            true => region.saturating_sub(step + zone) / unit * unit,
        };
    }

    /// The next of `starts` address units in the order of this pass.
    fn next_of_pass(&mut self, starts: u64, rng: &mut Rng) -> u64 {
        let units = (self.layout.zone / self.layout.unit).max(1);
        loop {
            let (order, next) = &mut self.pass;
            if *next == units {
                self.pass = (Permutation::new(units, rng), 0);
                continue;
            }
            *next += 1;
            let unit = order.apply(*next - 1);
            if unit < starts {
                return unit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zones of four units in a region of 22 units of eight sectors.
    const LAYOUT: ZoneLayout = ZoneLayout { zone: 32, step: 48, bytes: 32, backwards: false, unit: 8, region: 176 };

    fn units(layout: ZoneLayout, order: StrideOrder, n: usize) -> Vec<u64> {
        let mut rng = Rng::stream(5, "stride");
        let mut stride = Stride::new(layout, order, &mut rng);
        (0..n).map(|_| stride.draw(0, 8, &mut rng) / 8).collect()
    }

    #[test]
    fn each_zone_receives_its_bytes_and_the_last_is_followed_by_the_first() {
        let expected = [0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15, 18, 19, 20, 21, 0, 1];
        assert_eq!(units(LAYOUT, StrideOrder::Sequential, 18), expected);
    }

    #[test]
    fn a_zone_that_receives_less_or_more_than_its_length() {
        let less = ZoneLayout { bytes: 16, ..LAYOUT };
        assert_eq!(units(less, StrideOrder::Sequential, 5), [0, 1, 6, 7, 12]);
        let more = ZoneLayout { bytes: 48, ..LAYOUT };
        assert_eq!(units(more, StrideOrder::Sequential, 8), [0, 1, 2, 3, 0, 1, 6, 7]);
    }

    #[test]
    fn holes_before_each_request_go_backwards_from_the_end_as_in_fio() {
        // The job rw=read:-8k with bs=4k on a file of 32 KiB.
        let holes = ZoneLayout { zone: 8, step: 8, bytes: 8, backwards: true, unit: 8, region: 64 };
        assert_eq!(units(holes, StrideOrder::Sequential, 9), [0, 6, 5, 4, 3, 2, 1, 0, 6]);
    }

    #[test]
    fn a_shuffled_zone_visits_each_unit_once_per_pass() {
        let drawn = units(LAYOUT, StrideOrder::Shuffled, 16);
        for (zone, visited) in drawn.chunks(4).enumerate() {
            let mut sorted = visited.to_vec();
            sorted.sort_unstable();
            let first = zone as u64 * 6;
            assert_eq!(sorted, [first, first + 1, first + 2, first + 3], "{drawn:?}");
        }
    }

    #[test]
    fn requests_never_leave_their_zone_or_the_region() {
        for order in [StrideOrder::Sequential, StrideOrder::Uniform, StrideOrder::Shuffled] {
            let mut rng = Rng::stream(6, "stride");
            let short = ZoneLayout { region: 160, ..LAYOUT };
            let mut stride = Stride::new(short, order, &mut rng);
            for i in 0..1000 {
                let sectors = if order == StrideOrder::Shuffled { 8 } else { 8 * (1 + i % 4) };
                let start = stride.draw(0, sectors, &mut rng);
                assert!(start % 48 + sectors <= 32 && start + sectors <= 160, "{order:?}: {start} + {sectors}");
            }
        }
    }
}
