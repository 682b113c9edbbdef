//! An interruption leaves nothing half written.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

/// A run that would take minutes, interrupted once it has begun to write.
#[test]
#[allow(clippy::disallowed_methods)] // The test waits for another process.
fn an_interrupted_run_removes_what_it_began() {
    let dir = tempfile::tempdir().expect("a directory");
    let names = || std::fs::read_dir(dir.path()).expect("a directory").count();
    let mut child = Command::new(env!("CARGO_BIN_EXE_flashloom"))
        .args(["run", "demo", "random-write-4k", "--precondition", "random:x100"])
        .args(["--out", "out", "--requests", "log", "--save-snapshot", "state"])
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    for _ in 0..600 {
        if names() == 3 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(names(), 3, "it has not begun");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(names(), 0);
}
