//! Tests of the rule for outputs.

use std::fs;

use testkit::names;

use super::*;

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Writes a page to a file; returns the notes about the previous file.
fn page(inputs: &[&Path], path: &Path, force: bool) -> Result<Vec<String>, OutputError> {
    let mut out = Outputs::new(inputs, force).file("--report", path, Kind::Page)?;
    out.fill(|out| out.write_all(PAGE.as_bytes()))?;
    publish(vec![out], None)
}

/// Writes a result with these files to a folder.
fn result(inputs: &[&Path], path: &Path, force: bool, files: &[&str]) -> Result<Vec<String>, OutputError> {
    let planned: Vec<String> = files.iter().map(|name| (*name).to_owned()).collect();
    let mut folder = Outputs::new(inputs, force).folder("--out", path, &planned)?;
    for name in files {
        let text = match *name {
            name if name.ends_with(".json") => "{\n  \"schema\": \"flashloom-result-3\"}\n",
            name if name.ends_with(".html") => PAGE,
            _ => TEXT,
        };
        folder.add(name, |out| out.write_all(text.as_bytes()))?;
    }
    publish(Vec::new(), Some(folder))
}

#[test]
fn only_an_output_of_flashloom_is_replaced() {
    let dir = dir();
    let path = dir.path().join("r.html");
    assert_eq!(page(&[], &path, false), Ok(Vec::new()));
    let notes = page(&[], &path, false).expect("replaced");
    assert_eq!(notes, [format!("{}: replaced a report page of an earlier run", path.display())]);
    for (text, reason) in [("dear diary", "Flashloom did not write it"), (TEXT, "is a table or a configuration")] {
        fs::write(&path, text).expect("written");
        let error = page(&[], &path, false).expect_err("not ours").to_string();
        assert!(error.contains(reason) && error.ends_with("replace it with --force"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("there"), text);
    }
    let notes = page(&[], &path, true).expect("replaced");
    assert!(notes[0].ends_with("replaced the file there, because of --force"), "{notes:?}");
    fs::write(&path, "").expect("written");
    assert_eq!(page(&[], &path, false), Ok(Vec::new()), "nothing is lost with an empty file");
    assert_eq!(names(dir.path()), ["r.html"]);
}

#[test]
fn a_file_that_appears_during_a_run_is_not_replaced() {
    let dir = dir();
    let path = dir.path().join("r.html");
    let mut out = Outputs::new([""; 0], false).file("--report", &path, Kind::Page).expect("writable");
    out.fill(|out| out.write_all(PAGE.as_bytes())).expect("written");
    fs::write(&path, "dear diary").expect("written");
    let error = publish(vec![out], None).expect_err("a foreign file").to_string();
    assert!(error.contains("Flashloom did not write it"), "{error}");
    assert_eq!((names(dir.path()), fs::read(&path).expect("there")), (vec!["r.html".into()], b"dear diary".into()));
}

#[test]
fn two_outputs_never_go_to_one_file() {
    let dir = dir();
    let [new, there] = ["new.html", "there.html"].map(|name| dir.path().join(name));
    fs::write(&there, PAGE).expect("written");
    let dotted = dir.path().join("./new.html");
    for (one, other) in [(&new, &new), (&new, &dotted), (&there, &there)] {
        let mut outputs = Outputs::new([""; 0], true);
        let _one = outputs.file("--report", one, Kind::Page).expect("writable");
        let error = outputs.file("--requests", other, Kind::Requests).expect_err("the same").to_string();
        assert!(
            error.contains(
                "--report and --requests write to the same path; give each option its own \
                                path"
            ),
            "{error}"
        );
    }
    let out = dir.path().join("out");
    fs::create_dir(&out).expect("created");
    for inside in ["report.html", "log"] {
        let mut outputs = Outputs::new([""; 0], true);
        let _out = outputs.folder("--out", &out, &["report.html".to_owned()]).expect("writable");
        let error = outputs.file("--report", &out.join(inside), Kind::Page).expect_err("inside").to_string();
        assert!(error.contains("--report would write into the directory of the result"), "{error}");
    }
    let twice = ["a.toml".to_owned(), "a.toml".to_owned()];
    let error = Outputs::new([""; 0], true).folder("--out", &out, &twice).expect_err("two of one name").to_string();
    assert!(error.contains("two studies have the same name"), "{error}");
}

#[test]
fn a_result_replaces_all_of_an_earlier_one_and_nothing_else() {
    let dir = dir();
    let out = dir.path().join("out");
    let first = ["a.toml", "study.json", "stage-1/report.html", "stage-2/report.html"];
    assert_eq!(result(&[], &out, false, &first), Ok(Vec::new()));
    fs::write(out.join("notes.md"), "mine").expect("written");
    fs::write(out.join("stage-2/notes.md"), "mine").expect("written");
    fs::write(out.join("mine.toml"), "a = 1").expect("written");
    let notes = result(&[], &out, false, &["report.html", "summary.json"]).expect("replaced");
    let listed = "a.toml, stage-1/report.html, stage-2/report.html, study.json";
    assert_eq!(notes, [format!("{}: replaced an earlier result ({listed})", out.display())]);
    assert_eq!(names(&out), ["mine.toml", "notes.md", "report.html", "stage-2", "summary.json"]);
    assert_eq!(names(&out.join("stage-2")), ["notes.md"]);

    let error = result(&[], &out, false, &["mine.toml", "study.json"]).expect_err("a foreign file").to_string();
    assert!(error.contains("out/mine.toml: exists, and Flashloom did not write it"), "{error}");
    let notes = result(&[], &out, true, &["mine.toml", "study.json"]).expect("forced");
    assert!(notes.len() == 2 && notes[1].contains("mine.toml: replaced the file there"), "{notes:?}");
    assert_eq!(names(&out), ["mine.toml", "notes.md", "stage-2", "study.json"]);
}

#[test]
fn a_foreign_folder_is_left_alone() {
    let dir = dir();
    fs::write(dir.path().join("diary"), "dear").expect("written");
    let error = result(&[], dir.path(), false, &["study.json"]).expect_err("not ours").to_string();
    assert!(error.contains("contains files that are not part of a result; choose another name"), "{error}");
    assert_eq!(result(&[], dir.path(), true, &["study.json"]), Ok(Vec::new()));
    assert_eq!(names(dir.path()), ["diary", "study.json"]);
}

#[test]
fn an_input_is_never_overwritten() {
    let dir = dir();
    let input = dir.path().join("m.toml");
    fs::write(&input, TEXT).expect("written");
    let linked = dir.path().join("hard");
    fs::hard_link(&input, &linked).expect("linked");
    for path in [&input, &linked, &dir.path().join("../").join(dir.path().file_name().expect("named")).join("m.toml")] {
        let error = page(&[&input], path, true).expect_err("an input").to_string();
        assert!(error.contains("is an input of this command"), "{error}");
    }
    let out = dir.path().join("out");
    fs::create_dir(&out).expect("created");
    for name in ["a.toml", "b.toml"] {
        fs::hard_link(&input, out.join(name)).expect("linked");
        // The inputs include a planned file and a file of an earlier result.
        let error = result(&[&input], &out, true, &["a.toml", "study.json"]).expect_err("an input").to_string();
        assert!(error.contains(name) && error.contains("is an input of this command"), "{error}");
        fs::remove_file(out.join(name)).expect("removed");
    }
    assert_eq!(fs::read_to_string(&input).expect("there"), TEXT);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_link_stays_and_its_target_is_replaced() {
        let dir = dir();
        let [real, link] = ["real.html", "link.html"].map(|name| dir.path().join(name));
        symlink(&real, &link).expect("linked");
        let error = page(&[], &link, true).expect_err("it leads nowhere").to_string();
        assert!(error.contains("is a link to a missing file"), "{error}");
        fs::write(&real, "mine").expect("written");
        assert!(page(&[], &link, false).is_err() && page(&[&real], &link, true).is_err());
        page(&[], &link, true).expect("replaced");
        assert!(link.is_symlink() && fs::read_to_string(&real).expect("there") == PAGE);
        let mut outputs = Outputs::new([""; 0], true);
        let _real = outputs.file("--report", &real, Kind::Page).expect("writable");
        assert!(outputs.file("--requests", &link, Kind::Requests).is_err(), "one file under two names");
    }

    #[test]
    fn devices_are_written_through_and_sockets_are_refused() {
        let null = Path::new("/dev/null");
        assert_eq!(page(&[], null, false), Ok(Vec::new()));
        assert_eq!(system::identity(null).ok(), system::identity(null).ok());
        assert!(!null.symlink_metadata().expect("there").is_file());
        let mut outputs = Outputs::new([null], false);
        let _one = outputs.file("--report", null, Kind::Page).expect("a device is no input");
        let _other = outputs.file("--requests", null, Kind::Requests).expect("and may be shared");
        let full = page(&[], Path::new("/dev/full"), false).expect_err("full").to_string();
        assert!(full.starts_with("/dev/full: cannot be written: ") && full.contains("free space"), "{full}");

        let dir = dir();
        let socket = dir.path().join("s");
        let _listening = UnixListener::bind(&socket).expect("bound");
        let error = page(&[], &socket, true).expect_err("refused").to_string();
        assert!(error.contains("is a socket; give the name of a file"), "{error}");
        assert!(result(&[], null, true, &[]).is_err());
    }

    #[test]
    fn a_protected_file_is_replaced_only_if_forced() {
        let dir = dir();
        let path = dir.path().join("r.html");
        page(&[], &path, false).expect("written");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o440)).expect("set");
        let error = page(&[], &path, false).expect_err("protected").to_string();
        assert!(error.contains("is write-protected; choose another name"), "{error}");
        page(&[], &path, true).expect("forced");
    }
}

#[test]
fn invalid_output_names_are_refused() {
    let dir = dir();
    let slash = format!("{}/r.html/", dir.path().display());
    for (path, wanted) in [
        ("", "--report: has an empty path"),
        ("/", "is a directory"),
        (".", "is a directory"),
        ("no/such/place", "no/such/place: cannot be written: "),
        (&slash, "ends with a slash, like a directory"),
    ] {
        let error = page(&[], Path::new(path), true).expect_err("refused").to_string();
        assert!(error.contains(wanted), "{error}");
    }
    assert!(names(dir.path()).is_empty());
}
