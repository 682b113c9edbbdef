//! The torture laboratory: does storage software survive power cuts on a simulated drive?
//!
//! A workload runs once and is recorded: the [`journal`](Journal) has every request with its content, and every answer.
//! The engine is deterministic, so the journal rebuilds the drive of any moment. At each [`Cut`] the power of a copy
//! fails, the copy recovers, and its content is compared with the [`Promises`] that the drive had made by then; a check
//! of the user sees the same content as a file.
//!
//! The laboratory is a crate beside the server because it needs one thing of it: real software reaches the drive that is
//! recorded ([`RecordedDrive`]) through a server, so that drive is a [`serve::Disk`]. Simulated time, cuts and comparisons
//! need no server, and a server knows nothing of journals.

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

pub use check::{Check, CheckError, CheckOutcome, CheckResult, quoted};
pub use cut::{Cut, CutKind, PointsSpec};
pub use image::DriveContents;
pub use journal::{
    ClientAnswer, ClientRequest, DriveRequest, Journal, JournalError, JournalHeader, MAGIC, RequestKind, RunEnd,
};
pub use laboratory::{CutResult, Laboratory, OpenError};
pub use live::{RecordedDrive, RecordingThread};
pub use loss::LossSpec;
pub use play::{Play, PlayError};
pub use promises::{BrokenPromise, Promises, SectorContent};
pub use recorder::Recorder;
pub use recovered::RecoveredDrive;
pub use replay::{Divergence, Honesty, Replay};
pub use spec::{Recording, TortureSpec};
