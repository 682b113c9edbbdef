//! The interface of the engine to a drive, or to a layer over drives that is a drive for its clients.
//!
//! A [`ServedDrive`] takes requests as any [`Drive`] does. In addition the engine needs its power, its allocation, its durability,
//! and the faults, the wear and the shape of its drives. Anything that is alike for one drive and for several goes through
//! [`ServedDrive::drives`].

mod raid;
mod translation;

use ::raid::Raid;
use ::translation::Translation;
use base::units::{Lpn, Sectors, Time};
use flash::nand::Bytes512;
use ssd::{DiscardSpec, Drive, Recovery, ResolvedDevice, Ssd, Tag};

/// A drive as the engine serves it.
pub trait ServedDrive: Drive<Bytes512> + Send {
    /// The drives of the device, by their numbers: a single drive itself, the drives of a RAID (of the stripes, the
    /// spares, and the drive of the journal), or the drive below a translation.
    fn drives(&self) -> &[Ssd<Bytes512>];

    /// The drives of the device, e.g. to plan faults and to give memory of the host.
    fn drives_mut(&mut self) -> &mut [Ssd<Bytes512>];

    /// The simulated time that the drive has reached.
    fn now(&self) -> Time;

    /// Cuts the power. Returns the tags of the requests that will never complete.
    fn cut_power(&mut self) -> Vec<Tag>;

    /// Switches the power off in order. Called when no request is under way.
    fn power_off(&mut self);

    /// Switches the power on. Requests may arrive at once; they wait until the recovery is over.
    fn power_on(&mut self, now: Time) -> Recovery;

    /// True if a mapping unit may hold data; false if it reads as zeros. Called while the drive has power.
    fn may_hold(&self, unit: u64) -> bool;

    /// True if discarded sectors read as zeros, after a power cut too.
    fn discards_durably(&self) -> bool {
        self.description().spec.ftl.discard == DiscardSpec::Durable
    }

    /// Grows whenever the device handles an event. Two requests with the same number have no event between them, so a replay may
    /// submit both without handling an event between.
    fn steps(&self) -> u64 {
        self.events()
    }

    /// The RAID; none for other devices.
    fn raid(&self) -> Option<&Raid<Bytes512>> {
        None
    }

    /// The RAID, for the failure of a drive; none for other devices.
    fn raid_mut(&mut self) -> Option<&mut Raid<Bytes512>> {
        None
    }

    /// The translation over zones; none for other devices.
    fn translation(&self) -> Option<&Translation<Bytes512>> {
        None
    }

    /// The resolved description of the device's drives.
    fn description(&self) -> &ResolvedDevice {
        self.drives()[0].resolved()
    }

    /// The mapping unit in sectors.
    fn unit(&self) -> Sectors {
        Sectors::new(u64::from(self.description().geometry.sectors))
    }
}

impl ServedDrive for Ssd<Bytes512> {
    fn drives(&self) -> &[Self] {
        std::slice::from_ref(self)
    }

    fn drives_mut(&mut self) -> &mut [Self] {
        std::slice::from_mut(self)
    }

    fn now(&self) -> Time {
        self.now()
    }

    fn cut_power(&mut self) -> Vec<Tag> {
        self.cut_power()
    }

    fn power_off(&mut self) {
        assert!(self.power_off().is_empty(), "every request was answered before");
    }

    fn power_on(&mut self, now: Time) -> Recovery {
        self.power_on(now)
    }

    fn may_hold(&self, unit: u64) -> bool {
        self.may_hold(Lpn::new(unit as u32))
    }
}
