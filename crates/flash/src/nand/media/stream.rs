//! The write stream of a superblock: the kind of data for which it was opened.

/// The stream of writes for which a superblock was opened, as its first spare area records it: one of 16 for data of
/// the host, or one of 16 for copies of data whose original stays until its block is erased.
///
/// An FTL that does not separate data has one stream of each kind, [`Stream::HOST`] and [`Stream::COPIES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(u8);

/// The bit that is set for copies.
const COPIES: u8 = 1;
/// The stream's number is in the bits from here on. The bit below is always clear, because a snapshot keeps a block's
/// mode there.
const SHIFT: u32 = 2;

impl Stream {
    /// The number of streams for host data, and of streams for copies.
    pub const MOST: u8 = 16;

    /// The first stream of host data.
    pub const HOST: Self = Self::host(0);

    /// The first stream of copies.
    pub const COPIES: Self = Self::copies(0);

    /// A stream of host data.
    ///
    /// # Panics
    /// If the number is not below [`Stream::MOST`].
    #[must_use]
    #[inline]
    pub const fn host(number: u8) -> Self {
        assert!(number < Self::MOST, "host data have 16 streams");
        Self(number << SHIFT)
    }

    /// A stream of copies.
    ///
    /// # Panics
    /// If the number is not below [`Stream::MOST`].
    #[must_use]
    #[inline]
    pub const fn copies(number: u8) -> Self {
        assert!(number < Self::MOST, "copies have 16 streams");
        Self(number << SHIFT | COPIES)
    }

    /// True for a stream of host data, false for one of copies.
    #[must_use]
    #[inline]
    pub const fn is_host(self) -> bool {
        self.0 & COPIES == 0
    }

    /// The number of the stream among the streams of its kind.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u8 {
        self.0 >> SHIFT
    }

    /// The byte that a snapshot stores: less than 64, with bit 1 clear.
    #[must_use]
    #[inline]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The stream that [`Self::byte`] gives this byte; `None` if no stream has this byte.
    #[must_use]
    pub const fn of_byte(byte: u8) -> Option<Self> {
        if byte & !COPIES & !((Self::MOST - 1) << SHIFT) == 0 { Some(Self(byte)) } else { None }
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self::HOST
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_host() { "Host" } else { "Copies" };
        match self.number() {
            0 => f.write_str(kind),
            number => write!(f, "{kind}({number})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_has_a_byte_of_its_own_that_leads_back_to_it() {
        let mut bytes = std::collections::BTreeSet::new();
        for number in 0..Stream::MOST {
            for (stream, host) in [(Stream::host(number), true), (Stream::copies(number), false)] {
                assert_eq!((stream.number(), stream.is_host()), (number, host));
                assert_eq!(Stream::of_byte(stream.byte()), Some(stream));
                assert!(stream.byte() & 2 == 0 && bytes.insert(stream.byte()), "{stream:?}");
            }
        }
        let found = (0..=u8::MAX).filter(|byte| Stream::of_byte(*byte).is_some()).count();
        assert_eq!(found, bytes.len(), "no other byte is a stream");
    }

    #[test]
    fn the_two_streams_of_an_ftl_that_tells_nothing_apart_have_the_bytes_zero_and_one() {
        assert_eq!((Stream::HOST.byte(), Stream::COPIES.byte()), (0, 1));
        assert_eq!(
            (format!("{:?}", Stream::HOST), format!("{:?}", Stream::copies(3))),
            ("Host".into(), "Copies(3)".into())
        );
    }
}
