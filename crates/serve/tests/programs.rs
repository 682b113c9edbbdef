//! Real clients: libnbd's, QEMU's and fio. Where one of them is missing, its test says that it tested nothing.

use std::path::Path;
use std::process::Command;

use base::engine::Rng;

use serve::server::{Listen, Server, Tls};

use crate::certificates::Certificates;
use crate::fixture::{RunningServer, export, patient};
use crate::memory::Memory;

const SIZE: usize = 8 << 20;

/// True if all of these programs are installed.
pub(crate) fn installed(programs: &[&str]) -> bool {
    let missing: Vec<_> =
        programs.iter().filter(|name| Command::new(name).arg("--version").output().is_err()).collect();
    for name in &missing {
        println!("note: no {name}, and so it is not tested as a client");
    }
    missing.is_empty()
}

/// The standard output of a program that must succeed.
#[track_caller]
pub(crate) fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {said}{errors}");
    said
}

/// Random bytes, partly zeros, which the programs treat in a special way.
fn image(seed: u64) -> Vec<u8> {
    let mut rng = Rng::stream(seed, "image");
    let mut bytes = Vec::with_capacity(SIZE);
    while bytes.len() < SIZE {
        let zeros = rng.chance(0.3);
        bytes.extend((0..8192).flat_map(|_| if zeros { 0 } else { rng.bits() }.to_le_bytes()));
    }
    bytes
}

#[test]
fn nbdinfo_reads_what_the_server_says() {
    if !installed(&["nbdinfo"]) {
        return;
    }
    let memory = Memory::new(SIZE, 1);
    let served = RunningServer::one(&memory, patient());
    let folder = Path::new(".");
    let json: serde_json::Value =
        serde_json::from_str(&run(folder, "nbdinfo", &["--json", &served.uri])).expect("JSON");
    assert_eq!((&json["protocol"], &json["structured"]), (&"newstyle-fixed".into(), &true.into()));
    let export = &json["exports"][0];
    for (key, value) in [
        ("export-size", SIZE),
        ("block_size_minimum", 512),
        ("block_size_preferred", 4096),
        ("block_size_maximum", 32 << 20),
    ] {
        assert_eq!(export[key], value, "{key}");
    }
    for key in
        ["can_flush", "can_fua", "can_trim", "can_zero", "can_cache", "can_multi_conn", "can_df", "can_fast_zero"]
    {
        assert_eq!(export[key], true, "{key}");
    }
    assert_eq!(export["is_read_only"], false);
    assert_eq!(export["contexts"], serde_json::json!(["base:allocation"]));
    assert!(run(folder, "nbdinfo", &["--list", &served.uri]).contains("a drive of a test"));
    let map = run(folder, "nbdinfo", &["--map", &served.uri]);
    assert_eq!(map.split_whitespace().collect::<Vec<_>>(), ["0", &SIZE.to_string(), "0", "data"]);
}

/// The programs find the certificate files by their usual names, and the scheme of the URI asks for TLS.
#[test]
fn nbdinfo_nbdcopy_and_qemu_img_come_through_tls() {
    if !installed(&["nbdinfo", "nbdcopy", "qemu-img"]) {
        return;
    }
    let (certificates, stranger) = (Certificates::new(), Certificates::new());
    let content = image(6);
    certificates.write("in", &content);
    let (memory, here) = (Memory::new(SIZE, 6), certificates.path());
    let load = |verifies| Tls::load(here, verifies).unwrap_or_else(|error| panic!("{error}"));
    let unix = RunningServer::secure(vec![export("", &memory)], patient(), load(true));
    let listen = Listen::Tcp("127.0.0.1:0".parse().expect("an address"));
    let server = Server::bind_tls(&listen, patient(), load(true)).expect("it listens");
    let (uri, stopper) = (server.uri(""), server.stopper());
    let exports = vec![export("", &memory)];
    let thread = std::thread::Builder::new().spawn(move || server.run(exports)).expect("a thread");
    let tcp = uri.replace("127.0.0.1", "localhost");
    assert!(tcp.starts_with("nbds://localhost:") && tcp.ends_with('/'), "{tcp}");
    let with = |of: &Certificates| format!("{tcp}?tls-certificates={}", of.path().display());
    let said = run(here, "nbdinfo", &[&with(&certificates)]);
    assert!(said.contains("newstyle-fixed with TLS"), "{said}");
    let refused = Command::new("nbdinfo").arg(with(&stranger)).output().expect("it starts");
    assert!(!refused.status.success());
    run(here, "nbdcopy", &["--flush", "in", &with(&certificates)]);
    assert!(memory.durable() == content);
    let by_unix = format!("{}&tls-certificates={}&tls-hostname=localhost", unix.uri, here.display());
    run(here, "nbdcopy", &[&by_unix, "out"]);
    assert!(std::fs::read(certificates.file("out")).expect("there") == content);

    let credentials = format!("tls-creds-x509,id=tls,endpoint=client,dir={}", here.display());
    let port = tcp.trim_end_matches('/').rsplit(':').next().expect("a port");
    let place = format!("driver=nbd,host=localhost,port={port},tls-creds=tls");
    let said = run(here, "qemu-img", &["info", "--object", &credentials, "--image-opts", &place]);
    assert!(said.contains("8 MiB"), "{said}");
    let plain = Command::new("qemu-img").args(["info", "--image-opts", &place.replace(",tls-creds=tls", "")]).output();
    assert!(!plain.expect("it starts").status.success());
    stopper.stop();
    thread.join().expect("it ends").expect("well");
}

#[test]
fn nbdcopy_copies_both_ways() {
    if !installed(&["nbdcopy"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let content = image(2);
    std::fs::write(folder.path().join("in"), &content).expect("written");
    for options in [&[][..], &["--connections=4"], &["--synchronous"], &["--request-size=32768"]] {
        let memory = Memory::new(SIZE, 2);
        let served = RunningServer::one(&memory, patient());
        let copy = |from: &str, to: &str| run(folder.path(), "nbdcopy", &[options, &["--flush", from, to]].concat());
        copy("in", &served.uri);
        assert!(memory.durable() == content, "{options:?}: what is flushed is the image");
        copy(&served.uri, "out");
        assert!(std::fs::read(folder.path().join("out")).expect("there") == content, "{options:?}");
        std::fs::remove_file(folder.path().join("out")).expect("removed");
    }
}

#[test]
fn qemu_io_reads_and_writes_all_kinds() {
    if !installed(&["qemu-io"]) {
        return;
    }
    let memory = Memory::new(SIZE, 3);
    let served = RunningServer::one(&memory, patient());
    let commands = [
        "write -P 0xab 4k 64k",
        "read -P 0xab 4k 64k",
        "write -f -P 0xcd 1M 512",
        "write -z 8k 4k",
        "write -z -u 16k 4k",
        "discard 32k 4k",
        "aio_write -P 0x11 2M 128k",
        "aio_write -P 0x22 3M 128k",
        "aio_flush",
        "flush",
        "read -P 0x11 2M 128k",
        "read -P 0x22 3M 128k",
        "read -P 0 8k 4k",
        "read -P 0 16k 4k",
        "map",
    ];
    let mut arguments = vec!["-f", "raw", &served.uri];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    let said = run(Path::new("."), "qemu-io", &arguments);
    assert!(!said.contains("failed") && !said.contains("rror"), "{said}");
    assert!(memory.durable()[1 << 20..][..512] == [0xcd; 512]);
}

#[test]
fn qemu_img_converts_compares_and_measures() {
    if !installed(&["qemu-img"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let content = image(4);
    std::fs::write(folder.path().join("in"), &content).expect("written");
    let memory = Memory::new(SIZE, 4);
    let served = RunningServer::one(&memory, patient());
    let qemu_img = |arguments: &[&str]| run(folder.path(), "qemu-img", arguments);
    qemu_img(&["convert", "-n", "-W", "-f", "raw", "-O", "raw", "in", &served.uri]);
    assert!(memory.bytes() == content);
    let same = qemu_img(&["compare", "-f", "raw", "-F", "raw", "in", &served.uri]);
    assert!(same.contains("identical"), "{same}");
    qemu_img(&["convert", "-f", "raw", "-O", "qcow2", &served.uri, "out.qcow2"]);
    let same = qemu_img(&["compare", "-f", "qcow2", "-F", "raw", "out.qcow2", &served.uri]);
    assert!(same.contains("identical"), "{same}");
    for pattern in [&["-w", "--pattern=7", "--flush-interval=64"][..], &[]] {
        let bench = ["bench", "-c", "2000", "-d", "32", "-s", "4096", "-f", "raw", "-t", "none"];
        let said = qemu_img(&[&bench[..], pattern, &[&served.uri]].concat());
        assert!(said.contains("Run completed"), "{said}");
    }
    assert!(memory.bytes()[..4096] == [7; 4096]);
}

/// The options of each run of fio.
const FIO: [&str; 6] =
    ["--name=t", "--ioengine=nbd", "--size=8M", "--iodepth=32", "--group_reporting", "--output-format=json"];

#[test]
fn fio_verifies_what_it_wrote_and_trims() {
    if !installed(&["fio"]) {
        return;
    }
    if !run(Path::new("."), "fio", &["--enghelp"]).contains("nbd") {
        println!("note: this fio has no engine nbd, and so it is not tested as a client");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let memory = Memory::new(SIZE, 5);
    let served = RunningServer::one(&memory, patient());
    let uri = format!("--uri={}", served.uri);
    let fio = |arguments: &[&str]| {
        let said = run(folder.path(), "fio", &[&FIO[..], &[&uri], arguments].concat());
        let json = said.find('{').map(|at| &said[at..]).expect("JSON");
        serde_json::from_str::<serde_json::Value>(json).expect("JSON")
    };
    let run = fio(&["--rw=randwrite", "--bs=4k", "--verify=crc32c", "--verify_fatal=1", "--fsync=64"]);
    assert_eq!((&run["jobs"][0]["error"], &run["jobs"][0]["read"]["total_ios"]), (&0.into(), &2048.into()));
    let run = fio(&["--rw=randrw", "--bsrange=512-128k", "--blockalign=512", "--verify=crc32c", "--verify_fatal=1"]);
    assert_eq!(run["jobs"][0]["error"], 0);
    let run = fio(&["--rw=randtrim", "--bs=8k"]);
    assert_eq!((&run["jobs"][0]["error"], &run["jobs"][0]["trim"]["total_ios"]), (&0.into(), &1024.into()));
}
