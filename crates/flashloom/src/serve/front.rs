//! The servers in front of the drives: one of NBD, one of NVMe over TCP, or both.

use std::io;
use std::sync::Arc;
use std::thread;

use serve::engine::{CutPolicy, Engine, Incidents};
use serve::nvme_tcp::{NvmeExport, NvmeObserver, NvmeServer, NvmeStopper, PowerSignal, Presentation, description};
use serve::server::{Export, Server, Stopper};
use study::catalogue::Device;

use crate::args::ServeArgs;
use crate::exit::{Failure, say};
use crate::progress::Tell;
use crate::serve::places::Places;

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

/// The servers, with open sockets.
pub(super) struct Front {
    nbd: Option<Server>,
    nvme: Option<NvmeServer>,
    export: Option<NvmeExport>,
    stop: Stop,
}

impl Front {
    /// The servers. Connections are noted as incidents, and the reasons for their ends are printed if `tell` asks for
    /// it.
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
        let presentation = Presentation {
            limits: *server.limits(),
            hosts,
            block_shift: args.nvme.nvme_block.get().trailing_zeros() as u8,
            ..Presentation::at(server.address(), args.state.seed)
        };
        let described = description(&devices, &presentation);
        let description = described.map_err(|error| Failure::Input(error.to_string()))?;
        // If connections outlive a cut, the power signal ends none.
        let power = (CutPolicy::from(args.time.on_cut) == CutPolicy::End).then_some(power);
        self.export = Some(NvmeExport { drives, description, power });
        Ok(())
    }

    /// The addresses for clients of the exports with these names, and for hosts.
    pub(super) fn places(&self, names: &[&str]) -> Places {
        let subsystem = self.nvme.as_ref().zip(self.export.as_ref());
        Places::new(
            self.nbd.as_ref().map(|server| (server, names)),
            subsystem.map(|(server, export)| (server.address(), export)),
        )
    }

    /// Serves until all servers are stopped. A server that fails stops the other server.
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
