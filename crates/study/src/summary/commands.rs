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
    };
    account.rows().map(row).collect()
}
