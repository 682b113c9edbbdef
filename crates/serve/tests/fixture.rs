//! An NBD server in a thread, for tests of connections.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serve::Disk;
use serve::server::{BindError, Export, Hangup, Limits, Listen, Server, Stopper, Tls};

use crate::memory::Memory;

/// A server that runs until it is dropped.
pub(crate) struct RunningServer {
    pub(crate) uri: String,
    socket: PathBuf,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    /// The reasons for which connections have ended.
    ended: Arc<Mutex<Vec<String>>>,
    _folder: tempfile::TempDir,
}

/// Time limits that no test reaches by accident.
pub(crate) fn patient() -> Limits {
    let long = Duration::from_secs(60);
    Limits { handshake: long, stall: long, shutdown: long, ..Limits::default() }
}

pub(crate) fn export(name: &str, memory: &Arc<Memory>) -> Export {
    let disk: Arc<dyn Disk> = Arc::<Memory>::clone(memory);
    Export { name: name.to_owned(), description: "a drive of a test".to_owned(), disk, hangup: Hangup::default() }
}

impl RunningServer {
    /// Serves this drive as the default export.
    pub(crate) fn one(memory: &Arc<Memory>, limits: Limits) -> Self {
        Self::new(vec![export("", memory)], limits)
    }

    pub(crate) fn new(exports: Vec<Export>, limits: Limits) -> Self {
        Self::with(exports, |listen| Server::bind(listen, limits))
    }

    /// Serves exports that are refused without TLS.
    pub(crate) fn secure(exports: Vec<Export>, limits: Limits, tls: Tls) -> Self {
        Self::with(exports, |listen| Server::bind_tls(listen, limits, tls))
    }

    fn with(exports: Vec<Export>, bind: impl FnOnce(&Listen) -> Result<Server, BindError>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("s");
        let server = bind(&Listen::Unix(socket.clone())).expect("it listens");
        let ended = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&ended);
        let server = server.observed_by(Arc::new(move |why| list.lock().expect("a list").push(why.to_string())));
        let (uri, stopper) = (server.uri(&exports[0].name), server.stopper());
        let run = move || server.run(exports).expect("it runs");
        let thread = std::thread::Builder::new().name("server".to_owned()).spawn(run).expect("a thread");
        Self { uri, socket, stopper, thread: Some(thread), ended, _folder: folder }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The reasons for which connections have ended so far.
    pub(crate) fn ended(&self) -> Vec<String> {
        self.ended.lock().expect("a list").clone()
    }

    /// Tells the server to stop, and does not wait.
    pub(crate) fn stop(&self) {
        self.stopper.stop();
    }

    /// Waits until the server has stopped.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends well");
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop();
        if !std::thread::panicking() {
            self.join();
        }
    }
}
