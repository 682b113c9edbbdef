//! Long work beside the interpreter: its lock is free meanwhile, Ctrl-C ends the work, and a panic is an exception.
//!
//! The caller's thread gives the interpreter's lock up and looks for signals every 10 ms, with the lock. An exception of a handler or of a
//! callback sets the session's interruption. The profile `wheel` unwinds, so that a panic ends the run's thread alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::Failure;
use crate::policy::known;

/// How long Ctrl-C waits to be seen. The work sees it some hundredths of a second later.
const EVERY: Duration = Duration::from_millis(10);

/// The stack of the thread that works, as large as that of a program's first thread.
const STACK: usize = 8 << 20;

/// Does `job` in a thread of its own while other Python threads go on. The job ends soon after the flag is true, which
/// a signal sets whose Python handler raises: then this returns the exception of the handler.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    job: impl FnOnce(&AtomicBool) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    followed(py, |interrupt, _: Sender<()>| job(interrupt), |_, ()| Ok(()))
}

/// The same for a job that sends messages; `each` takes them in the caller's thread, with the lock.
pub(crate) fn followed<T: Send, M: Send>(
    py: Python<'_>,
    job: impl FnOnce(&AtomicBool, Sender<M>) -> Result<T, Failure> + Send,
    each: impl FnMut(Python<'_>, M) -> PyResult<()> + Send,
) -> PyResult<T> {
    polled(py, job, each, |py| py.check_signals())
}

/// The same; an exception of `poll`, which is called again and again meanwhile, ends the job, too.
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
            // The channel is open until the job ends, also if it sends nothing.
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
