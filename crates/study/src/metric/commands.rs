//! Flash commands by operation and cause.

use crate::summary::FlashRow;

pub(super) fn flash(op: &str, cause: Option<&str>) -> Option<(String, Option<String>)> {
    let known = flash::backend::Op::ALL.into_iter().any(|other| other.name() == op)
        && cause.is_none_or(|cause| flash::backend::Cause::ALL.into_iter().any(|other| other.name() == cause));
    known.then(|| (op.to_owned(), cause.map(ToOwned::to_owned)))
}

/// The sum of a number over the commands of an operation, for all causes or for one.
pub(super) fn sum_of(rows: &[FlashRow], op: &str, cause: Option<&str>, of: fn(&FlashRow) -> u64) -> f64 {
    let rows = rows.iter().filter(|row| row.op == op && cause.is_none_or(|cause| row.cause == cause));
    rows.map(of).sum::<u64>() as f64
}
