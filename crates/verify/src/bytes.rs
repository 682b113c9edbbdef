//! Numbers as bytes, with a checksum behind them.

use std::io::{self, ErrorKind, Read, Write};

use crc32fast::Hasher;

/// Writes numbers, and their checksum at the end.
pub(crate) struct NumberWriter<W> {
    to: W,
    sum: Hasher,
}

impl<W: Write> NumberWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, sum: Hasher::new() }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.to.write_all(bytes)
    }

    pub(crate) fn number(&mut self, number: u64) -> io::Result<()> {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn maybe(&mut self, number: Option<u64>) -> io::Result<()> {
        self.number(u64::from(number.is_some()))?;
        self.number(number.unwrap_or(0))
    }

    pub(crate) fn numbers(&mut self, numbers: &[u64]) -> io::Result<()> {
        self.number(numbers.len() as u64)?;
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.bytes(&bytes)
    }

    /// Ends with the checksum.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let sum = self.sum.finalize();
        self.to.write_all(&sum.to_le_bytes())?;
        Ok(self.to)
    }
}

/// Reads the numbers that [`NumberWriter`] wrote, and checks their checksum.
pub(crate) struct NumberReader<R> {
    from: R,
    sum: Hasher,
}

/// The error for content that does not have its checksum.
pub(crate) fn damaged() -> io::Error {
    ErrorKind::InvalidData.into()
}

impl<R: Read> NumberReader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, sum: Hasher::new() }
    }

    pub(crate) fn bytes(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.from.read_exact(bytes)?;
        self.sum.update(bytes);
        Ok(())
    }

    pub(crate) fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn maybe(&mut self) -> io::Result<Option<u64>> {
        let is = self.number()? != 0;
        let number = self.number()?;
        Ok(is.then_some(number))
    }

    /// Reads at most `most` numbers: damaged data must not ask for more memory than there is.
    pub(crate) fn numbers(&mut self, most: u64) -> io::Result<Vec<u64>> {
        let count = self.number()?;
        if count > most {
            return Err(damaged());
        }
        let mut bytes = vec![0; count as usize * 8];
        self.bytes(&mut bytes)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number)).collect())
    }

    /// Fails if the checksum does not match.
    pub(crate) fn finish(mut self) -> io::Result<R> {
        let mut sum = [0; 4];
        self.from.read_exact(&mut sum)?;
        if u32::from_le_bytes(sum) != self.sum.finalize() {
            return Err(damaged());
        }
        Ok(self.from)
    }
}
