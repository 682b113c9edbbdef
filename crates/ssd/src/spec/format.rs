//! The format of a drive: the keys that decide where it keeps data on flash. A drive must agree in them with the drive
//! whose flash it takes over. The other keys (queues, link, buffer, collection, times, faults) may differ.
//!
//! Drives of one format that differ only in [`UNSEEN_KEYS`], or in those of [`ResolvedDevice::unseen_keys`], are also
//! preconditioned to the same content of their flash.

use flash::nand::{FaultSpec, Geometry};

use super::ResolvedDevice;
use crate::Precondition;

/// Keys and tables of a device that cannot change the flash that preconditioning leaves on a new drive, because it
/// writes without the host and with time switched off. Keys that may change the flash are not listed; in doubt a key is
/// not listed either.
pub const UNSEEN_KEYS: [&str; 27] = [
    "name",
    "description",
    "host.link",
    "host.queue-depth",
    "host.chop",
    "ram",
    "buffer.low",
    "buffer.high",
    "buffer.max-superblocks",
    "flash.width",
    "flash.lane-rate",
    "flash.arbitration",
    "flash.custom-part.name",
    "flash.custom-part.source",
    "flash.custom-part.bus",
    "flash.custom-part.electrical",
    "slc.lane-rate",
    "slc.custom-part.name",
    "slc.custom-part.source",
    "slc.custom-part.bus",
    "slc.custom-part.electrical",
    "power",
    "ftl.map.costs",
    "ftl.map.service",
    "ftl.hydra.processor",
    "ftl.chang.density.read",
    "ftl.chang.density.program",
];

impl ResolvedDevice {
    /// The keys of the format, and their values.
    #[must_use]
    pub fn format(&self) -> Vec<(&'static str, String)> {
        let g = &self.geometry;
        let mut keys = vec![("ftl.kind", self.ftl.kind.name().to_owned())];
        let mut say = |key, value: &dyn std::fmt::Display| keys.push((key, value.to_string()));
        let Geometry { channels, chips, dies, planes, stripe, blocks, pages, .. } = *g;
        for (key, value) in [
            ("flash.channels", channels),
            ("flash.chips", chips),
            ("flash.dies", dies),
            ("flash.planes (chips of a gang counted)", planes),
            ("flash.multi-plane (planes at once)", stripe),
            ("flash.blocks", blocks),
            ("flash.pages", pages),
            ("bytes of a page", g.slots * g.sectors * 512),
            ("bytes of a mapping unit", g.sectors * 512),
            ("pages of a one-shot program", self.backend.timing.one_shot),
        ] {
            say(key, &value);
        }
        say("sectors the host sees", &self.capacity().get());
        self.family.format(&mut say);
        keys
    }

    /// The keys of the format of the SLC array, and their values. They matter only if the array [holds
    /// anything](crate::Ssd::is_slc_array_new).
    #[must_use]
    pub fn slc_format(&self) -> Vec<(&'static str, String)> {
        let mut keys = Vec::new();
        self.family.slc_format(&mut |key, value| keys.push((key, value.to_string())));
        keys
    }

    /// [`UNSEEN_KEYS`], and further keys that do not matter for this drive if these steps begin with a new drive.
    pub fn unseen_keys(&self, steps: &[Precondition]) -> impl Iterator<Item = &'static str> {
        let only_fills = steps == [Precondition::Fill];
        let may_fail = self.spec.flash.faults != FaultSpec::default();
        let own = if may_fail { &[][..] } else { self.family.unseen_by_preconditioning(only_fills) };
        UNSEEN_KEYS.iter().chain(own).copied()
    }
}
