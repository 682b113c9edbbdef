//! The version of the model that gives a run its result.

/// Raised whenever a run may have another result than before, and whenever a result has another form. Results of other
/// versions in a store are not used.
///
/// `crates/study/tests/model.rs` fails if the reference runs or the results of small runs change and this number does
/// not.
pub const MODEL: u32 = 15;
