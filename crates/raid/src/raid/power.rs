//! The power of a RAID: cuts it, switches it off in order, and on.

use base::engine::Order;
use base::units::Time;
use flash::nand::Sector;
use ssd::{Drive, Recovery, Sabotage, Tag};

use super::Raid;
use crate::journal::Journal;

impl<S: Sector> Raid<S> {
    /// Cuts the power of all drives. Returns the tags of the requests that will never complete.
    pub fn cut_power(&mut self) -> Vec<Tag> {
        let active = self.operations.handles().map(|handle| &self.operations[handle]);
        let of_host = active.filter(|operation| operation.is_of_host()).map(|operation| operation.completion.tag);
        let unseen = self.completions.iter().map(|completion| completion.tag);
        let lost = of_host.chain(unseen).collect();
        let has_one_copy = self.layout.parities() == 0 && self.layout.copies() == 1;
        let is_clean = self.writes.are_durable() || has_one_copy || self.has_planted(Sabotage::RepairForgotten);
        self.background.lose_power(is_clean || self.has_journal());
        self.members.cut_power();
        self.journal.iter_mut().for_each(Journal::lose_power);
        self.writes.lose_power();
        self.operations = Order::default();
        self.completions.clear();
        self.held.clear();
        self.is_powered = false;
        lost
    }

    /// Switches all drives on. The host may submit requests at once; they wait while a journal is replayed. Without a journal, if the
    /// power was cut during writes or before a flush, copies and parity are repaired meanwhile.
    ///
    /// # Panics
    /// If the power is on, or `now` is in the past.
    pub fn power_on(&mut self, now: Time) -> Recovery {
        assert!(!self.is_powered, "the power is on already");
        (self.now, self.is_powered) = (now, true);
        let recovery = self.members.power_on(now);
        self.begin_replay();
        self.wake_background();
        recovery
    }

    /// Switches all drives off in order: the window of the RAID's own work that is under way ends, and each drive
    /// writes its buffer back. When the power is back, a rebuild or a repair continues where it stopped, and a journal
    /// is replayed. Discards that drives may forget without power leave parity and mirrors in doubt, as a power cut
    /// does.
    ///
    /// # Panics
    ///
    /// If the power is off, or a request of the host is under way.
    pub fn power_off(&mut self) {
        assert!(self.is_powered, "the power is off already");
        let is_of_host = self.operations.handles().any(|handle| self.operations[handle].is_of_host());
        assert!(!is_of_host, "a request of the host is under way");
        // No further window begins.
        self.is_powered = false;
        while self.operations.handles().next().is_some() {
            let at = self.next_event().expect("a window that is under way has an event");
            self.advance(at, &mut Vec::new());
        }
        self.now = self.now.max(self.members.power_off());
        self.members.flushed(self.writes.ended);
        self.members.pass(self.now);
        self.journal.iter_mut().for_each(Journal::lose_power);
        self.writes.flushed(self.writes.ended);
        let has_one_copy = self.layout.parities() == 0 && self.layout.copies() == 1;
        let is_clean = self.writes.are_durable() || has_one_copy || self.has_planted(Sabotage::RepairForgotten);
        self.background.lose_power(is_clean || self.has_journal());
    }
}
