//! Messages about files that cannot be read.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// The reason that `path` cannot be read, and the remedy.
#[must_use]
pub fn unreadable(path: &Path, error: &Error) -> (String, String) {
    let (why, remedy) = match error.kind() {
        ErrorKind::NotFound => match std::fs::read_link(path) {
            Ok(to) => (
                format!("is a link to {}, where there is no file", to.display()),
                "point the link to a file, or give another name",
            ),
            Err(_) => ("there is no such file".to_owned(), "check its name"),
        },
        ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            "make it and its folders readable, e.g. with chmod +r, or run as a user with read permission",
        ),
        ErrorKind::IsADirectory => ("it is a directory".to_owned(), "name a file in it"),
        ErrorKind::NotADirectory => {
            ("a part of its path is a file, not a directory".to_owned(), "check the path before its name")
        }
        // `ErrorKind` has no stable variant for symbolic links in a circle.
        _ if path.symlink_metadata().is_ok_and(|data| data.is_symlink()) => {
            ("its symbolic links lead in a circle".to_owned(), "point one of the links to a file")
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename => {
            ("a file cannot have this name".to_owned(), "give a shorter name without zero bytes")
        }
        _ => (error.to_string(), "check the file and the disk it is on"),
    };
    (format!("cannot be read: {why}"), remedy.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_reason_has_its_own_remedy() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "x").expect("written");
        symlink(path("nowhere"), path("dangling")).expect("linked");
        symlink(path("b"), path("a")).expect("linked");
        symlink(path("a"), path("b")).expect("linked");
        let long = "n".repeat(5_000);
        for (name, wanted) in [
            ("none", "there is no such file; check its name"),
            ("dangling", "where there is no file; point the link"),
            ("a", "lead in a circle; point one"),
            (".", "it is a directory; name a file in it"),
            ("file/x", "a part of its path is a file, not a directory; check the path"),
            (&long, "a file cannot have this name; give a shorter name"),
        ] {
            let path = path(name);
            let error = fs::read(&path).expect_err("unreadable");
            let (message, remedy) = unreadable(&path, &error);
            let text = format!("{message}; {remedy}");
            assert!(text.starts_with("cannot be read: ") && text.contains(wanted), "{text}");
        }
        // A root user can read every file, so the error is constructed.
        let denied = unreadable(Path::new("x"), &Error::from(ErrorKind::PermissionDenied));
        assert!(denied.0.ends_with("permission denied") && denied.1.contains("chmod"), "{denied:?}");
    }
}
