//! A drive as an NVMe subsystem over real loopback sockets, with the crate's own host at the other end.

mod admin;
mod host;
mod hostile;
mod io;
mod namespaces;
mod placement;
mod power;
mod record;
mod siege;
mod zones;
