//! Tests of whole RAIDs: one program, because each would link all crates again.

mod content;
mod failures;
mod journal;
mod stops;
mod timing;
mod volatile;
