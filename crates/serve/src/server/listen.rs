//! Sockets: a Unix socket of its owner, or TCP. Users of other machines reach TCP only with a certificate.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::net::{self, SocketAddr};
use std::os::unix;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::connection::{ConnectionEnd, SharedState, serve};
use super::tls::Tls;

/// The kind of socket at which clients connect, and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket in a new directory of mode 0700, which is made in this directory and removed at the end.
    PrivateIn(PathBuf),
    /// A Unix socket at this path, of mode 0600.
    Unix(PathBuf),
    /// A TCP port; port 0 takes a free port. The address must be one of loopback, unless TLS verifies clients.
    Tcp(SocketAddr),
}

/// The reason for which a server cannot listen.
#[derive(Debug)]
pub enum BindError {
    /// The address can be reached from other machines, and clients need no certificate.
    NotLoopback(SocketAddr),
    /// The address can be reached from other machines, and NVMe over TCP is served without TLS.
    NotLoopbackNvme(SocketAddr),
    /// Another server listens on the socket at this path.
    InUse(PathBuf),
    /// The file is not a socket.
    NoSocket(PathBuf),
    /// The operating system refused.
    Refused {
        /// The path or the address.
        at: String,
        /// The error of the operating system.
        error: io::Error,
    },
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoopback(address) => write!(
                f,
                "{address}: is not a loopback address, and unless TLS verifies clients everyone on the network could \
                 read and write the drive; choose one such as 127.0.0.1:{}, or --tls-certificates and \
                 --tls-verify-peer, or a Unix socket and ssh -L",
                address.port()
            ),
            Self::NotLoopbackNvme(address) => write!(
                f,
                "{address}: is not a loopback address, and everyone on the network could read and write the drive, because \
                 NVMe/TCP is served without TLS; choose one such as 127.0.0.1:{}, and ssh -L from other machines",
                address.port()
            ),
            Self::InUse(path) => write!(f, "{}: another server listens there; choose another path", path.display()),
            Self::NoSocket(path) => write!(f, "{}: exists and is not a socket; choose another path", path.display()),
            Self::Refused { at, error } => write!(f, "{at}: cannot listen there: {error}; choose another place"),
        }
    }
}

impl std::error::Error for BindError {}

/// An open socket that accepts no connections yet. Dropping it removes its files.
pub(super) struct Listener {
    socket: Socket,
    has_tls: bool,
    files: SocketFiles,
}

enum Socket {
    Unix(unix::net::UnixListener),
    Tcp(net::TcpListener, SocketAddr),
}

/// The files that are removed at the end.
#[derive(Default)]
struct SocketFiles {
    socket: Option<PathBuf>,
    folder: Option<PathBuf>,
}

impl Drop for SocketFiles {
    fn drop(&mut self) {
        // The file may be removed already, which is no fault.
        let _ = self.socket.as_ref().map(fs::remove_file);
        let _ = self.folder.as_ref().map(fs::remove_dir);
    }
}

impl Listener {
    pub(super) fn bind(listen: &Listen, tls: Option<&Tls>) -> Result<Self, BindError> {
        let mut files = SocketFiles::default();
        let path = match listen {
            Listen::Tcp(address) => return tcp(*address, tls),
            Listen::Unix(path) => path.clone(),
            Listen::PrivateIn(parent) => files.folder.insert(private_folder(parent)?).join("nbd.sock"),
        };
        let listener = bind_unix(&path)?;
        files.socket = Some(path);
        Ok(Self { socket: Socket::Unix(listener), has_tls: tls.is_some(), files })
    }

    /// The path of the Unix socket; none for TCP.
    pub(super) fn path(&self) -> Option<&Path> {
        self.files.socket.as_deref()
    }

    /// The URI of an export, in the form of NBD's `doc/uri.md`.
    pub(super) fn uri(&self, export: &str) -> String {
        let export = escaped(export.as_bytes(), b"");
        let scheme = if self.has_tls { "nbds" } else { "nbd" };
        match (&self.socket, &self.files.socket) {
            (Socket::Tcp(_, address), _) => format!("{scheme}://{address}/{export}"),
            (Socket::Unix(_), path) => {
                use std::os::unix::ffi::OsStrExt;
                let path = path.as_ref().expect("a Unix socket has a path").as_os_str().as_bytes();
                format!("{scheme}+unix:///{export}?socket={}", escaped(path, b"/"))
            }
        }
    }

    /// Begins to accept; must be called within a runtime.
    pub(super) fn listen(self) -> io::Result<ListeningSocket> {
        let socket = match self.socket {
            Socket::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Tokio::Unix(UnixListener::from_std(listener)?)
            }
            Socket::Tcp(listener, _) => {
                listener.set_nonblocking(true)?;
                Tokio::Tcp(TcpListener::from_std(listener)?)
            }
        };
        Ok(ListeningSocket { socket, _files: self.files })
    }
}

fn tcp(address: SocketAddr, tls: Option<&Tls>) -> Result<Listener, BindError> {
    if !address.ip().is_loopback() && !tls.is_some_and(Tls::verifies_clients) {
        return Err(BindError::NotLoopback(address));
    }
    let refused = |error| BindError::Refused { at: address.to_string(), error };
    let listener = net::TcpListener::bind(address).map_err(refused)?;
    // The address with the port that the system chose.
    let address = listener.local_addr().map_err(refused)?;
    Ok(Listener { socket: Socket::Tcp(listener, address), has_tls: tls.is_some(), files: SocketFiles::default() })
}

/// A new folder that only its owner can enter.
fn private_folder(parent: &Path) -> Result<PathBuf, BindError> {
    let mut number = 0;
    loop {
        let folder = parent.join(format!("flashloom-{}-{number}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            // The directory was left by an earlier process with this number, or belongs to another server of this process.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
            Err(error) => return Err(BindError::Refused { at: folder.display().to_string(), error }),
        }
    }
}

fn bind_unix(path: &Path) -> Result<unix::net::UnixListener, BindError> {
    let refused = |error| BindError::Refused { at: path.display().to_string(), error };
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(BindError::NoSocket(path.to_owned()));
        }
        match unix::net::UnixStream::connect(path) {
            // The socket file was left by a killed server.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(refused)?,
            _ => return Err(BindError::InUse(path.to_owned())),
        }
    }
    // The mask keeps other users from connecting from the beginning on. It holds for the whole process, so it removes only
    // permissions that no other thread needs for a file.
    let before = rustix::process::umask(Mode::from_raw_mode(0o077));
    let listener = unix::net::UnixListener::bind(path);
    rustix::process::umask(before);
    let listener = listener.map_err(refused)?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(refused)?;
    Ok(listener)
}

/// Bytes as a part of a URI.
fn escaped(bytes: &[u8], plain: &[u8]) -> String {
    let each = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        byte if plain.contains(byte) => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    bytes.iter().map(each).collect()
}

/// A socket that clients are accepted from.
pub(super) struct ListeningSocket {
    socket: Tokio,
    _files: SocketFiles,
}

enum Tokio {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl ListeningSocket {
    pub(super) async fn accept(&self) -> io::Result<ClientSocket> {
        match &self.socket {
            Tokio::Unix(listener) => Ok(ClientSocket::Unix(listener.accept().await?.0)),
            Tokio::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // A small reply must not wait for the next one.
                stream.set_nodelay(true)?;
                Ok(ClientSocket::Tcp(stream))
            }
        }
    }
}

pub(super) enum ClientSocket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl ClientSocket {
    pub(super) async fn serve(self, shared: &SharedState) -> ConnectionEnd {
        match self {
            Self::Unix(stream) => serve(stream, shared).await,
            Self::Tcp(stream) => serve(stream, shared).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn a_private_socket_is_its_owners_and_goes_with_the_listener() {
        let parent = tempfile::tempdir().expect("a folder");
        let listen = Listen::PrivateIn(parent.path().to_owned());
        let both = [(); 2].map(|()| Listener::bind(&listen, None).expect("listens"));
        for listener in &both {
            let socket = listener.files.socket.as_ref().expect("a path");
            assert_eq!((mode(socket), mode(socket.parent().expect("a folder"))), (0o600, 0o700));
        }
        assert_ne!(both[0].uri(""), both[1].uri(""));
        drop(both);
        assert_eq!(fs::read_dir(parent.path()).expect("there").count(), 0);
    }

    #[test]
    fn a_path_is_taken_only_if_nobody_uses_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let bind = || Listener::bind(&Listen::Unix(path.clone()), None);
        let first = bind().expect("listens");
        assert_eq!(mode(&path), 0o600);
        assert!(matches!(bind(), Err(BindError::InUse(_))));
        drop(first);
        assert!(!path.exists());
        // A killed server leaves its socket file.
        drop(unix::net::UnixListener::bind(&path).expect("listens"));
        assert!(path.exists());
        drop(bind().expect("the socket is taken over"));
        fs::write(&path, "dear diary").expect("written");
        assert!(matches!(bind(), Err(BindError::NoSocket(_))));
        assert_eq!(fs::read(&path).expect("there"), b"dear diary");
        let nowhere = Listener::bind(&Listen::Unix(folder.path().join("no/s")), None);
        assert!(matches!(nowhere, Err(BindError::Refused { .. })));
    }

    #[test]
    fn tcp_is_for_this_machine_only() {
        for address in ["0.0.0.0:10809", "192.0.2.1:10809", "[::]:10809"] {
            let refused =
                Listener::bind(&Listen::Tcp(address.parse().expect("an address")), None).err().expect("refused");
            let text = refused.to_string();
            assert!(matches!(refused, BindError::NotLoopback(_)) && text.contains("choose one"), "{text}");
        }
        let listener = Listener::bind(&Listen::Tcp("127.0.0.1:0".parse().expect("an address")), None).expect("listens");
        let uri = listener.uri("a b");
        assert!(uri.starts_with("nbd://127.0.0.1:") && uri.ends_with("/a%20b") && !uri.contains(":0/"), "{uri}");
    }

    #[test]
    fn uris_escape_what_is_no_letter() {
        assert_eq!(escaped("/tmp/a b&c?\u{e9}".as_bytes(), b"/"), "/tmp/a%20b%26c%3F%C3%A9");
        assert_eq!(escaped(b"mix/all", b""), "mix%2Fall");
    }
}
