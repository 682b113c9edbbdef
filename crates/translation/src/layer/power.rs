//! Switches the power of the drive below, and of the host's map with it.

use base::engine::Order;
use base::units::Time;
use flash::nand::Sector;
use ssd::{Drive, Recovery, Sabotage, Tag};

use super::Translation;
use crate::mount::Mount;

impl<S: Sector> Translation<S> {
    /// Cuts the power of the drive, and the host forgets its map. Returns the tags of the requests that will never complete.
    pub fn cut_power(&mut self) -> Vec<Tag> {
        let unseen = self.completions.iter().map(|completion| completion.tag);
        let active = self.operations.handles().map(|handle| &self.operations[handle]);
        let of_user = active.filter(|operation| operation.is_of_user()).map(|operation| operation.completion.tag);
        let lost = of_user.chain(unseen).collect();
        self.drive.cut_power();
        self.forget();
        lost
    }

    /// Switches the drive off in order: a mount, copies and resets that are under way end, and the drive writes its
    /// buffer back. The host forgets its map nevertheless: a mount reads it again when the power is back.
    ///
    /// # Panics
    ///
    /// If the power is off, or a request of the user is under way.
    pub fn power_off(&mut self) {
        assert!(self.is_powered, "the power is off already");
        let is_of_user = self.operations.handles().any(|handle| self.operations[handle].is_of_user());
        assert!(!is_of_user, "a request of the user is under way");
        while let Some(at) = self.next_event() {
            self.advance(at, &mut Vec::new());
        }
        assert!(self.drive.power_off().is_empty(), "every request to the drive had ended before");
        self.now = self.drive.now();
        self.forget();
    }

    /// Drops all data in the RAM of the host.
    fn forget(&mut self) {
        self.operations = Order::default();
        self.completions.clear();
        self.held.clear();
        self.streams.lose_power();
        self.collector.lose_power();
        (self.mount, self.is_powered, self.under_way) = (None, false, 0);
    }

    /// Switches the drive on, and begins to read the map from the zones: the summaries of full zones, and all data of
    /// the others. The user may submit requests at once; they wait until the map is complete.
    ///
    /// # Panics
    ///
    /// If the power is on, or `now` is in the past.
    pub fn power_on(&mut self, now: Time) -> Recovery {
        assert!(!self.is_powered, "the power is on already");
        (self.now, self.is_powered) = (now, true);
        let recovery = self.drive.power_on(now);
        let takes_newest = !self.drive.resolved().has_planted(Sabotage::VersionForgotten);
        let mount = Mount::new(&mut self.log, &mut self.streams, &self.drive, takes_newest);
        let reads = self.spec.gc.parallel;
        self.mount = Some(mount);
        (0..reads).for_each(|_| self.mount_next());
        recovery
    }

    /// The present simulated time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The number of times at which the drive had an event, including events that are not in the event hash.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// True while a mount reads the map, and requests of users wait for it.
    #[must_use]
    pub const fn is_mounting(&self) -> bool {
        self.mount.is_some()
    }

    /// The number of zones of the drive.
    #[must_use]
    pub const fn zones(&self) -> u32 {
        self.log.shape().zones.zones
    }

    /// True if a mapping unit may hold data; false if it was never written, or was discarded, and reads as zeros. The answer takes no time
    /// and changes nothing.
    #[must_use]
    pub fn may_hold(&self, unit: u64) -> bool {
        self.log.place_of(unit as u32).is_some()
    }
}
