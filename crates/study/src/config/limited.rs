//! Reading a description: never more than one can be, whatever the file is.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a description at most: a thousand times the largest that comes with Flashloom.
const MOST: u64 = 4 << 20;

/// Reads a file whole. Of a larger one, or one without an end such as a device, no more than the limit is read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        let message =
            "it has more than 4MiB, and a description has less; a trace has another ending than .toml or .fio";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The same for a text.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not a text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_a_description_can_be() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("d.toml");
        std::fs::write(&path, vec![b'#'; MOST as usize]).expect("written");
        assert_eq!(read(&path).expect("it may be so large").len() as u64, MOST);
        std::fs::write(&path, vec![b'#'; MOST as usize + 1]).expect("written");
        let error = read(&path).expect_err("too large").to_string();
        assert!(error.contains("more than 4MiB"), "{error}");
        std::fs::write(&path, [b'a', 0xFF]).expect("written");
        assert!(read_text(&path).expect_err("no text").to_string().contains("UTF-8"));
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_refused() {
        assert!(read(Path::new("/dev/zero")).expect_err("endless").to_string().contains("more than 4MiB"));
    }
}
