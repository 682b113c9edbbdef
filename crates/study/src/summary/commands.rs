//! Flash commands in a summary.

use flash::backend::{Account, Cause, Op, Tally};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::{self, Name};

/// Flash commands of one operation and cause.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FlashRow {
    /// The operation of the commands.
    #[schemars(extend("enum" = Op::ALL.map(Op::name)))]
    #[serde(deserialize_with = "name::name")]
    pub op: Name,
    /// Cause of the commands: the host, or a kind of background work.
    #[schemars(extend("enum" = Cause::ALL.map(Cause::name)))]
    #[serde(deserialize_with = "name::name")]
    pub cause: Name,
    /// The number of commands finished.
    pub commands: u64,
    /// The number of pages; for an erase, of blocks.
    pub pages: u64,
    /// The number of mapping units that the commands carried.
    pub slots: u64,
    /// Bytes transferred over the channel.
    pub bytes: u64,
    /// Seconds for which the commands occupied arrays.
    pub array_s: f64,
    /// Seconds for which the commands occupied channels.
    pub bus_s: f64,
    /// The number of attempts to read after the first of each command; left out if zero.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retries: u64,
    /// The number of suspensions of the operations; left out if zero.
    #[serde(default, skip_serializing_if = "is_none")]
    pub suspensions: u64,
    /// Seconds for which operations were suspended; left out if zero.
    #[serde(default, skip_serializing_if = "takes_none")]
    pub suspended_s: f64,
    /// Seconds of array time to suspend and to resume, included in `array_s`; left out if zero.
    #[serde(default, skip_serializing_if = "takes_none")]
    pub suspend_overhead_s: f64,
    /// The seconds by which suspensions shortened the waits of the commands that caused them, without the time to
    /// suspend; left out if zero.
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

/// One row for each operation and cause of an account that has commands.
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
        // Each suspension takes the time to stop, and none to resume.
        assert!((of("suspend-overhead") - (5 * programs + 20 * erases) as f64).abs() < 1e-3);
        // No suspension gains more than the time of the suspended operation.
        let gain = of("suspend-gain") / of("suspensions");
        assert!(gain > 20.0 && gain < 1500.0, "{gain} us");
        // Each suspension lasts at least as long as the read of a page.
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
