//! A served translation over zones.

use base::units::Time;
use flash::nand::Bytes512;
use ssd::{Recovery, Ssd, Tag};
use translation::Translation;

use super::ServedDrive;

impl ServedDrive for Translation<Bytes512> {
    fn drives(&self) -> &[Ssd<Bytes512>] {
        std::slice::from_ref(self.drive())
    }

    fn drives_mut(&mut self) -> &mut [Ssd<Bytes512>] {
        std::slice::from_mut(self.drive_mut())
    }

    fn now(&self) -> Time {
        self.now()
    }

    fn cut_power(&mut self) -> Vec<Tag> {
        self.cut_power()
    }

    fn power_off(&mut self) {
        self.power_off();
    }

    fn power_on(&mut self, now: Time) -> Recovery {
        self.power_on(now)
    }

    fn may_hold(&self, unit: u64) -> bool {
        self.may_hold(unit)
    }

    fn steps(&self) -> u64 {
        self.steps()
    }

    /// The map alone forgets discarded data, and a mount finds it in the zones again.
    fn discards_durably(&self) -> bool {
        false
    }

    fn translation(&self) -> Option<&Self> {
        Some(self)
    }
}
