//! The parts of the time of requests on each drive of a comparison, if it was observed.

use study::compare::Row;

use crate::sides::NamedResult;

/// The drives, in their order.
pub(super) fn seen(rows: &[Row]) -> Vec<NamedResult<'_>> {
    let mut all = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        all.push(NamedResult { name: &row.device, explained: &row.explained, at: format!("/rows/{i}/explained") });
    }
    all
}
