//! Compression, detected by the first bytes and never by the file's name.

use std::io::{self, BufReader, Cursor, Read};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Compression {
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The name of the compression, and the command that tests such a file.
    pub(crate) const fn tool(self) -> (&'static str, &'static str) {
        match self {
            Self::None => ("plain", "ls -l"),
            Self::Gzip => ("gzip", "gzip -t"),
            Self::Bzip2 => ("bzip2", "bzip2 -t"),
            Self::Xz => ("xz", "xz -t"),
            Self::Zstd => ("zstd", "zstd -t"),
        }
    }
}

/// The decompressed bytes of `raw`. Files of several members, as parallel compressors write them, are read completely.
/// There is no seek, so `raw` may be a pipe.
pub(crate) fn open(mut raw: Box<dyn Read + Send>) -> io::Result<(Compression, Box<dyn Read + Send>)> {
    let mut magic = [0; 6];
    let mut got = 0;
    while got < magic.len() {
        match raw.read(&mut magic[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let compression = Compression::of(&magic[..got]);
    let whole = Cursor::new(magic[..got].to_vec()).chain(raw);
    let plain: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(whole))),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(BufReader::new(whole))),
        Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(BufReader::new(whole))),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(whole)?),
    };
    Ok((compression, plain))
}
