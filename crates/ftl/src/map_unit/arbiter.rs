//! Weighted round robin over queues (Sec. 4.6, Fig. 9).

/// Chooses among `N` queues. A round gives each queue as many turns as its weight; the turns of an empty queue go to
/// the other queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arbiter<const N: usize> {
    weights: [u32; N],
    left: [u32; N],
}

impl<const N: usize> Arbiter<N> {
    pub(super) fn new(weights: [u32; N]) -> Self {
        assert!(weights.iter().all(|weight| *weight > 0), "a queue without a turn is never served");
        Self { weights, left: weights }
    }

    /// Sets the weights from the next round on.
    pub(super) fn set(&mut self, weights: [u32; N]) {
        *self = Self { left: self.left, ..Self::new(weights) };
    }

    /// The queue whose turn is next, among the queues that are `ready`; `None` if none is.
    #[inline]
    pub(super) fn pick(&mut self, ready: [bool; N]) -> Option<usize> {
        let mut first = None;
        for (queue, (is_ready, left)) in ready.into_iter().zip(&mut self.left).enumerate() {
            if is_ready && *left > 0 {
                *left -= 1;
                return Some(queue);
            }
            if is_ready {
                first = first.or(Some(queue));
            }
        }
        let queue = first?;
        // A new round: the first ready queue has turns again.
        self.left = self.weights;
        self.left[queue] -= 1;
        Some(queue)
    }

    /// Counts a turn of a queue, as [`Self::pick`] does if only this queue is ready.
    #[inline]
    pub(super) fn pick_alone(&mut self, queue: usize) {
        if self.left[queue] == 0 {
            self.left = self.weights;
        }
        self.left[queue] -= 1;
    }
}

/// The turns of host and collector together in one round.
const TURNS: u32 = 16;

/// The weights of host and collector during the collection of a victim with `valid` of `of` mapping units.
///
/// Copying `valid` mapping units frees space for `of - valid` new ones. If both are served in this ratio, the host uses
/// space as fast as the collector frees it, and its write rate does not swing between phases with and without
/// collection; the paper names this purpose (Sec. 4.6). The formula is ours: the paper says only that the weights
/// follow the victim's valid page count. Each side has at least one turn in sixteen.
pub(super) fn collector_weights(valid: u32, of: u32) -> [u32; 2] {
    let share = (u64::from(TURNS) * u64::from(valid)).div_ceil(u64::from(of.max(1)));
    let collector = (share as u32).clamp(1, TURNS - 1);
    [TURNS - collector, collector]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_the_weights_and_an_empty_queue_gives_its_turn_away() {
        let mut arbiter = Arbiter::new([4, 1]);
        let picks: Vec<_> = (0..10).filter_map(|_| arbiter.pick([true, true])).collect();
        assert_eq!(picks, [0, 0, 0, 0, 1, 0, 0, 0, 0, 1], "responses before requests, 4:1");
        assert!((0..9).all(|_| arbiter.pick([false, true]) == Some(1)), "an empty queue delays no other");
        assert_eq!(arbiter.pick([false, false]), None);
        let mut alone = arbiter;
        for _ in 0..9 {
            assert_eq!(arbiter.pick([true, false]), Some(0));
            alone.pick_alone(0);
            assert_eq!(alone.left, arbiter.left, "the only ready queue");
        }
        arbiter.set([1, 2]);
        let both = |arbiter: &mut Arbiter<2>| (0..300).filter(|_| arbiter.pick([true; 2]) == Some(1)).count();
        assert!((196..=200).contains(&both(&mut arbiter)));
    }

    #[test]
    fn the_weight_of_the_collector_grows_with_the_units_it_copies() {
        assert_eq!(collector_weights(0, 256), [15, 1]);
        assert_eq!(collector_weights(64, 256), [12, 4], "three mapping units freed for each copied one");
        assert_eq!(collector_weights(128, 256), [8, 8]);
        assert_eq!(collector_weights(256, 256), [1, 15]);
        assert_eq!(collector_weights(5, 0), [1, 15], "no division by zero");
    }
}
