//! The orderly end of a RAID's power.

use flash::nand::Sector;
use ssd::{Drive, Sabotage};

use super::Raid;

impl<S: Sector> Raid<S> {
    /// Switches all drives off in order: the window of the RAID's own work that is under way ends, and each drive writes its buffer back.
    /// A rebuild or a repair goes on where it stopped when the power is back. Discards that drives may forget without power leave parity
    /// and mirrors in doubt, as a power cut does.
    ///
    /// # Panics
    /// If the power is off, or a request of the host is under way.
    pub fn power_off(&mut self) {
        assert!(self.is_powered, "the power is off already");
        let is_of_host = self.operations.handles().any(|handle| self.operations[handle].is_of_host());
        assert!(!is_of_host, "a request of the host is under way");
        // No other window begins.
        self.is_powered = false;
        while self.operations.handles().next().is_some() {
            let at = self.next_event().expect("a window that is under way has an event");
            self.advance(at, &mut Vec::new());
        }
        let drives = self.members.drives_mut();
        // A drive that has failed may end requests that nobody waits for.
        drives.iter_mut().for_each(|drive| _ = drive.power_off());
        self.now = drives.iter().map(|drive| drive.now()).fold(self.now, Ord::max);
        self.members.flushed(self.writes.ended);
        self.members.lose_power();
        self.members.pass(self.now);
        self.writes.flushed(self.writes.ended);
        let has_one_copy = self.layout.parities() == 0 && self.layout.copies() == 1;
        let is_clean = self.writes.are_durable() || has_one_copy || self.has_planted(Sabotage::RepairForgotten);
        self.background.lose_power(is_clean);
    }
}
