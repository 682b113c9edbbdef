//! A served RAID.

use base::units::Time;
use flash::nand::Bytes512;
use raid::Raid;
use ssd::{Layer, Recovery, Ssd, Tag};

use super::ServedDrive;

impl ServedDrive for Raid<Bytes512> {
    fn drives(&self) -> &[Ssd<Bytes512>] {
        self.drives()
    }

    fn drives_mut(&mut self) -> &mut [Ssd<Bytes512>] {
        Layer::drives_mut(self)
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

    fn raid(&self) -> Option<&Self> {
        Some(self)
    }

    fn raid_mut(&mut self) -> Option<&mut Self> {
        Some(self)
    }
}
