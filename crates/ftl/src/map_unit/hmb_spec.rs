//! The host memory buffer (HMB) that a drive without DRAM asks for, as a file describes it.

use base::fault::Fault;
use base::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pages of a set of the cache. Assumed: drives do not publish it, and neighbouring pages lie in different sets.
pub(super) const WAYS: u32 = 8;

/// The granularity of the two sizes in the controller's Identify data (NVM Express Base Specification, HMPRE and HMMIN).
const STEP: u64 = 4096;

/// A cache of translation pages in the host's memory, behind the caches in the drive's RAM: the host memory buffer (HMB) of
/// NVM Express. The host decides how much it gives: `host.hmb`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HmbSpec {
    /// The size that the drive prefers (HMPRE), and the most that it uses. 64 MiB as BIWIN's CE430
    /// (geerlingguy/raspberry-pi-pcie-devices, issue 679).
    pub preferred: Bytes,
    /// The size below which the drive does not use the memory (HMMIN). 12 MiB as BIWIN's CE430.
    pub minimum: Bytes,
    /// Time of an access beside its transfer over the link: the way to the host's memory and back. Assumed: papers use 1 to 2
    /// us, and no measurement was found.
    pub latency: Span,
}

impl Default for HmbSpec {
    fn default() -> Self {
        Self { preferred: Bytes::new(64 << 20), minimum: Bytes::new(12 << 20), latency: Span::from_us(1) }
    }
}

impl HmbSpec {
    /// The part of `given` that the drive uses: nothing below the minimum, and at most the preferred size.
    #[must_use]
    pub fn used(&self, given: Bytes) -> Bytes {
        if given < self.minimum { Bytes::new(0) } else { given.min(self.preferred) }
    }

    /// The faults of the table `ftl.map.hmb` on a device with translation pages of size `page`.
    pub(super) fn check(&self, page: Bytes, faults: &mut Vec<Fault>) {
        let mut demand = |holds: bool, key: &str, message: String, remedy: String| {
            if !holds {
                faults.push(Fault::new(format!("ftl.map.hmb.{key}"), message, remedy));
            }
        };
        for (key, size) in [("preferred", self.preferred), ("minimum", self.minimum)] {
            let message = format!("{size} is not a multiple of 4KiB, the unit of measure of NVM Express");
            demand(size.get().is_multiple_of(STEP), key, message, "use a multiple of 4KiB".to_owned());
        }
        let least = Bytes::new((page.get() * u64::from(WAYS)).next_multiple_of(STEP));
        let message = format!("{} holds less than a set of {WAYS} translation pages of {page}", self.preferred);
        demand(self.preferred >= least, "preferred", message, format!("use at least {least}"));
        let message = format!("{} is more than the {} that the drive prefers", self.minimum, self.preferred);
        demand(self.minimum <= self.preferred, "minimum", message, "lower it, or raise `preferred`".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_uses_what_it_prefers_and_nothing_below_its_minimum() {
        let spec = HmbSpec::default();
        let mib = |mib: u64| Bytes::new(mib << 20);
        for (given, used) in [(0, 0), (11, 0), (12, 12), (63, 63), (64, 64), (200, 64)] {
            assert_eq!(spec.used(mib(given)), mib(used), "{given} MiB");
        }
    }

    #[test]
    fn each_fault_names_its_key() {
        let keys = |spec: HmbSpec| {
            let mut faults = Vec::new();
            spec.check(Bytes::new(4096), &mut faults);
            faults.into_iter().map(|fault| fault.path).collect::<Vec<_>>()
        };
        let plain = HmbSpec::default();
        assert_eq!(keys(plain), [""; 0]);
        assert_eq!(keys(HmbSpec { minimum: Bytes::new(5000), ..plain }), ["ftl.map.hmb.minimum"]);
        assert_eq!(keys(HmbSpec { minimum: Bytes::new(65 << 20), ..plain }), ["ftl.map.hmb.minimum"]);
        let small = HmbSpec { preferred: Bytes::new(4096), minimum: Bytes::new(0), ..plain };
        assert_eq!(keys(small), ["ftl.map.hmb.preferred"]);
    }
}
