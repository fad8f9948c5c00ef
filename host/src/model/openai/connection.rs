//! The way to a provider: a TCP connection, TLS on it where the URL says so, HTTP/1.1 on that.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HeaderValue;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use tokio_util::task::AbortOnDropHandle;

/// Where requests go.
pub(super) struct Route {
    /// The host and, where it is not the usual one, the port.
    pub(super) authority: Authority,
    /// The same, as the header says it.
    pub(super) host: HeaderValue,
    /// What is asked there.
    pub(super) path: PathAndQuery,
    /// The host alone, as a name or an address.
    name: String,
    port: u16,
    tls: Option<Tls>,
}

struct Tls {
    connector: TlsConnector,
    server: ServerName<'static>,
}

/// A URL that leads nowhere, or a machine that trusts nobody.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RouteError {
    /// It is no URL.
    #[error("it is no URL")]
    Uri(#[from] hyper::http::uri::InvalidUri),
    /// It is another URL than one of a server.
    #[error("it is not of the form http://HOST/PATH or https://HOST/PATH")]
    Form,
    /// No certificate can be issued for its host.
    #[error("its host cannot have a certificate")]
    Host(#[from] InvalidDnsNameError),
    /// This machine has no certificates to check those of servers by.
    #[error(
        "no certificate authorities are found on this machine; install its `ca-certificates`, or set SSL_CERT_FILE"
    )]
    NoRoots,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

impl Route {
    /// The way to `path` below `base`, an http or https URL.
    pub(super) fn to(base: &str, path: &str) -> Result<Self, RouteError> {
        let uri: Uri = base.parse()?;
        let authority = uri.authority().ok_or(RouteError::Form)?.clone();
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(_) | None => return Err(RouteError::Form),
        };
        // A user and a password would go out with every request, a query would end in the middle.
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(RouteError::Form);
        }
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| RouteError::Form)?;
        let name = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let path = format!("{}{path}", uri.path().trim_end_matches('/')).parse()?;
        let tls = is_tls.then(|| Tls::to(&name)).transpose()?;
        Ok(Self { authority, host, path, name, port, tls })
    }

    /// Whether it does not leave this machine.
    pub(super) fn is_loopback(&self) -> bool {
        self.name.eq_ignore_ascii_case("localhost")
            || self.name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
    }

    /// Opens a connection of its own.
    pub(super) async fn connect(&self) -> io::Result<Connection> {
        let stream = TcpStream::connect((self.name.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => Connection::over(stream).await,
            Some(Tls { connector, server }) => {
                Connection::over(connector.connect(server.clone(), stream).await?).await
            }
        }
    }
}

impl Tls {
    fn to(host: &str) -> Result<Self, RouteError> {
        let server = ServerName::try_from(host.to_owned())?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(RouteError::NoRoots);
        }
        // Named, because there is one for the whole process otherwise, which is the embedder's.
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), server })
    }
}

/// An open connection. It is closed when this is dropped.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// Carries the bytes.
    _carrier: AbortOnDropHandle<()>,
}

impl Connection {
    async fn over<S>(stream: S) -> io::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, carried) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let carrier = tokio::spawn(async move {
            // Whoever reads the answer is told the same.
            if let Err(error) = carried.await {
                tracing::debug!(%error, "a connection to a model provider broke");
            }
        });
        Ok(Self { sender, _carrier: AbortOnDropHandle::new(carrier) })
    }

    /// Sends `request` and waits for the head of the answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        self.sender.send_request(request).await
    }
}
