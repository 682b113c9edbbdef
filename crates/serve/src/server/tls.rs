//! TLS from X.509 certificates, in the files that QEMU, libnbd and nbdkit use.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{Error, RootCertStore, ServerConfig};

/// The authority that has signed the certificates of clients.
const AUTHORITY: &str = "ca-cert.pem";
/// Certificates that the authority has revoked; this file may be absent.
const REVOKED: &str = "ca-crl.pem";
/// The server's certificate, followed by the certificates between it and its authority.
const CERTIFICATE: &str = "server-cert.pem";
/// The private key of the server's certificate.
const KEY: &str = "server-key.pem";

/// The server's certificate, and the demand for certificates of clients.
#[derive(Clone)]
pub struct Tls {
    pub(super) acceptor: TlsAcceptor,
    verifies_clients: bool,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("verifies_clients", &self.verifies_clients).finish_non_exhaustive()
    }
}

/// The reason for which TLS cannot be used.
#[derive(Debug)]
pub enum TlsError {
    /// A file cannot be read.
    Unreadable(PathBuf, io::Error),
    /// A file has no PEM section of the kind that belongs there.
    Missing(PathBuf, PemKind),
    /// A PEM section in a file is damaged.
    Malformed(PathBuf, PemKind),
    /// TLS refuses the content of a file.
    Refused(PathBuf, Error),
    /// The private key in this file does not belong to the certificate.
    OtherKey(PathBuf),
}

/// The kind of PEM section that belongs into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PemKind {
    /// One or more certificates.
    Certificate,
    /// The private key of a certificate.
    Key,
    /// A list of revoked certificates.
    Revocations,
}

impl fmt::Display for PemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "certificate",
            Self::Key => "private key",
            Self::Revocations => "list of revoked certificates",
        })
    }
}

impl PemKind {
    /// The end of the first line of such a section.
    const fn label(self) -> &'static str {
        match self {
            Self::Certificate => "CERTIFICATE",
            Self::Key => "PRIVATE KEY",
            Self::Revocations => "X509 CRL",
        }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                write!(f, "{}: cannot be read: {error}; choose a directory with a {file} in it", path.display())
            }
            Self::Missing(path, kind) => write!(
                f,
                "{}: has no {kind} in it; write it in PEM, e.g. with a first line `-----BEGIN {}-----`",
                path.display(),
                kind.label()
            ),
            Self::Malformed(path, kind) => {
                write!(f, "{}: the {kind} is damaged; write it again, in PEM", path.display())
            }
            Self::Refused(path, error) => {
                write!(f, "{}: TLS does not take it: {error}; choose e.g. an ECDSA key and X.509 v3", path.display())
            }
            Self::OtherKey(path) => write!(
                f,
                "{}: is not the key of the certificate in {CERTIFICATE}; choose the key with which that was made",
                path.display()
            ),
        }
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// Reads a server's files from a directory: `server-cert.pem` and `server-key.pem`, and to verify clients `ca-cert.pem`
    /// and, if it is there, `ca-crl.pem`.
    ///
    /// # Errors
    /// If a file cannot be read, or does not have the content that belongs there.
    pub fn load(directory: &Path, verifies_clients: bool) -> Result<Self, TlsError> {
        let certificate = directory.join(CERTIFICATE);
        let chain = all::<CertificateDer<'static>>(&certificate, &read(&certificate)?, PemKind::Certificate)?;
        let key_path = directory.join(KEY);
        let key = all::<PrivateKeyDer<'static>>(&key_path, &read(&key_path)?, PemKind::Key)?;
        let key = key.into_iter().next().ok_or_else(|| TlsError::Missing(key_path.clone(), PemKind::Key))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Refused(certificate.clone(), error))?;
        let config = match verifies_clients {
            false => config.with_no_client_auth(),
            true => config.with_client_cert_verifier(verifier(directory)?),
        };
        let config = config.with_single_cert(chain, key).map_err(|error| match error {
            Error::InconsistentKeys(_) => TlsError::OtherKey(key_path),
            Error::InvalidCertificate(_) => TlsError::Refused(certificate, error),
            error => TlsError::Refused(key_path, error),
        })?;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), verifies_clients })
    }

    /// True if clients need a certificate.
    #[must_use]
    pub const fn verifies_clients(&self) -> bool {
        self.verifies_clients
    }
}

fn verifier(directory: &Path) -> Result<Arc<dyn tokio_rustls::rustls::server::danger::ClientCertVerifier>, TlsError> {
    let path = directory.join(AUTHORITY);
    let refused = |error| TlsError::Refused(path.clone(), error);
    let mut roots = RootCertStore::empty();
    for authority in all::<CertificateDer<'static>>(&path, &read(&path)?, PemKind::Certificate)? {
        roots.add(authority).map_err(refused)?;
    }
    let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(ring::default_provider()));
    let path = directory.join(REVOKED);
    match fs::read(&path) {
        Ok(pem) => {
            let lists = all::<CertificateRevocationListDer<'static>>(&path, &pem, PemKind::Revocations)?;
            // Intermediate authorities need no revocation list.
            verifier = verifier.with_crls(lists).allow_unknown_revocation_status();
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(TlsError::Unreadable(path, error)),
    }
    verifier.build().map_err(|error| TlsError::Refused(path, Error::General(error.to_string())))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::Unreadable(path.to_owned(), error))
}

/// All sections of one kind; an error without any.
fn all<T: PemObject>(path: &Path, pem: &[u8], kind: PemKind) -> Result<Vec<T>, TlsError> {
    let pieces: Result<Vec<T>, _> = T::pem_slice_iter(pem).collect();
    let pieces = pieces.map_err(|_| TlsError::Malformed(path.to_owned(), kind))?;
    if pieces.is_empty() {
        return Err(TlsError::Missing(path.to_owned(), kind));
    }
    Ok(pieces)
}
