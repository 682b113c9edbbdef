//! Verifies a drive from what its clients see: each read must return what its sectors may hold.
//!
//! The crate knows requests with their ranges, contents and answers, and power cuts. It knows no socket, no clock and no drive, so
//! that no bug of theirs can hide behind it: a server tells the [`Verifier`] what its clients ask for and get. The rules stand at
//! [`Verifier`]; the files of a verifier that outlives its process are the only input and output.

mod bytes;
mod command;
mod digest;
mod runs;
mod settled;
mod status;
mod verifier;
mod violation;

pub use command::ClientCommand;
pub use status::VerifyStatus;
pub use verifier::{Promise, Ticket, Verifier, ZoneSectors, forget};
pub use violation::Violation;
