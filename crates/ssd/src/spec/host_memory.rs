//! The memory that the host gives to a drive that asks for some (host memory buffer of NVM Express).

use base::fault::Faults;
use base::units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duplex, Spec};

/// The memory that the host gives to a drive with `ftl.map.hmb`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HostMemorySpec {
    /// The size that the host gives when the drive is switched on; as much as the drive prefers if missing. The drive uses none
    /// below its minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Changes while the drive runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<HostMemoryChange>,
}

/// A change of the memory that the host gives. The drive forgets the content of the memory (Set Features, Host Memory
/// Buffer, with Memory Return off).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostMemoryChange {
    /// The simulated time of the change: the first request that reaches the drive at this time or later meets the new
    /// size.
    #[schemars(extend("examples" = ["2s"]))]
    pub at: Span,
    /// The new size. With `0B` the host takes its memory back.
    pub size: Bytes,
}

impl HostMemorySpec {
    /// The size that the host gives after the last change up to `now`; `None` if it gives as much as the drive prefers.
    pub(crate) fn size_at(&self, now: Time) -> Option<Bytes> {
        let due = self.changes.iter().filter(|change| Time::ZERO + change.at <= now);
        due.max_by_key(|change| change.at).map(|change| change.size).or(self.size)
    }

    /// The time of the first change after `now`.
    pub(crate) fn next_change(&self, now: Time) -> Option<Time> {
        self.changes.iter().map(|change| Time::ZERO + change.at).filter(|at| *at > now).min()
    }
}

impl Spec {
    /// Checks that the drive asks for the host's memory, and that its link can carry the data.
    pub(super) fn check_host_memory(&self, faults: &mut Faults) {
        let asked = self.ftl.map.hmb().is_some();
        if let Some(given) = &self.host.hmb {
            if !asked {
                let message = "the drive does not ask for the host's memory";
                let remedy = "leave it out, or give ftl.map a table hmb, e.g. { kind = \"dftl\", hmb = { preferred = \"64MiB\" } }";
                faults.add("host.hmb", message, remedy);
            }
            let mut times: Vec<Span> = given.changes.iter().map(|change| change.at).collect();
            times.sort_unstable();
            if let Some([at, ..]) = times.windows(2).find(|pair| pair[0] == pair[1]) {
                let message = format!("two changes are at {at}");
                faults.add("host.hmb.changes", message, "leave out one of them, or give it another time");
            }
        }
        if asked && self.host.link.duplex == Duplex::Half {
            let message =
                "the host memory buffer is for NVM Express, and the link has one direction at a time, as SATA";
            faults.add("ftl.map.hmb", message, "leave it out, or set host.link = \"pcie-3-x4\", for example");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_change_counts_whatever_the_order_in_the_file() {
        let change = |ms, mib: u64| HostMemoryChange { at: Span::from_ms(ms), size: Bytes::new(mib << 20) };
        let spec = HostMemorySpec { size: None, changes: vec![change(9, 8), change(3, 0), change(5, 4)] };
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let sizes: Vec<_> = [0, 3, 4, 5, 8, 9, 20].map(|ms| spec.size_at(at(ms)).map(|size| size.get() >> 20)).into();
        assert_eq!(sizes, [None, Some(0), Some(0), Some(4), Some(4), Some(8), Some(8)]);
        assert_eq!([0, 3, 5, 9].map(|ms| spec.next_change(at(ms))), [Some(at(3)), Some(at(5)), Some(at(9)), None]);
    }

    #[test]
    fn a_drive_that_asks_for_nothing_is_given_nothing_and_sata_has_no_host_memory() {
        let faults = |rest: &str| {
            let part = "part = \"K9K8G08U0M\"\nchannels = 1\nchips = 1\nblocks = 32";
            let spec: Spec =
                toml::from_str(&format!("name = \"one\"\n[flash]\n{part}\n{rest}")).expect("a description");
            spec.resolve().err().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let asks = "[ftl]\nover-provisioning = \"40%\"\n[ftl.map]\nkind = \"fmmu\"\nhmb = {}\n";
        assert_eq!(faults(asks), "");
        assert!(faults("[host.hmb]\nsize = \"1MiB\"").contains("host.hmb: the drive does not ask"));
        let changes = "[host.hmb]\nchanges = [{ at = \"1s\", size = \"0B\" }, { at = \"1s\", size = \"1MiB\" }]\n";
        assert!(faults(&format!("{changes}{asks}")).contains("host.hmb.changes: two changes are at 1s"));
        assert!(
            faults(&format!("[host]\nlink = \"sata-600\"\n{asks}"))
                .contains("ftl.map.hmb: the host memory buffer is for NVM")
        );
    }
}
