//! The parameters of zones: `[ftl.zns]`.

use base::fault::Faults;
use base::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The keys of a drive with zones.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ZnsSpec {
    /// The dies that a zone is striped over, a divisor of all dies; all of them if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dies: Option<u32>,
    /// The zone capacity: the bytes of a zone that can be written. One superblock on each of its dies if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1077MiB"]))]
    pub capacity: Option<Bytes>,
    /// The zone size: the bytes from the beginning of a zone to the beginning of the next. If missing, the next power
    /// of two at or above the capacity, as Linux asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["2GiB"]))]
    pub size: Option<Bytes>,
    /// Zones that may be active (open or closed) at the same time.
    pub max_active: u32,
    /// Zones that may be open at the same time; as many as may be active if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_open: Option<u32>,
    /// The most programs that a die works on at once. With 2, the data of one are ready when the other ends. Complete
    /// rows of zones wait in RAM for their die, one row of each zone.
    pub programs_per_die: u32,
    /// The zone random write areas (ZRWA); none if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zrwa: Option<ZrwaSpec>,
}

/// The zone random write areas of a drive: a zone that is opened with one is written at any place behind its write pointer, in any
/// order and repeatedly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ZrwaSpec {
    /// The size of an area (ZRWASZ): a zone's writes go up to this far behind its write pointer.
    #[schemars(extend("examples" = ["1MiB"]))]
    pub size: Bytes,
    /// The granule by whose multiples the write pointer moves (ZRWAFG); a mapping unit if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["16KiB"]))]
    pub flush_granularity: Option<Bytes>,
    /// Zones that may have an area at the same time (NUMZRWA); as many as may be active if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<u32>,
}

impl Default for ZnsSpec {
    fn default() -> Self {
        Self { dies: None, capacity: None, size: None, max_active: 14, max_open: None, programs_per_die: 2, zrwa: None }
    }
}

impl ZnsSpec {
    /// The most programs that a die may work on at once, because each holds a row in RAM.
    const PROGRAMS_MAX: u32 = 1024;

    /// The number of zones that may be open at the same time.
    pub(super) fn max_open(&self) -> u32 {
        self.max_open.unwrap_or(self.max_active)
    }

    pub(super) fn check(&self, faults: &mut Faults) {
        faults.positive("ftl.zns.max-active", self.max_active);
        faults.positive("ftl.zns.max-open", self.max_open());
        faults.positive("ftl.zns.dies", self.dies.unwrap_or(1));
        if !(1..=Self::PROGRAMS_MAX).contains(&self.programs_per_die) {
            faults.within("ftl.zns.programs-per-die", self.programs_per_die, 1..=Self::PROGRAMS_MAX);
        }
        if self.max_open() > self.max_active {
            let message = format!(
                "is {}, and only {} zones may be active: an open zone is active",
                self.max_open(),
                self.max_active
            );
            faults.add("ftl.zns.max-open", message, format!("use at most {}, or leave it out", self.max_active));
        }
        if let Some(zones) = self.zrwa.and_then(|zrwa| zrwa.zones)
            && !(1..=self.max_active).contains(&zones)
        {
            let message =
                format!("is {zones}, and {} zones may be active: an area belongs to an active zone", self.max_active);
            let remedy = format!("use 1 to {}, or leave it out", self.max_active);
            faults.add("ftl.zns.zrwa.zones", message, remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_areas(zones: u32) -> ZnsSpec {
        let zrwa = ZrwaSpec { size: Bytes::new(1 << 20), flush_granularity: None, zones: Some(zones) };
        ZnsSpec { zrwa: Some(zrwa), ..ZnsSpec::default() }
    }

    #[test]
    fn faults_of_the_numbers_are_found() {
        for (spec, wanted) in [
            (ZnsSpec::default(), ""),
            (ZnsSpec { max_active: 0, max_open: Some(1), ..ZnsSpec::default() }, "ftl.zns.max-active"),
            (ZnsSpec { max_open: Some(15), ..ZnsSpec::default() }, "ftl.zns.max-open"),
            (ZnsSpec { dies: Some(0), ..ZnsSpec::default() }, "ftl.zns.dies"),
            (ZnsSpec { programs_per_die: 0, ..ZnsSpec::default() }, "ftl.zns.programs-per-die"),
            (ZnsSpec { programs_per_die: 1025, ..ZnsSpec::default() }, "ftl.zns.programs-per-die"),
            (with_areas(0), "ftl.zns.zrwa.zones"),
            (with_areas(14), ""),
            (with_areas(15), "ftl.zns.zrwa.zones"),
        ] {
            let mut faults = Faults::default();
            spec.check(&mut faults);
            assert_eq!(faults.0.first().map_or("", |fault| &fault.path), wanted, "{spec:?}");
        }
    }
}
