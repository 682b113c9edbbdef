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
pub use words::{Answer, FlashOperation, Question};

/// The longest line of a conversation, in bytes.
const LONGEST: u64 = 64 << 10;

/// The reason for which a socket for commands cannot be used.
#[derive(Debug)]
pub enum ControlError {
    /// A file at the path is no socket.
    Taken(PathBuf),
    /// Another drive is served at the socket.
    Busy(PathBuf),
    /// The operating system reported an error.
    Io(PathBuf, io::Error),
    /// The other end sent no valid line of the conversation.
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
