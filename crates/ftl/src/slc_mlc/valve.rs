//! The safety valve of the write-back policy (Chang, Sec. 3.6, last paragraph).
//!
//! Sectors whose logical block has no log block are copied back to the head of the SLC log, and so may never leave.
//! Then fewer incoming writes update sectors of the SLC flash. When the share of such updates falls notably below its
//! usual level, the valve stops the copies until the share is back. The paper gives no numbers: this valve compares the
//! share in a window of accepted writes with a running mean over sixteen windows.

use crate::toolkit::PeriodicTrigger;

/// Accepted writes in a window. Assumed.
const WINDOW: u32 = 1_000;

#[derive(Clone, Debug)]
pub(super) struct Valve {
    /// The part of the running mean below which the valve closes; with 0 it never closes.
    notable: f64,
    window: PeriodicTrigger,
    updates: u32,
    mean: Option<f64>,
    closed: bool,
}

impl Valve {
    pub(super) const fn new(notable: f64) -> Self {
        Self { notable, window: PeriodicTrigger::new(WINDOW), updates: 0, mean: None, closed: false }
    }

    /// True while no sector is copied back to the head.
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Counts an accepted write; `update` is true if all its sectors were in the SLC flash.
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
    fn the_valve_closes_when_updates_become_rare_and_opens_when_they_return() {
        let mut valve = Valve::new(0.8);
        windows(&mut valve, 20, 800);
        assert!(!valve.is_closed());
        windows(&mut valve, 1, 600);
        assert!(valve.is_closed());
        windows(&mut valve, 1, 790);
        assert!(!valve.is_closed());
    }

    #[test]
    fn a_lasting_new_level_opens_the_valve_again() {
        let mut valve = Valve::new(0.8);
        windows(&mut valve, 1, 900);
        windows(&mut valve, 60, 500);
        assert!(!valve.is_closed());
    }
}
