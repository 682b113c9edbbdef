//! The servers in front of the drives: one of NBD, one of NVMe over TCP, or both.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use serve::engine::{Engine, Incidents, OnCut};
use serve::nvme_tcp::{NvmeExport, NvmeObserver, NvmeServer, NvmeStopper, PowerSignal, description};
use serve::server::{Export, Server, Stopper};
use study::catalogue::Device;

use crate::args::ServeArgs;
use crate::exit::{Failure, say};
use crate::progress::Tell;

/// Stops all servers, from any thread.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    nbd: Option<Stopper>,
    nvme: Option<NvmeStopper>,
}

impl Stop {
    pub(super) fn stop(&self) {
        self.nbd.as_ref().map(Stopper::stop);
        self.nvme.as_ref().map(NvmeStopper::stop);
    }
}

/// Where clients and hosts connect.
pub(super) struct Places {
    uris: Vec<String>,
    socket: Option<PathBuf>,
    /// The address and the qualified name of the subsystem.
    subsystem: Option<(SocketAddr, String)>,
}

impl Places {
    /// The lines that the command prints: URIs of NBD, and the command by which Linux connects the subsystem.
    pub(super) fn lines(&self) -> String {
        let connect = |(at, nqn): &(SocketAddr, String)| {
            format!("nvme connect -t tcp -a {} -s {} -n {nqn}\n", at.ip(), at.port())
        };
        let uris = self.uris.iter().map(|uri| format!("{uri}\n"));
        uris.chain(self.subsystem.iter().map(connect)).collect()
    }

    /// The variables that the command of `--run` gets.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let uri = self.uris.first().map(|uri| ("uri", uri.into()));
        let socket = self.socket.as_ref().map(|socket| ("unixsocket", socket.into()));
        let subsystem = self.subsystem.iter().flat_map(|(at, nqn)| {
            [("nqn", nqn.into()), ("traddr", at.ip().to_string().into()), ("trsvcid", at.port().to_string().into())]
        });
        uri.into_iter().chain(socket).chain(subsystem).collect()
    }
}

/// The servers, whose sockets are open.
pub(super) struct Front {
    nbd: Option<Server>,
    nvme: Option<NvmeServer>,
    export: Option<NvmeExport>,
    stop: Stop,
}

impl Front {
    /// Connections are noted, and why they end is said if it was asked for.
    pub(super) fn new(nbd: Option<Server>, nvme: Option<NvmeServer>, incidents: &Incidents, tell: Tell) -> Self {
        let stop = Stop { nbd: nbd.as_ref().map(Server::stopper), nvme: nvme.as_ref().map(NvmeServer::stopper) };
        Self {
            nbd: nbd.map(|server| noting(server, incidents, tell)),
            nvme: nvme.map(|server| server.observed_by(observer(incidents, tell))),
            export: None,
            stop,
        }
    }

    pub(super) fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// Sets the drives that hosts of NVMe see as namespaces, if they are served.
    pub(super) fn export(
        &mut self,
        args: &ServeArgs,
        drives: Vec<(Engine, Device)>,
        power: PowerSignal,
    ) -> Result<(), Failure> {
        let Some(server) = &self.nvme else { return Ok(()) };
        let hosts = Some(&args.nvme.nvme_host).filter(|hosts| !hosts.is_empty()).cloned();
        let devices: Vec<&Device> = drives.iter().map(|(_, device)| device).collect();
        let described = description(&devices, args.state.seed, server.address(), server.limits(), hosts);
        let description = described.map_err(|error| Failure::Input(error.to_string()))?;
        // Drives whose connections outlive a cut have none that end with it.
        let power = (OnCut::from(args.time.on_cut) == OnCut::End).then_some(power);
        self.export = Some(NvmeExport { drives, description, power });
        Ok(())
    }

    /// Where clients of the exports with these names connect, and hosts.
    pub(super) fn places(&self, names: &[&str]) -> Places {
        let uris = self.nbd.iter().flat_map(|server| names.iter().map(|name| server.uri(name)));
        let subsystem = self.nvme.as_ref().zip(self.export.as_ref());
        Places {
            uris: uris.collect(),
            socket: self.nbd.as_ref().and_then(Server::socket).map(ToOwned::to_owned),
            subsystem: subsystem.map(|(server, of)| (server.address(), of.description.identity.nqn.clone())),
        }
    }

    /// Serves until all servers are stopped. One that fails stops the other.
    pub(super) fn run(self, exports: Vec<Export>) -> io::Result<()> {
        let Self { nbd, nvme, export, stop } = self;
        let hosts = nvme.zip(export);
        match (nbd, hosts) {
            (None, None) => Ok(()),
            (Some(nbd), None) => nbd.run(exports),
            (None, Some((nvme, export))) => nvme.run(export),
            (Some(nbd), Some((nvme, export))) => {
                let on_end = stop.clone();
                let run = move || {
                    let ended = nvme.run(export);
                    on_end.stop();
                    ended
                };
                let serving = thread::Builder::new().name("nvme".to_owned()).spawn(run)?;
                let ended = nbd.run(exports);
                stop.stop();
                match serving.join() {
                    Ok(hosts) => ended.and(hosts),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        }
    }
}

fn noting(server: Server, incidents: &Incidents, tell: Tell) -> Server {
    let (come, go) = (incidents.clone(), incidents.clone());
    let server = server.on_connect(Arc::new(move || come.client_came()));
    server.observed_by(Arc::new(move |why| {
        go.client_left(why);
        if tell.verbose {
            say(format_args!("a connection has ended: {why}"));
        }
    }))
}

fn observer(incidents: &Incidents, tell: Tell) -> NvmeObserver {
    let (come, go) = (incidents.clone(), incidents.clone());
    NvmeObserver {
        on_connect: Arc::new(move || come.client_came()),
        on_end: Arc::new(move |why| {
            go.client_left(why);
            if tell.verbose {
                say(format_args!("a connection of a host of NVMe has ended: {why}"));
            }
        }),
    }
}
