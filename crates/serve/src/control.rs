//! Commands to a served drive over a socket, for `flashloom ctl`.
//!
//! A client connects to a Unix socket with mode 0600 and sends lines of JSON, each a [`Question`]; the server answers each
//! with a line, a [`Answer`].

mod client;
mod server;
mod words;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub use client::ask;
pub use server::ControlSocket;
pub use words::{Answer, Operation, Question};

/// The longest line of a conversation, in bytes.
const LONGEST: u64 = 64 << 10;

/// Why a socket for commands cannot be used.
#[derive(Debug)]
pub enum ControlError {
    /// Something else has its name.
    Taken(PathBuf),
    /// A drive is served there already.
    Busy(PathBuf),
    /// The system refuses it.
    Io(PathBuf, io::Error),
    /// The other side speaks another language.
    Unclear(PathBuf),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(path) => {
                write!(f, "{}: is there already and is no socket; choose another name", path.display())
            }
            Self::Busy(path) => {
                write!(f, "{}: a drive is served there already; choose another name, or end it", path.display())
            }
            Self::Io(path, error) => {
                write!(f, "{}: {error}; give the socket that `flashloom serve` names", path.display())
            }
            Self::Unclear(path) => {
                write!(
                    f,
                    "{}: the answer is not that of a served drive of this version; give the socket that `flashloom \
                     serve` names",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for ControlError {}
