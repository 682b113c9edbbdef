//! Streams whose two directions go on independently within one task.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

pub(super) trait Socket: AsyncRead + AsyncWrite + Unpin + Send {
    /// The reading and the writing direction of the socket.
    fn halves(&mut self) -> (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send);
}

impl Socket for UnixStream {
    fn halves(&mut self) -> (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send) {
        self.split()
    }
}

impl Socket for TcpStream {
    fn halves(&mut self) -> (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send) {
        self.split()
    }
}

/// One direction of a stream whose directions share state, such as the state of TLS. Both belong to one task, so the
/// lock is always free.
pub(super) struct Half<'a, S>(pub(super) &'a Mutex<S>);

impl<S> Half<'_, S> {
    fn lock(&self) -> MutexGuard<'_, S> {
        // A panic ends the task, and the stream with it, so a poisoned lock does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Half<'_, S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Half<'_, S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_shutdown(context)
    }
}

/// Ends the writing direction, unless the client takes nothing for `stall`.
pub(super) async fn shut_down(mut writer: impl AsyncWrite + Unpin, stall: Duration) -> io::Result<()> {
    let shutdown = poll_fn(|context| Pin::new(&mut writer).poll_shutdown(context));
    timeout(stall, shutdown).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}
