//! The safety valve of the write-back policy (Chang, Sec. 3.6, last paragraph).
//!
//! Sectors whose logical block has no log block are copied back to the head of the SLC log, and so may never leave. Then
//! fewer of the writes that come are updates of what is there. When their share drops notably below what it was, nothing
//! is copied back until it is there again. The paper gives no numbers: the share of a window of accepted writes is held
//! against a running mean over sixteen of them.

use crate::toolkit::Every;

/// Accepted writes in a window. Ours.
const WINDOW: u32 = 1_000;

/// Whether cold sectors may be copied back to the head.
#[derive(Clone, Debug)]
pub(super) struct Valve {
    /// The part of the running mean below which it closes; never if zero.
    notable: f64,
    window: Every,
    updates: u32,
    mean: Option<f64>,
    closed: bool,
}

impl Valve {
    pub(super) const fn new(notable: f64) -> Self {
        Self { notable, window: Every::new(WINDOW), updates: 0, mean: None, closed: false }
    }

    /// True while nothing is copied back.
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// The SLC flash has taken a write; `update` if all of it was there.
    pub(super) fn taken(&mut self, update: bool) {
        self.updates += u32::from(update);
        if !self.window.tick() {
            return;
        }
        let share = f64::from(std::mem::take(&mut self.updates)) / f64::from(WINDOW);
        let mean = *self.mean.get_or_insert(share);
        self.closed = share < mean * self.notable;
        self.mean = Some(mean + (share - mean) / 16.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(valve: &mut Valve, count: u32, updates: u32) {
        for i in 0..count * WINDOW {
            valve.taken(i % WINDOW < updates);
        }
    }

    #[test]
    fn it_closes_when_updates_become_rare_and_opens_when_they_are_back() {
        let mut valve = Valve::new(0.8);
        windows(&mut valve, 20, 800);
        assert!(!valve.is_closed());
        windows(&mut valve, 1, 600);
        assert!(valve.is_closed());
        windows(&mut valve, 1, 790);
        assert!(!valve.is_closed());
    }

    #[test]
    fn a_new_level_becomes_the_usual_one() {
        let mut valve = Valve::new(0.8);
        windows(&mut valve, 1, 900);
        windows(&mut valve, 60, 500);
        assert!(!valve.is_closed());
    }
}
