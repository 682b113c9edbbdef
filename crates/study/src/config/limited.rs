//! Reads descriptions up to a maximum size.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The maximum size of a description in bytes: a thousand times the largest built-in one.
const MOST: u64 = 4 << 20;

/// Reads a whole file. A larger file, or one without end such as a device, is refused after the limit.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        let message = "it is larger than 4MiB, the limit of .toml and .fio files; a trace has another ending";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_larger_than_4_mib_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("d.toml");
        std::fs::write(&path, vec![b'#'; MOST as usize]).expect("written");
        assert_eq!(read(&path).expect("it may be so large").len() as u64, MOST);
        std::fs::write(&path, vec![b'#'; MOST as usize + 1]).expect("written");
        let error = read(&path).expect_err("too large").to_string();
        assert!(error.contains("larger than 4MiB"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn an_endless_file_is_refused() {
        assert!(read(Path::new("/dev/zero")).expect_err("endless").to_string().contains("larger than 4MiB"));
    }
}
