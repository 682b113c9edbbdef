//! Bytes to send: small pieces are put together, so that one call sends them; data of large reads stay where they are.

/// Data of at least this many bytes stay a piece of their own and are not copied.
const OWN_PIECE: usize = 32 << 10;

/// The bytes that one end of a connection has to send.
#[derive(Debug, Default)]
pub struct Output {
    pieces: Vec<Vec<u8>>,
    /// True if the last piece is put together of small pieces.
    open: bool,
    bytes: usize,
}

impl Output {
    /// The number of bytes that wait to be sent.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes
    }

    /// True if nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Takes all waiting bytes, as pieces in the order in which they are to be sent.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        (self.open, self.bytes) = (false, 0);
        std::mem::take(&mut self.pieces)
    }

    pub(crate) fn push(&mut self, piece: Vec<u8>) {
        self.bytes += piece.len();
        match self.pieces.last_mut() {
            Some(last) if self.open && piece.len() < OWN_PIECE => last.extend(piece),
            _ => {
                self.open = piece.len() < OWN_PIECE;
                let mut first = piece;
                if self.open {
                    first.reserve(OWN_PIECE);
                }
                self.pieces.push(first);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OWN_PIECE, Output};

    #[test]
    fn small_pieces_are_put_together_and_large_ones_stay() {
        let mut output = Output::default();
        for length in [8, 24, OWN_PIECE, 24, 4] {
            output.push(vec![length as u8; length]);
        }
        assert_eq!(output.len(), 60 + OWN_PIECE);
        let lengths: Vec<_> = output.take().iter().map(Vec::len).collect();
        assert_eq!(lengths, [32, OWN_PIECE, 28]);
        assert!(output.is_empty() && output.take().is_empty());
    }
}
