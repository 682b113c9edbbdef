//! The torture laboratory: does storage software survive power cuts on a simulated drive?
//!
//! A workload runs once and is recorded: the [`journal`](Journal) has every request with its content, and every answer.
//! The engine is deterministic, so the journal rebuilds the drive of any moment. At each [`Cut`] the power of a copy
//! fails, the copy recovers, and its content is compared with the [`Promises`] that the drive had made by then; a check
//! of the user sees the same content as a file.

mod check;
mod cut;
mod extents;
mod image;
mod journal;
mod laboratory;
mod live;
mod loss;
mod play;
mod promises;
mod recorder;
mod recovered;
mod replay;
#[cfg(test)]
mod rig;
mod spec;
mod stamp;

pub use check::{Check, CheckError, Checked, Ending, quoted};
pub use cut::{Cut, CutKind, PointsSpec};
pub use image::Contents;
pub use journal::{Answered, Asked, Beginning, End, Journal, JournalError, Kind, MAGIC, Submitted};
pub use laboratory::{Laboratory, OpenError, Tested};
pub use live::{Live, Recordings};
pub use loss::LossSpec;
pub use play::{Play, PlayError};
pub use promises::{Found, Held, Promises};
pub use recorder::Recorder;
pub use recovered::Recovered;
pub use replay::{Diverged, Honesty, Replay};
pub use spec::{Recording, TortureSpec};
