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
    /// Suspensions of the operations; left out if there were none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub suspensions: u64,
    /// Time for which operations stood still; left out if it is zero.
    #[serde(default, skip_serializing_if = "takes_none")]
    pub suspended_s: f64,
    /// Array time of stopping and of going on, a part of `array_s`; left out if it is zero.
    #[serde(default, skip_serializing_if = "takes_none")]
    pub suspend_overhead_s: f64,
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
        suspensions: tally.suspensions,
        suspended_s: tally.suspended.as_secs_f64(),
        suspend_overhead_s: tally.suspend_overhead.as_secs_f64(),
    };
    account.rows().map(row).collect()
}
