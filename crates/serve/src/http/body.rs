//! The body of an answer: a text, or a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

pub(super) enum Body {
    /// The whole text; none once it is taken.
    Whole(Option<Bytes>),
    /// Piece by piece.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body {
    pub(super) const fn whole(text: Bytes) -> Self {
        Self::Whole(Some(text))
    }

    pub(super) const fn stream(pieces: mpsc::Receiver<Bytes>) -> Self {
        Self::Stream(pieces)
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let piece = match self.get_mut() {
            Self::Whole(text) => Poll::Ready(text.take()),
            Self::Stream(pieces) => pieces.poll_recv(context),
        };
        piece.map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
