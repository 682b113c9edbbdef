//! The addresses at which clients of NBD and hosts of NVMe reach the drives: as lines, as JSON, and as variables of the command of
//! `--run`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serve::nvme_tcp::NvmeExport;
use serve::server::Server;

/// The version of the keys.
const SCHEMA: &str = "flashloom-serve-1";

/// The addresses to which clients of NBD and hosts of NVMe connect.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub(crate) struct Places {
    /// Version of these keys.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The drives that NBD exports; empty if the drives are served over NVMe alone.
    exports: Vec<ExportPlace>,
    /// Path of the Unix socket of NBD; null without one.
    socket: Option<PathBuf>,
    /// The subsystem of NVMe over TCP; null without `--nvme`.
    subsystem: Option<SubsystemPlace>,
}

/// A drive for clients of NBD.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ExportPlace {
    /// The name of the export; empty for the default export.
    name: String,
    /// The NBD URI (`nbd://` or `nbd+unix://`) with which a client opens the export.
    uri: String,
}

/// A subsystem of NVMe over TCP.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SubsystemPlace {
    /// The qualified name of the subsystem.
    nqn: String,
    /// The IP address on which the subsystem listens.
    address: String,
    /// The TCP port on which the subsystem listens.
    port: u16,
    /// The drives, in the order of their identifiers.
    namespaces: Vec<NamespacePlace>,
}

/// A drive for hosts of NVMe.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct NamespacePlace {
    /// The identifier of the namespace, and of its endurance group.
    id: u32,
    /// Name of the device in its description.
    device: String,
    /// Bytes of a logical block of the namespace.
    block_bytes: u64,
    /// Size of the namespace in logical blocks.
    blocks: u64,
    /// Number of zones; 0 for a drive without zones.
    zones: u64,
}

impl Places {
    /// The addresses of the exports with these names, and of a subsystem.
    pub(super) fn new(nbd: Option<(&Server, &[&str])>, nvme: Option<(SocketAddr, &NvmeExport)>) -> Self {
        let export = |server: &Server, name: &str| ExportPlace { name: name.to_owned(), uri: server.uri(name) };
        Self {
            schema: SCHEMA,
            exports: nbd
                .map_or_else(Vec::new, |(server, names)| names.iter().map(|name| export(server, name)).collect()),
            socket: nbd.and_then(|(server, _)| server.socket()).map(ToOwned::to_owned),
            subsystem: nvme.map(|(at, export)| SubsystemPlace::new(at, export)),
        }
    }

    /// The lines that the command prints: URIs of NBD, and the command by which Linux connects the subsystem.
    pub(super) fn lines(&self) -> String {
        let connect = |subsystem: &SubsystemPlace| {
            let SubsystemPlace { nqn, address, port, .. } = subsystem;
            format!("nvme connect -t tcp -a {address} -s {port} -n {nqn}\n")
        };
        let uris = self.exports.iter().map(|export| format!("{}\n", export.uri));
        uris.chain(self.subsystem.iter().map(connect)).collect()
    }

    /// All addresses in one line of JSON, so that a program need not wait for the end of the output.
    pub(super) fn json(&self) -> String {
        let json = serde_json::to_string(self).expect("places have no other keys than texts");
        format!("{json}\n")
    }

    /// The variables that the command of `--run` gets.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let uri = self.exports.first().map(|export| ("uri", export.uri.clone().into()));
        let socket = self.socket.as_ref().map(|socket| ("unixsocket", socket.into()));
        let subsystem = self.subsystem.iter().flat_map(|SubsystemPlace { nqn, address, port, .. }| {
            [("nqn", nqn.into()), ("traddr", address.into()), ("trsvcid", port.to_string().into())]
        });
        uri.into_iter().chain(socket).chain(subsystem).collect()
    }
}

impl SubsystemPlace {
    fn new(at: SocketAddr, export: &NvmeExport) -> Self {
        let namespaces = export.description.namespaces.iter().zip(&export.drives);
        let namespaces = namespaces.map(|(namespace, (_, device))| NamespacePlace {
            id: namespace.id,
            device: device.name.clone(),
            block_bytes: namespace.block(),
            blocks: namespace.blocks,
            zones: namespace.zone_count(),
        });
        Self {
            nqn: export.description.identity.nqn.clone(),
            address: at.ip().to_string(),
            port: at.port(),
            namespaces: namespaces.collect(),
        }
    }
}
