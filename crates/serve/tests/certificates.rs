//! Certificates of an authority, made for a test, in the files that servers and clients read.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa, KeyIdMethod,
    KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A folder with `ca-cert.pem`, and the files of a server and of a client.
pub(crate) struct Certificates {
    folder: tempfile::TempDir,
    authority: CertifiedIssuer<'static, KeyPair>,
}

const MADE: &str = "it is made";

/// The number of the client's certificate.
const CLIENT: u64 = 7;

impl Certificates {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut params = CertificateParams::new(Vec::new()).expect(MADE);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "an authority of a test");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect(MADE)).expect(MADE);
        let certificates = Self { folder, authority };
        certificates.write("ca-cert.pem", certificates.authority.pem());
        certificates.issue("server", 1);
        certificates.issue("client", CLIENT);
        certificates
    }

    fn issue(&self, name: &str, number: u64) {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let mut params = CertificateParams::new(names).expect(MADE);
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(SerialNumber::from(number));
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().expect(MADE);
        self.write(&format!("{name}-cert.pem"), params.signed_by(&key, &self.authority).expect(MADE).pem());
        self.write(&format!("{name}-key.pem"), key.serialize_pem());
    }

    /// Revokes the client's certificate.
    pub(crate) fn revoke_client(&self) {
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(CLIENT),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        self.write("ca-crl.pem", list.signed_by(&self.authority).expect(MADE).pem().expect(MADE));
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.file(name), content).expect("written");
    }

    /// The configuration of a client with the certificate of `shows`; without one if `shows` is none.
    pub(crate) fn client(&self, shows: Option<&Self>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).expect("a certificate");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        Arc::new(match shows {
            None => config.with_no_client_auth(),
            Some(of) => {
                let certificate = CertificateDer::from_pem_file(of.file("client-cert.pem")).expect("a certificate");
                let key = PrivateKeyDer::from_pem_file(of.file("client-key.pem")).expect("a key");
                config.with_client_auth_cert(vec![certificate], key).expect("its key")
            }
        })
    }
}

/// The client's end of TLS on a socket.
pub(crate) type TlsClient<S> = StreamOwned<ClientConnection, S>;

/// Sends a plain request for TLS, after the greeting.
pub(crate) fn ask_for_tls(socket: &mut (impl Read + Write)) -> io::Result<()> {
    let mut greeting = [0; 18];
    socket.read_exact(&mut greeting)?;
    socket.write_all(&[0, 0, 0, 3])?;
    socket.write_all(&[&b"IHAVEOPT"[..], &[0, 0, 0, 5, 0, 0, 0, 0]].concat())?;
    let mut answer = [0; 20];
    socket.read_exact(&mut answer)?;
    assert_eq!(answer[8..], [0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0]);
    Ok(())
}

/// Begins TLS on a connection on which the client has sent nothing.
pub(crate) fn secure<S: Read + Write>(mut socket: S, config: &Arc<ClientConfig>) -> io::Result<TlsClient<S>> {
    ask_for_tls(&mut socket)?;
    let name = "localhost".try_into().expect("a name");
    let mut tls = ClientConnection::new(Arc::clone(config), name).expect("a client");
    while tls.is_handshaking() {
        tls.complete_io(&mut socket)?;
    }
    Ok(StreamOwned::new(tls, socket))
}
