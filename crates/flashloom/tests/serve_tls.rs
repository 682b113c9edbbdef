//! A drive served through TLS, and as a service, with the files that the guide shows.

use std::process::Command;

use crate::common::{WorkFolder, buffered, program};
use crate::serve::installed;
use crate::shown::MarkdownPage;
use crate::shown::blocks::FencedBlock;

/// The content of the file that the guide's page shows with this first line.
fn shown(first: &str) -> String {
    let starts = |block| match block {
        FencedBlock::Forms(text) if text.starts_with(first) => Some(text),
        _ => None,
    };
    let found = MarkdownPage::at("docs/src/block-device.md").blocks().into_iter().find_map(starts);
    found.unwrap_or_else(|| panic!("the page shows nothing that begins with `{first}`"))
}

#[test]
fn the_guides_certificates_serve_clients_that_have_them_and_no_others() {
    if !installed(&["nbdinfo", "qemu-img"]) {
        return;
    }
    if Command::new("openssl").arg("version").output().is_err() {
        println!("note: no openssl, and so the guide's certificates are not made");
        return;
    }
    let place = WorkFolder::with(&[("d.toml", &buffered("")), ("certificates.sh", &shown("set -e\n"))]);
    let made = Command::new("sh").arg("certificates.sh").current_dir(place.0.path()).output().expect("a shell");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // The certificates name the host. `!` begins a command that must fail; `set -e` ignores such commands.
    let script = "set -e
        case \"$uri\" in nbds://127.0.0.1:*) ;; *) exit 3 ;; esac
        port=${uri#nbds://127.0.0.1:}; port=${port%/}
        nbdinfo \"nbds://localhost:$port/?tls-certificates=$PWD\" | grep -q 'newstyle-fixed with TLS'
        qemu-img info --object tls-creds-x509,id=t,endpoint=client,dir=. \
            --image-opts driver=nbd,host=localhost,port=$port,tls-creds=t > info
        if nbdinfo \"nbd://localhost:$port\" 2> refused; then exit 4; fi
        mkdir bare && cp ca-cert.pem bare
        if nbdinfo \"nbds://localhost:$port/?tls-certificates=$PWD/bare\" 2> refused; then exit 5; fi";
    let secure = ["--tls-certificates", ".", "--tls-verify-peer", "--listen", "127.0.0.1:0"];
    let output = place.flashloom(&[&["serve", "d.toml", "--verbose", "--run", script], &secure[..]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("a connection has ended: the TLS handshake failed: "), "{said}");
}

#[test]
fn the_guides_service_is_sound() {
    let unit = shown("[Unit]\n");
    let line =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/flashloom ")).expect("a command");
    // The options are accepted, and the missing certificates are reported.
    let place = WorkFolder::with(&[]);
    let line = line.replace("${CREDENTIALS_DIRECTORY}", "none");
    let output = place.flashloom(&line.split_whitespace().collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--tls-certificates: none/server-cert.pem: cannot be read"), "{said}");
    if !installed(&["systemd-analyze"]) {
        return;
    }
    let path = program().get_program().to_string_lossy().into_owned();
    place.write("flashloom.service", unit.replace("/usr/local/bin/flashloom", &path));
    let verify = |place: &WorkFolder| {
        let mut analyze = Command::new("systemd-analyze");
        let output = analyze.args(["verify", "./flashloom.service"]).current_dir(place.0.path()).output();
        let output = output.expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.lines().filter(|line| line.contains("flashloom.service")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(verify(&place), [""; 0]);
    // `systemd-analyze` finds a misspelled key.
    place.write("flashloom.service", place.read("flashloom.service").replace("ProtectClock=", "ProtectClok="));
    assert_eq!(verify(&place).len(), 1);
}
