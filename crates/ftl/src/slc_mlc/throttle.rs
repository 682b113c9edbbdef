//! The utilisation throttle: it keeps the SLC flash from wearing out before the MLC flash (Chang, Sec. 3.4).

use crate::toolkit::PeriodicTrigger;

/// The wear of one kind of flash: its erases, blocks and endurance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wear {
    pub(super) erases: u64,
    pub(super) blocks: u32,
    pub(super) endurance: u32,
}

/// True if the SLC flash wears at least as fast as the MLC flash, each erase weighted by the endurance of its block. In
/// the paper's terms rws, the mean of the SLC erase counts over ds/dm, is compared with rwm, the mean of the MLC erase
/// counts.
pub(super) fn wears_faster(slc: Wear, mlc: Wear) -> bool {
    let side = |of: Wear, other: Wear| u128::from(of.erases) * u128::from(other.blocks) * u128::from(other.endurance);
    side(slc, mlc) >= side(mlc, slc)
}

/// Algorithm 2, and the length k of the log that it controls.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    /// The number of blocks that the log may have now, and the most that it may ever have.
    k: u32,
    initial: u32,
    step: u32,
    /// Requests since `k` last fell, while the throttle is active (the paper's c).
    busy: PeriodicTrigger,
    /// Requests since `k` last grew, while the throttle is inactive.
    calm: PeriodicTrigger,
}

impl Throttle {
    pub(super) const fn new(initial: u32, step: u32, period: u32) -> Self {
        Self { k: initial, initial, step, busy: PeriodicTrigger::new(period), calm: PeriodicTrigger::new(period) }
    }

    pub(super) const fn k(&self) -> u32 {
        self.k
    }

    /// Algorithm 2: true if the SLC flash takes a write while the throttle is active. `found` is true if all sectors of
    /// the write have entries in the hash table, regular or virtual; `insert` gives them virtual entries.
    pub(super) fn active(&mut self, found: bool, insert: impl FnOnce()) -> bool {
        self.busy.count();
        if found {
            return true;
        }
        insert();
        if self.busy.take_due() {
            // The log needs at least one block, the head.
            self.k = self.k.saturating_sub(self.step).max(1);
        }
        false
    }

    /// Counts a request while the throttle is inactive. k grows back at the pace at which it falls.
    pub(super) fn inactive(&mut self) {
        if self.k == self.initial {
            return;
        }
        if self.calm.tick() {
            self.k = (self.k + self.step).min(self.initial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wear_is_weighted_by_endurance() {
        // Endurances of 20 to 1: ten erases of each SLC block wear as half an erase of each MLC block.
        let slc = |erases| Wear { erases, blocks: 2_048, endurance: 100_000 };
        let mlc = |erases| Wear { erases, blocks: 43_008, endurance: 5_000 };
        assert!(wears_faster(slc(20_480), mlc(21_504)));
        assert!(!wears_faster(slc(20_479), mlc(21_504)));
        assert!(wears_faster(slc(0), mlc(0)));
    }

    #[test]
    fn k_falls_at_the_first_rejection_after_a_thousand_requests() {
        let mut throttle = Throttle::new(2_047, 100, 1_000);
        let mut noted = 0;
        for _ in 0..999 {
            assert!(!throttle.active(false, || noted += 1));
        }
        assert_eq!((throttle.k(), noted), (2_047, 999));
        // The count falls after the acceptance, so the thousandth request, a hit, does not lower k.
        assert!(throttle.active(true, || unreachable!("it is there")));
        assert_eq!(throttle.k(), 2_047);
        assert!(!throttle.active(false, || {}));
        assert_eq!(throttle.k(), 1_947);
    }

    #[test]
    fn k_grows_back_at_the_same_rate_up_to_its_start() {
        let mut throttle = Throttle::new(150, 100, 10);
        for _ in 0..25 {
            throttle.active(false, || {});
        }
        assert_eq!(throttle.k(), 1);
        (0..19).for_each(|_| throttle.inactive());
        assert_eq!(throttle.k(), 101);
        (0..30).for_each(|_| throttle.inactive());
        assert_eq!(throttle.k(), 150);
    }
}
