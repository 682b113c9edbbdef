//! The size of the SLC cache: how many superblocks of a pool may be in SLC mode, as a function of the drive's fill.

use base::units::Bytes;

use super::bytes_in_slc_mode;
use crate::page::PageConfig;
use crate::page::slc_cache_spec::{CachePoint, SlcCacheSpec};

/// The size of the cache in each pool, as a curve over the fill.
#[derive(Clone, Debug)]
pub(in crate::page) struct CacheSize {
    /// Mapping units that a pool holds when the drive is full.
    full: f64,
    /// Points of the curve: the pool's share of the mapping units of a full pool, in ascending order, and the number of
    /// superblocks.
    points: Vec<(f64, f64)>,
}

impl CacheSize {
    pub(super) fn new(spec: &SlcCacheSpec, config: &PageConfig) -> Self {
        let groups = config.geometry.die_count() * config.geometry.groups();
        let point = |CachePoint { fill, size }: &CachePoint| (fill.get(), Self::superblocks(*size, config));
        let first = (0.0, Self::superblocks(spec.size, config));
        Self {
            full: f64::from(config.units) / f64::from(groups),
            points: [first].into_iter().chain(spec.points.iter().map(point)).collect(),
        }
    }

    pub(super) fn memory(spec: &SlcCacheSpec) -> u64 {
        ((spec.points.len() + 1) * size_of::<(f64, f64)>()) as u64
    }

    /// The number of superblocks of each pool that hold `size` bytes together in SLC mode; not rounded.
    pub(in crate::page) fn superblocks(size: Bytes, config: &PageConfig) -> f64 {
        let groups = u64::from(config.geometry.die_count()) * u64::from(config.geometry.groups());
        let bits = config.timing.slc_mode.map_or(1, |mode| mode.bits);
        size.get() as f64 / (bytes_in_slc_mode(&config.geometry, bits).get() * groups) as f64
    }

    /// The number of superblocks of each pool that hold at least `size` bytes together in SLC mode.
    pub(super) fn whole_superblocks(size: Bytes, config: &PageConfig) -> u32 {
        (Self::superblocks(size, config) - 1e-6).ceil() as u32
    }

    /// The number of superblocks that may be in SLC mode in a pool with `live` live mapping units.
    pub(super) fn limit(&self, live: u32) -> u32 {
        let fill = f64::from(live) / self.full;
        let behind = self.points.partition_point(|(at, _)| *at <= fill);
        let (from, size) = self.points[behind - 1];
        let size = match self.points.get(behind) {
            None => size,
            Some((to, later)) => size + (later - size) * (fill - from) / (to - from),
        };
        // The small addend keeps rounding from taking a superblock off a size that is a whole number.
        (size + 1e-6) as u32
    }

    /// The most superblocks that may be in SLC mode in a pool at any fill.
    pub(super) fn most(&self) -> u32 {
        let largest = self.points.iter().map(|(_, size)| *size).fold(0.0, f64::max);
        (largest + 1e-6) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_linear_between_its_points() {
        let size = CacheSize { full: 1000.0, points: vec![(0.0, 28.0), (0.5, 28.0), (0.75, 2.4)] };
        let limits = [0, 500, 625, 750, 1000].map(|live| size.limit(live));
        assert_eq!(limits, [28, 28, 15, 2, 2]);
        assert_eq!(size.most(), 28);
        let constant = CacheSize { full: 1000.0, points: vec![(0.0, 3.0)] };
        assert_eq!([0, 999, 1001].map(|live| constant.limit(live)), [3; 3]);
    }
}
