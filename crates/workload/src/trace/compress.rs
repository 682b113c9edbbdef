//! Compression, known by its first bytes and never by the name of the file.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// How a file is compressed.
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

    /// The name, and the command that tests such a file.
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

/// The plain bytes of `file`. Files of several members, as parallel compressors write them, are read whole.
pub(crate) fn open(mut file: File) -> io::Result<(Compression, Box<dyn Read + Send>)> {
    let mut magic = [0; 6];
    let mut got = 0;
    while got < magic.len() {
        match file.read(&mut magic[got..])? {
            0 => break,
            n => got += n,
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let compression = Compression::of(&magic[..got]);
    let plain: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(file))),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(BufReader::new(file))),
        Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(BufReader::new(file))),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(file)?),
    };
    Ok((compression, plain))
}
