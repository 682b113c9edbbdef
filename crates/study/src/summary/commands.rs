//! Flash commands in a summary.

use flash::backend::{Account, Cause, Op, Tally};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::{self, Name};

/// Flash commands of one operation and cause.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FlashRow {
    /// Operation.
    #[schemars(extend("enum" = Op::ALL.map(Op::name)))]
    #[serde(deserialize_with = "name::name")]
    pub op: Name,
    /// Cause.
    #[schemars(extend("enum" = Cause::ALL.map(Cause::name)))]
    #[serde(deserialize_with = "name::name")]
    pub cause: Name,
    /// Commands finished.
    pub commands: u64,
    /// Pages, or blocks for an erase.
    pub pages: u64,
    /// Mapping units carried.
    pub slots: u64,
    /// Bytes over the channel.
    pub bytes: u64,
    /// Array time.
    pub array_s: f64,
    /// Channel time.
    pub bus_s: f64,
    /// Attempts to read behind the first of each command; left out if there were none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retries: u64,
    /// Suspensions of the operations; left out if there were none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub suspensions: u64,
    /// Time for which operations stood still; left out if it is zero.
    #[serde(default, skip_serializing_if = "takes_none")]
    pub suspended_s: f64,
    /// Array time of stopping and of going on, a part of `array_s`; left out if it is zero.
    #[serde(default, skip_serializing_if = "takes_none")]
    pub suspend_overhead_s: f64,
    /// How much longer the commands for which operations were suspended would have waited for the ends of these, without
    /// the time to stop; left out if it is zero.
    #[serde(default, skip_serializing_if = "takes_none")]
    pub suspend_gain_s: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it with a reference.
const fn is_none(count: &u64) -> bool {
    *count == 0
}

fn takes_none(seconds: &f64) -> bool {
    *seconds <= 0.0
}

/// The rows of an account.
pub(super) fn rows(account: &Account) -> Vec<FlashRow> {
    let row = |(op, cause, tally): (Op, Cause, Tally)| FlashRow {
        op: op.name(),
        cause: cause.name(),
        commands: tally.commands,
        pages: tally.pages,
        slots: tally.slots,
        bytes: tally.bytes.get(),
        array_s: tally.array.as_secs_f64(),
        bus_s: tally.bus.as_secs_f64(),
        retries: tally.retries,
        suspensions: tally.suspensions,
        suspended_s: tally.suspended.as_secs_f64(),
        suspend_overhead_s: tally.suspend_overhead.as_secs_f64(),
        suspend_gain_s: tally.suspend_gain.as_secs_f64(),
    };
    account.rows().map(row).collect()
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use crate::metric::Metric;
    use crate::reconcile::reconcile;
    use crate::testing::{settled, summary};

    #[test]
    fn suspensions_are_rows_keys_and_metrics_of_drives_that_suspend() {
        let result = settled(small::suspending());
        assert_eq!(reconcile(&result), Ok(()));
        let summary = summary(&result);
        let of = |name: &str| name.parse::<Metric>().expect(name).of(&summary).expect(name);
        let sum = |op: &str| summary.flash.iter().filter(|row| row.op == op).map(|row| row.suspensions).sum::<u64>();
        let (programs, erases) = (sum("program"), sum("erase"));
        assert!(programs > 100 && erases > 10, "{programs} of programs, {erases} of erases");
        assert_eq!(of("suspensions") as u64, programs + erases);
        // Each takes the time to stop, and nothing to go on.
        assert!((of("suspend-overhead") - (5 * programs + 20 * erases) as f64).abs() < 1e-3);
        // None gains more than what its operation takes.
        let gain = of("suspend-gain") / of("suspensions");
        assert!(gain > 20.0 && gain < 1500.0, "{gain} us");
        // Each lasts as long as the read of a page, at least.
        assert!(of("suspended") > 25.0 * of("suspensions"));
        let json = serde_json::to_value(&summary).expect("JSON");
        let with = |value: &serde_json::Value| value.get("suspended_s").is_some();
        assert_eq!(json["flash"].as_array().expect("rows").iter().filter(|row| with(row)).count(), {
            summary.flash.iter().filter(|row| row.suspensions > 0).count()
        });
    }

    #[test]
    fn drives_that_suspend_nothing_have_no_such_keys() {
        let summary = summary(&settled(small::with_log_blocks()));
        let text = serde_json::to_string(&summary).expect("JSON");
        assert!(!text.contains("suspen"), "{text}");
        assert_eq!("suspensions".parse::<Metric>().expect("a metric").of(&summary), Some(0.0));
    }
}
