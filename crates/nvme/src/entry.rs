//! Submission and completion queue entries, SGL descriptors, opcodes.

mod command;
mod completion;
pub mod opcode;

pub use command::{SubmissionEntry, Transfer};
pub use completion::CompletionEntry;
