//! The command that `--run` starts beside the server.

use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::front::Stop;
use super::places::Places;
use crate::exit::{Failure, note};

/// A running command of the user.
pub(super) struct User {
    line: String,
    id: Option<rustix::process::Pid>,
    /// True once the command has ended, which stops the server. The thread may end after the server.
    has_ended: Arc<AtomicBool>,
    waiting: thread::JoinHandle<std::io::Result<std::process::ExitStatus>>,
}

impl User {
    pub(super) fn start(line: &str, places: &Places, stopper: Stop) -> Result<Self, Failure> {
        let refused =
            |error| Failure::Input(format!("--run: cannot be started: {error}; write a command of the shell"));
        let mut command = Command::new("sh");
        command.args(["-c", line]).envs(places.variables());
        let child = command.spawn().map_err(refused)?;
        let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let wait = move |mut child: Child| {
            let status = child.wait();
            ended.store(true, Ordering::Release);
            stopper.stop();
            status
        };
        let waiting = thread::Builder::new().spawn(move || wait(child)).map_err(refused)?;
        Ok(Self { line: line.to_owned(), id, has_ended, waiting })
    }

    /// Ends the command after the server has stopped: the command has ended itself, or a signal came, which the command gets, too.
    pub(super) fn end(self) -> Result<(), Failure> {
        let interrupted = !self.has_ended.load(Ordering::Acquire);
        if interrupted && let Some(id) = self.id {
            // The command may end at the same moment.
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        match self.waiting.join() {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) if interrupted => {
                note(format_args!("`{}` was ended: {status}", self.line));
                Ok(())
            }
            Ok(Ok(status)) => {
                let remedy = "run it by itself, with a server in another terminal, to see why";
                Err(Failure::Input(format!("--run: `{}` failed: {status}; {remedy}", self.line)))
            }
            Ok(Err(error)) => Err(Failure::Input(format!("--run: cannot be waited for: {error}; start it by itself"))),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
