//! A client that asks one question.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{Answer, ControlError, LONGEST, Question};

/// Sends a question to the drive that is served at this socket, and waits for the answer.
///
/// # Errors
/// If no server listens at the socket, or the answer is not valid.
pub fn ask(socket: &Path, question: &Question) -> Result<Answer, ControlError> {
    let failed = |error| ControlError::Io(socket.to_owned(), error);
    let unclear = || ControlError::Unclear(socket.to_owned());
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    let line = serde_json::to_string(question).map_err(|_| unclear())? + "\n";
    stream.write_all(line.as_bytes()).map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line).map_err(failed)?;
    serde_json::from_str(&line).map_err(|_| unclear())
}
