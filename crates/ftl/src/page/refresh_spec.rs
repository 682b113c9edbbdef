//! The table `[ftl.refresh]` of a description.

use base::fault::Faults;
use base::units::{Age, Ratio, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Refresh of data whose bit errors have grown: read reclaim, refresh by age, and patrol reads.
///
/// A page is judged when it has been read, by the host, by the map or by a patrol read. If the page exceeds one of the
/// limits, the data of its superblock is moved before collection moves any garbage, as soon as the superblock takes no
/// more programs. Copies of collection are not judged. Needs `[flash.errors]`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RefreshSpec {
    /// Time since the program of a page, at the temperature of the flash with power: time without power in the heat counts as more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["30d"]))]
    pub age: Option<Age>,
    /// Reads of the pages of a block since its erase (read reclaim).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u32>,
    /// The wrong bits of a codeword, on average over the codewords of a page, as a share of `flash.ecc.hard-limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["70%"]))]
    pub errors: Option<Ratio>,
    /// The time between two patrol reads. Each reads one page of the next superblock that is full and holds data. A
    /// request starts patrol reads, and they go on until every superblock has been visited once since the latest
    /// request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10ms"]))]
    pub patrol: Option<Span>,
    /// The most superblocks of the drive whose data is moved at the same time. A higher number leaves reads less time
    /// beside the moves.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub parallel: u32,
}

const fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde asks for this signature.
const fn is_one(parallel: &u32) -> bool {
    *parallel == 1
}

impl RefreshSpec {
    /// No limit is set. A description with these values is refused.
    const NONE: Self = Self { age: None, reads: None, errors: None, patrol: None, parallel: 1 };

    /// A table of each kind, for the conformance suite and the swarm. The limits are low, so that runs of milliseconds
    /// reach them.
    pub const EVERY: [Self; 4] = [
        Self { reads: Some(12), parallel: 3, ..Self::NONE },
        Self { reads: Some(40), patrol: Some(Span::from_us(150)), ..Self::NONE },
        Self { age: Some(Age::from_secs(1)), patrol: Some(Span::from_us(400)), ..Self::NONE },
        Self { reads: Some(1000), errors: Some(Ratio::new(0.9)), patrol: Some(Span::from_us(90)), ..Self::NONE },
    ];

    /// Adds the faults that any array has.
    pub(crate) fn check(&self, faults: &mut Faults) {
        if self.age.is_none() && self.reads.is_none() && self.errors.is_none() {
            let message = "has no limit, so that no data would be refreshed";
            faults.add("ftl.refresh", message, "give it `age`, `reads` or `errors`");
        }
        if self.age.is_some_and(|age| age.as_secs() == 0) {
            faults.add("ftl.refresh.age", "is zero: refresh would never end", "e.g. \"30d\"");
        }
        if self.reads == Some(0) {
            faults.positive("ftl.refresh.reads", 0);
        }
        if self.errors.is_some_and(|errors| errors == Ratio::ZERO) {
            faults.add("ftl.refresh.errors", "is zero: refresh would never end", "e.g. \"70%\"");
        }
        faults.positive("ftl.refresh.parallel", self.parallel);
        if self.patrol.is_some_and(Span::is_zero) {
            faults.add("ftl.refresh.patrol", "is zero: patrol reads would leave no time", "e.g. \"10ms\"");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_names_its_key() {
        let faults = |spec: RefreshSpec| {
            let mut faults = Faults::default();
            spec.check(&mut faults);
            faults.0.iter().map(|fault| fault.path.to_string()).collect::<Vec<_>>()
        };
        for spec in RefreshSpec::EVERY {
            assert_eq!(faults(spec), [""; 0]);
        }
        let [reads, ..] = RefreshSpec::EVERY;
        assert_eq!(faults(RefreshSpec::NONE), ["ftl.refresh"]);
        assert_eq!(faults(RefreshSpec { age: Some(Age::from_secs(0)), ..reads }), ["ftl.refresh.age"]);
        assert_eq!(faults(RefreshSpec { reads: Some(0), ..reads }), ["ftl.refresh.reads"]);
        assert_eq!(faults(RefreshSpec { errors: Some(Ratio::ZERO), ..reads }), ["ftl.refresh.errors"]);
        assert_eq!(faults(RefreshSpec { patrol: Some(Span::ZERO), ..reads }), ["ftl.refresh.patrol"]);
        assert_eq!(faults(RefreshSpec { parallel: 0, ..reads }), ["ftl.refresh.parallel"]);
    }
}
