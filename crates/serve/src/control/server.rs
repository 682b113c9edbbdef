//! The server of a socket for commands: a thread that accepts connections, and one for each of them.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Answer, ControlError, LONGEST, Question};
use crate::engine::{Command, CommandRefusal, Reply};

/// The most connections at a time.
const MOST: usize = 16;
/// A connection is closed if its client sends nothing, or reads nothing, for this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Carries a command out.
type CommandHandler = dyn Fn(Command) -> Result<Reply, CommandRefusal> + Send + Sync;

/// A socket for commands. Dropping it removes its file.
pub struct ControlSocket {
    path: PathBuf,
    listener: Option<UnixListener>,
    thread: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl ControlSocket {
    /// Makes the socket, for its owner alone. A socket file at which no process listens any more is replaced.
    ///
    /// # Errors
    /// If a process listens at the path, the path is not a socket, or the operating system reports an error.
    pub fn bind(path: &Path) -> Result<Self, ControlError> {
        let failed = |error| ControlError::Io(path.to_owned(), error);
        if let Ok(there) = fs::symlink_metadata(path) {
            if !there.file_type().is_socket() {
                return Err(ControlError::Taken(path.to_owned()));
            }
            match UnixStream::connect(path) {
                Ok(_) => return Err(ControlError::Busy(path.to_owned())),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(failed(error)),
            }
        }
        // The socket gets its mode before its name, so that no other user can connect in between.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let hidden = folder.join(format!(".flashloom-{}.socket", std::process::id()));
        let _ = fs::remove_file(&hidden);
        let listener = UnixListener::bind(&hidden).map_err(failed)?;
        let named =
            fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600)).and_then(|()| fs::rename(&hidden, path));
        if let Err(error) = named {
            let _ = fs::remove_file(&hidden);
            return Err(failed(error));
        }
        Ok(Self { path: path.to_owned(), listener: Some(listener), thread: None, is_over: Arc::default() })
    }

    /// Serves the socket on a thread.
    pub(crate) fn serve(
        mut self,
        carry_out: impl Fn(Command) -> Result<Reply, CommandRefusal> + Send + Sync + 'static,
    ) -> Result<Self, ControlError> {
        let (listener, is_over) = (self.listener.take(), Arc::clone(&self.is_over));
        let carry_out: Arc<CommandHandler> = Arc::new(carry_out);
        let thread = std::thread::Builder::new().name("control".to_owned());
        let thread = thread.spawn(move || listener.into_iter().for_each(|one| accept(&one, &carry_out, &is_over)));
        self.thread = Some(thread.map_err(|error| ControlError::Io(self.path.clone(), error))?);
        Ok(self)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // Wakes the thread, which then sees that it must end.
            let woken = UnixStream::connect(&self.path).is_ok();
            if woken {
                let _ = thread.join();
            }
        }
        let _ = fs::remove_file(&self.path);
    }
}

fn accept(listener: &UnixListener, carry_out: &Arc<CommandHandler>, is_over: &AtomicBool) {
    let talking = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if is_over.load(Ordering::Acquire) {
            return;
        }
        // The client gave its connection up while it waited, or no descriptor is free: a later connection may succeed.
        let Ok(stream) = stream else { continue };
        if talking.fetch_add(1, Ordering::AcqRel) >= MOST {
            talking.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let (carry_out, count) = (Arc::clone(carry_out), Arc::clone(&talking));
        let thread = std::thread::Builder::new().name("ctl".to_owned());
        let thread = thread.spawn(move || {
            // The client has gone, or was silent for too long.
            let _ = talk(&stream, &*carry_out);
            count.fetch_sub(1, Ordering::AcqRel);
        });
        if thread.is_err() {
            talking.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Answers each line of a client.
fn talk(stream: &UnixStream, carry_out: &CommandHandler) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut from = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        from.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let is_whole = line.ends_with(b"\n");
        let answer = if is_whole { answer(&line, carry_out) } else { refused("a line is too long or has no end") };
        let mut to = stream;
        to.write_all((serde_json::to_string(&answer).map_err(io::Error::other)? + "\n").as_bytes())?;
        if !is_whole {
            return Ok(());
        }
    }
}

fn refused(why: impl ToString) -> Answer {
    Answer::Refused { message: why.to_string() }
}

fn answer(line: &[u8], carry_out: &CommandHandler) -> Answer {
    let question: Question = match serde_json::from_slice(line) {
        Ok(question) => question,
        Err(error) => return refused(format!("this is no command: {error}; write e.g. {{\"command\":\"status\"}}")),
    };
    match Command::try_from(question) {
        Ok(command) => carry_out(command).into(),
        Err(error) => refused(error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ask;
    use super::*;
    use crate::engine::{Pace, WrongPower};

    fn served(path: &Path) -> ControlSocket {
        let carry_out = |command| match command {
            Command::SetPace(pace) => Ok(Reply::Pace(pace)),
            Command::PowerOn => Err(CommandRefusal::Power(WrongPower::On)),
            _ => Err(CommandRefusal::Stopped),
        };
        let socket = ControlSocket::bind(path).unwrap_or_else(|error| panic!("{error}"));
        socket.serve(carry_out).unwrap_or_else(|error| panic!("{error}"))
    }

    fn said(path: &Path, pace: &str) -> Answer {
        ask(path, &Question::SetPace { pace: pace.to_owned() }).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_socket_is_its_owners_and_answers_line_by_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("ctl");
        let socket = served(&path);
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        let done = |pace: Pace| Answer::Done { message: format!("the pace is {pace}"), notes: Vec::new() };
        assert_eq!(said(&path, "max"), done(Pace::Max));
        assert!(matches!(said(&path, "fast"), Answer::Refused { message } if message.contains("`fast` is no pace")));
        let on = ask(&path, &Question::PowerOn).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(on, Answer::Refused { message: WrongPower::On.to_string() });
        // Several lines on one connection, and garbage between them.
        let mut stream = UnixStream::connect(&path).expect("somebody listens");
        let lines = "{\"command\":\"set-pace\",\"pace\":\"real\"}\nhello\n{\"command\":\"power-on\",\"x\":1}\n";
        stream.write_all(lines.as_bytes()).expect("sent");
        let answers: Vec<_> = BufReader::new(&stream).lines().take(3).map(|line| line.expect("an answer")).collect();
        assert!(answers[0].contains("the pace is real"), "{answers:?}");
        assert!(answers[1..].iter().all(|answer| answer.contains("refused")), "{answers:?}");
        drop(stream);
        drop(socket);
        assert!(!path.exists(), "the name goes with the socket");
        assert!(matches!(ask(&path, &Question::Status), Err(ControlError::Io(..))));
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("ctl");
        let _socket = served(&path);
        let mut stream = UnixStream::connect(&path).expect("somebody listens");
        // The server may hang up before it has read everything.
        let _ = stream.write_all(&vec![b'x'; LONGEST as usize]);
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).expect("an answer");
        assert!(line.contains("too long"), "{line}");
        assert!(matches!(said(&path, "1"), Answer::Done { .. }), "others are served");
    }

    #[test]
    fn only_the_socket_of_a_dead_server_is_replaced() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("ctl");
        fs::write(&path, "mine").expect("written");
        assert!(matches!(ControlSocket::bind(&path), Err(ControlError::Taken(_))));
        assert_eq!(fs::read(&path).expect("there"), b"mine");
        fs::remove_file(&path).expect("there");
        // The file stays, as after SIGKILL.
        drop(UnixListener::bind(&path).expect("a socket"));
        let socket = served(&path);
        assert!(matches!(ControlSocket::bind(&path), Err(ControlError::Busy(_))));
        assert!(matches!(said(&path, "2"), Answer::Done { .. }));
        drop(socket);
    }
}
