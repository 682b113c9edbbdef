//! What the engine serves: a drive, or a layer over drives that is a drive for its clients.
//!
//! A [`ServedDrive`] takes requests as any [`Drive`] does. Beside these the engine wants its power, its allocation, its promise, and the
//! drives of which it consists: their faults, their wear and their shape. Whatever is the same for one drive and for several goes through
//! [`ServedDrive::drives`].

mod raid;
mod translation;

use ::raid::Raid;
use ::translation::Translation;
use base::units::{Lpn, Sectors, Time};
use flash::nand::Bytes512;
use ssd::{DiscardSpec, Drive, Recovery, Resolved, Ssd, Tag};

/// A drive as the engine serves it.
pub trait ServedDrive: Drive<Bytes512> + Send {
    /// The drives of which it consists, by their numbers: itself, those of a RAID (of the stripes, the spares, and that of the
    /// journal), or the drive below a translation.
    fn drives(&self) -> &[Ssd<Bytes512>];

    /// The same drives, for their faults and their host.
    fn drives_mut(&mut self) -> &mut [Ssd<Bytes512>];

    /// The simulated time advanced to.
    fn now(&self) -> Time;

    /// Cuts the power. Returns the tags of the requests that will never complete.
    fn cut_power(&mut self) -> Vec<Tag>;

    /// Switches the power off in order. No request is under way.
    fn power_off(&mut self);

    /// Switches the power on. Requests may come at once, and wait until the recovery is over.
    fn power_on(&mut self, now: Time) -> Recovery;

    /// True if a mapping unit may hold data; false if it reads as zeros. The drive has power.
    fn may_hold(&self, unit: u64) -> bool;

    /// True if what was discarded reads as zeros, after a power cut too.
    fn discards_durably(&self) -> bool {
        self.description().spec.ftl.discard == DiscardSpec::Durable
    }

    /// Grows whenever time has brought something about: of two requests between which it has not changed, a replay may submit the second
    /// without an event after the first.
    fn steps(&self) -> u64 {
        self.events()
    }

    /// The RAID, if it is one.
    fn raid(&self) -> Option<&Raid<Bytes512>> {
        None
    }

    /// The RAID, if it is one, for the failure of a drive.
    fn raid_mut(&mut self) -> Option<&mut Raid<Bytes512>> {
        None
    }

    /// The translation over zones, if it is one.
    fn translation(&self) -> Option<&Translation<Bytes512>> {
        None
    }

    /// The description of each of its drives.
    fn description(&self) -> &Resolved {
        self.drives()[0].resolved()
    }

    /// The mapping unit.
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
