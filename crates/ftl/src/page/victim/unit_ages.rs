//! The ages of the mapping units of superblocks, for policies that ask for them.
//!
//! A spare area has the version of its mapping unit, and the version grows by one with each write. So no age is kept
//! for each mapping unit: the spare areas of a superblock are read once, when a victim is first chosen after the
//! superblock was closed.

use base::units::SuperblockId;

use super::order::AgeOrder;

/// The versions of the mapping units that were valid in a superblock when a victim was first chosen after it was
/// closed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct UnitVersions {
    pub(crate) newest: u32,
    pub(crate) oldest: u32,
    pub(crate) mean: f64,
}

impl UnitVersions {
    /// The versions of some mapping units; 0 if there are none.
    pub(crate) fn of(versions: impl Iterator<Item = u32>) -> Self {
        let (mut newest, mut oldest, mut sum, mut count) = (0, u32::MAX, 0_u64, 0_u32);
        for version in versions {
            (newest, oldest) = (newest.max(version), oldest.min(version));
            (sum, count) = (sum + u64::from(version), count + 1);
        }
        if count == 0 {
            return Self::default();
        }
        Self { newest, oldest, mean: sum as f64 / f64::from(count) }
    }
}

/// The versions of the mapping units of all closed superblocks.
#[derive(Clone, Debug)]
pub(super) struct UnitAges {
    /// The versions of each superblock; none for superblocks closed since the latest choice of a victim.
    known: Vec<Option<UnitVersions>>,
}

impl UnitAges {
    pub(super) fn new(superblocks: u32) -> Self {
        Self { known: vec![None; superblocks as usize] }
    }

    pub(super) const fn memory(superblocks: u64) -> u64 {
        superblocks * size_of::<Option<UnitVersions>>() as u64
    }

    pub(super) fn forget(&mut self, superblock: u32) {
        self.known[superblock as usize] = None;
    }

    pub(super) fn of(&self, superblock: u32) -> Option<UnitVersions> {
        self.known[superblock as usize]
    }

    /// Reads the versions of a pool's superblocks that were closed since the previous call.
    pub(super) fn update(&mut self, ages: &AgeOrder, pool: u32, versions: impl Fn(SuperblockId) -> UnitVersions) {
        for superblock in ages.latest_first(pool) {
            let known = &mut self.known[superblock as usize];
            if known.is_some() {
                break;
            }
            *known = Some(versions(SuperblockId::new(superblock)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use base::units::Time;

    use super::*;
    use crate::page::PageFtl;
    use crate::rig::Rig;

    #[test]
    fn the_mean_lies_between_the_oldest_and_the_newest() {
        let UnitVersions { newest, oldest, mean } = UnitVersions::of([4, 9, 2].into_iter());
        assert_eq!((newest, oldest), (9, 2));
        assert!((mean - 5.0).abs() < 1e-12);
        assert_eq!(UnitVersions::of(std::iter::empty()), UnitVersions::default());
    }

    #[test]
    fn each_superblock_is_looked_through_once_after_it_was_closed() {
        let (mut ages, mut unit_ages) = (AgeOrder::new(1, 4), UnitAges::new(4));
        let looked = RefCell::new(Vec::new());
        let versions = |superblock: SuperblockId| {
            looked.borrow_mut().push(superblock.get());
            UnitVersions::of(std::iter::once(superblock.get()))
        };
        [2, 0].into_iter().for_each(|superblock| ages.append(Time::ZERO, 0, superblock));
        unit_ages.update(&ages, 0, versions);
        ages.append(Time::ZERO, 0, 3);
        unit_ages.update(&ages, 0, versions);
        unit_ages.update(&ages, 0, versions);
        ages.remove(0, 2);
        unit_ages.forget(2);
        ages.append(Time::ZERO, 0, 2);
        unit_ages.update(&ages, 0, versions);
        assert_eq!(*looked.borrow(), [0, 2, 3, 2]);
        assert_eq!(unit_ages.of(3).map(|versions| versions.newest), Some(3));
        assert_eq!(unit_ages.of(1), None);
    }

    #[test]
    fn a_drive_whose_policy_asks_for_ages_keeps_all_data() {
        for score in ["mean_age * invalid", "oldest - youngest", "youngest", "invalid + copies - stream"] {
            let mut rig = Rig::new(&format!(
                r"flash = {{ part = 'dirik-2009', channels = 1, chips = 1, blocks = 24, pages = 8, planes = 1 }}
ftl = {{ map-unit = '1KiB', over-provisioning = '40%', gc = {{ victim = {{ policy = 'score', score = '{score}' }} }} }}"
            ));
            let units = rig.units();
            (0..units).for_each(|lpn| rig.write(&[lpn], None));
            for i in 0..4 * units {
                rig.write(&[i * i % units], None);
                rig.run_until_idle();
            }
            let ftl = rig.ftl.downcast_ref::<PageFtl>().expect("a page-mapped drive");
            let victims = &ftl.blocks.victims.data;
            let known = victims.closed(0).filter_map(|superblock| victims.unit_ages.as_ref()?.of(superblock.get()));
            let known: Vec<_> = known.collect();
            assert_eq!(known.is_empty(), score.starts_with("invalid"), "{score}");
            let latest = ftl.mapping.versions.latest();
            assert!(known.iter().all(|of| of.oldest <= of.newest && of.newest <= latest), "{score}");
        }
    }
}
