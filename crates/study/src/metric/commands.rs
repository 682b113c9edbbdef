//! Flash commands by operation and cause.

use flash::backend::{Cause, Op};

use crate::summary::FlashRow;

/// An operation, and perhaps a cause, by their names.
pub(super) fn flash(op: &str, cause: Option<&str>) -> Option<(String, Option<String>)> {
    let known = Op::ALL.into_iter().any(|other| other.name() == op)
        && cause.is_none_or(|cause| Cause::ALL.into_iter().any(|other| other.name() == cause));
    known.then(|| (op.to_owned(), cause.map(ToOwned::to_owned)))
}

/// A number of all rows of an operation, and of one cause if it is given.
pub(super) fn sum_of(rows: &[FlashRow], op: &str, cause: Option<&str>, of: fn(&FlashRow) -> u64) -> f64 {
    let rows = rows.iter().filter(|row| row.op == op && cause.is_none_or(|cause| row.cause == cause));
    rows.map(of).sum::<u64>() as f64
}
