//! The version of the model that gives a run its result.

/// Version of the model: higher after any run may have another result than before, or after the form of results has
/// changed. Results of other versions in a store are not used.
///
/// `crates/study/tests/model.rs` fails if the reference runs or the results of small runs change and this number does
/// not.
pub const MODEL: u32 = 15;
