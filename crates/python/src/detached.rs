//! Long work outside the interpreter: its lock is free meanwhile, Ctrl-C ends the work, and a panic becomes an
//! exception.
//!
//! The caller's thread releases the interpreter's lock, and takes it every 10 ms to check for signals. An exception of
//! a handler or of a callback sets the session's interruption. The profile `wheel` unwinds, so that a panic ends only
//! the thread of the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::Failure;
use crate::policy::known;

/// Time between two checks for signals. The job ends some hundredths of a second after Ctrl-C.
const EVERY: Duration = Duration::from_millis(10);

/// Stack size in bytes of the working thread, as large as the stack of a program's first thread.
const STACK: usize = 8 << 20;

/// Does `job` in a thread of its own while other Python threads go on. If the handler of a signal raises an exception,
/// the flag becomes true, the job ends soon after, and this function returns the exception.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    job: impl FnOnce(&AtomicBool) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    followed(py, |interrupt, _: Sender<()>| job(interrupt), |_, ()| Ok(()))
}

/// Does `job` like [`detached`]. The job may send messages, which `each` takes in the caller's thread, with the lock.
pub(crate) fn followed<T: Send, M: Send>(
    py: Python<'_>,
    job: impl FnOnce(&AtomicBool, Sender<M>) -> Result<T, Failure> + Send,
    each: impl FnMut(Python<'_>, M) -> PyResult<()> + Send,
) -> PyResult<T> {
    polled(py, job, each, |py| py.check_signals())
}

/// Does `job` like [`followed`], and calls `poll` again and again meanwhile; an exception of `poll` ends the job, too.
pub(crate) fn polled<T: Send, M: Send>(
    py: Python<'_>,
    job: impl FnOnce(&AtomicBool, Sender<M>) -> Result<T, Failure> + Send,
    mut each: impl FnMut(Python<'_>, M) -> PyResult<()> + Send,
    mut poll: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    let interrupt = AtomicBool::new(false);
    let (sender, messages) = mpsc::channel();
    let flag = &interrupt;
    let done = py.detach(move || {
        thread::scope(|scope| {
            // This sender keeps the channel open until the job ends, even if the job sends nothing.
            let open = sender.clone();
            let work = move || {
                let result = known(|| job(flag, sender));
                drop(open);
                result
            };
            let worker = thread::Builder::new().name("flashloom".to_owned()).stack_size(STACK);
            let worker = worker.spawn_scoped(scope, work).map_err(|error| Failure::Run(error.to_string()))?;
            let raised = loop {
                let message = messages.recv_timeout(EVERY);
                if matches!(message, Err(RecvTimeoutError::Disconnected)) {
                    break Ok(());
                }
                let taken =
                    Python::attach(|py| message.map_or(Ok(()), |message| each(py, message)).and_then(|()| poll(py)));
                if taken.is_err() {
                    flag.store(true, Ordering::Relaxed);
                    break taken;
                }
            };
            let result = worker.join().unwrap_or_else(|panic| Err(Failure::panicked(&*panic)));
            raised?;
            result
        })
    });
    Ok(done?)
}
