//! Reading and writing in pieces, with no more of tokio than its sockets.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;

/// The first result of two futures.
pub(crate) enum First<A, B> {
    Left(A),
    Right(B),
}

/// Waits for the first of two futures, and drops the other. If both are ready, the left one wins.
pub(crate) async fn race<A: Future, B: Future>(left: A, right: B) -> First<A::Output, B::Output> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|context| {
        if let Poll::Ready(output) = left.as_mut().poll(context) {
            return Poll::Ready(First::Left(output));
        }
        right.as_mut().poll(context).map(First::Right)
    })
    .await
}

/// Bytes of a client that are not processed yet.
pub(crate) struct Input {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Input {
    pub(crate) fn new() -> Self {
        /// Holds more than the longest option, and the payload of many small writes.
        const LENGTH: usize = 256 << 10;
        Self { buffer: vec![0; LENGTH].into(), start: 0, end: 0 }
    }

    pub(crate) fn waiting(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(crate) fn take(&mut self, count: usize) {
        self.start += count;
    }

    /// Reads more bytes; false at the end of the client's stream.
    pub(crate) async fn fill<R: AsyncRead + Unpin>(&mut self, reader: &mut R) -> io::Result<bool> {
        // The rest is short: the beginning of an option or of a request's head.
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        assert!(self.end < self.buffer.len(), "the protocol takes what fills the buffer");
        let room = &mut self.buffer[self.end..];
        let read = poll_fn(|context| {
            let mut room = ReadBuf::new(&mut *room);
            Pin::new(&mut *reader).poll_read(context, &mut room).map_ok(|()| room.filled().len())
        })
        .await?;
        self.end += read;
        Ok(read > 0)
    }
}

/// Writes all bytes; fails if the client takes no byte for the time limit.
pub(crate) async fn write_all<W: AsyncWrite + Unpin>(
    writer: &mut W,
    mut bytes: &[u8],
    stall: Duration,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let write = poll_fn(|context| Pin::new(&mut *writer).poll_write(context, bytes));
        let written = timeout(stall, write).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
    }
    // TLS buffers the end of the bytes that it has taken.
    let flush = poll_fn(|context| Pin::new(&mut *writer).poll_flush(context));
    timeout(stall, flush).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}
