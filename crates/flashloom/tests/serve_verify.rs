//! Drives that are verified while they are served: real clients, power cuts, and the messages at the end of the
//! command.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::common::WorkFolder;
use crate::serve::{Server, client, installed, place, reply, request};

/// Serves a drive to clients that write, flush, cut its power, and read. Returns the exit code and the outputs.
fn cut(more: &[&str]) -> (Option<i32>, String, serde_json::Value, String) {
    let place = place();
    let all = ["d.toml", "--socket", "s", "--control", "c", "--verify", "--pace", "max"];
    let server = Server::start(&place, &[&all[..], more].concat());
    let mut stream = client(&place, "s", "");
    request(&mut stream, 1, 8192, 8192, &[0xab; 8192]);
    reply(&mut stream, 0);
    request(&mut stream, 3, 0, 0, &[]);
    reply(&mut stream, 0);
    place.printed(&["ctl", "c", "power-cut"]);
    place.printed(&["ctl", "c", "power-on"]);
    let mut stream = client(&place, "s", "");
    request(&mut stream, 0, 0, 32768, &[]);
    reply(&mut stream, 32768);
    let status = place.json(&["ctl", "c", "status", "--json"]);
    let table = place.printed(&["ctl", "c", "status"]);
    let (code, said) = server.end("TERM");
    (code, said, status, table)
}

#[test]
fn a_power_cut_of_an_honest_drive_loses_nothing_that_was_flushed() {
    let (code, said, status, table) = cut(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("small, simulated by Flashloom: verified 64 sectors in 1 reads\n"), "{said}");
    let of = &status["verify"];
    assert_eq!((&of["sectors"], &of["violations"], &of["unreadable"]), (&64.into(), &0.into(), &0.into()));
    assert!(table.contains("64 sectors in 1 reads"), "{table}");
}

#[test]
fn a_drive_that_ignores_flushes_is_found() {
    let (code, said, status, table) = cut(&["--set", "buffer.flush=\"ignore\""]);
    assert_eq!(code, Some(1), "{said}");
    let wanted = "violation: sectors 16 to 31 read as zeros at 0.";
    assert!(
        said.contains(wanted) && said.contains("after a power cut; expected data written at 0.000 s (durable)"),
        "{said}"
    );
    let wanted = "the drive broke its promises for 16 sectors: it ignores flushes";
    assert!(said.contains(wanted), "{said}");
    assert_eq!(status["verify"]["violations"], 16);
    assert!(table.contains("broken promises for 16 sectors") && table.contains("sectors 16 to 31 read"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn a_damaged_file_is_found() {
    let place = place();
    let server = Server::start(&place, &["d.toml", "--socket", "s", "--state", "d", "--verify", "--pace", "max"]);
    let mut stream = client(&place, "s", "");
    request(&mut stream, 1, 8192, 4096, &[0xab; 4096]);
    reply(&mut stream, 0);
    request(&mut stream, 3, 0, 0, &[]);
    reply(&mut stream, 0);
    let content = place.path("d/main.content");
    let bytes = std::fs::read(&content).expect("there");
    let at = bytes.windows(4096).position(|bytes| bytes == [0xab; 4096]).expect("it is stored");
    let file = File::options().write(true).open(&content).expect("there");
    file.write_all_at(&[0xac], at as u64 + 5).expect("written");
    let read = std::io::Write::write_all(
        &mut stream,
        &[&0x2560_9513_u32.to_be_bytes()[..], &[0; 4], &[7; 8], &8192_u64.to_be_bytes(), &4096_u32.to_be_bytes()]
            .concat(),
    );
    read.expect("sent");
    let mut head = [0; 16];
    std::io::Read::read_exact(&mut stream, &mut head).expect("a reply");
    assert_eq!(u32::from_be_bytes(head[4..8].try_into().expect("four bytes")), 5, "EIO");
    let (code, said) = server.end("INT");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("8 sectors cannot be read: the drive has lost what they held"), "{said}");
}

/// Kills a server and starts another server, which must know the acknowledged writes. Returns how the second server
/// ends.
fn killed(more: &[&str]) -> (Option<i32>, String) {
    let place = place();
    let all = [&["d.toml", "--socket", "s", "--state", "d", "--verify", "--pace", "max"], more].concat();
    let server = Server::start(&place, &all);
    let mut stream = client(&place, "s", "");
    request(&mut stream, 1, 8192, 8192, &[0xab; 8192]);
    reply(&mut stream, 0);
    request(&mut stream, 3, 0, 0, &[]);
    reply(&mut stream, 0);
    // This write is never flushed.
    request(&mut stream, 1, 0, 4096, &[0xcd; 4096]);
    reply(&mut stream, 0);
    assert_eq!(server.end("KILL").0, None);
    let server = Server::start(&place, &all);
    let mut stream = client(&place, "s", "");
    request(&mut stream, 0, 0, 32768, &[]);
    reply(&mut stream, 32768);
    let (code, said) = server.end("TERM");
    assert!(said.contains("verified "), "{said}");
    (code, said)
}

#[test]
fn what_a_killed_process_had_acknowledged_is_asked_of_the_next() {
    let (code, said) = killed(&[]);
    assert_eq!(code, Some(0), "{said}");
    // No sector had to be accepted without comparison.
    assert!(said.contains("verified 64 sectors in 1 reads\n"), "{said}");
    let (code, said) = killed(&["--set", "buffer.flush=\"ignore\""]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("violation: sectors 16 to 31 read as zeros at "), "{said}");
}

#[test]
fn a_verification_that_begins_anew_says_so() {
    const ANEW: &str = "note: d: nobody knows what this drive has acknowledged before";
    let place = place();
    let plain = ["d.toml", "--socket", "s", "--state", "d", "--pace", "max"];
    let served = |more: &[&str]| {
        let server = Server::start(&place, &[&plain[..], more].concat());
        let mut stream = client(&place, "s", "");
        request(&mut stream, 1, 0, 4096, &[1; 4096]);
        reply(&mut stream, 0);
        let (code, said) = server.end("TERM");
        assert_eq!(code, Some(0), "{said}");
        said
    };
    let verified = ["--verify"];
    assert!(!served(&verified).contains(ANEW), "a new drive");
    assert!(!served(&verified).contains(ANEW), "it goes on");
    assert!(!served(&[]).contains(ANEW), "nobody asks");
    assert!(served(&verified).contains(ANEW), "the process before did not verify");
    assert!(!served(&verified).contains(ANEW), "it goes on");
    let known = place.path("d/verify.known");
    let mut bytes = std::fs::read(&known).expect("it is kept");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&known, bytes).expect("written");
    assert!(served(&verified).contains(ANEW), "it is damaged");
}

/// Concurrent real clients with sixteen outstanding requests, and power cuts between them.
const CLIENTS: &str = "set -e
    job() { fio --ioengine=nbd --uri=\"$uri\" --size=4M --iodepth=16 --minimal \"$@\" > fio.log; }
    cut() { \"$flashloom\" ctl c power-cut > log; \"$flashloom\" ctl c power-on > log; }
    job --name=a --rw=randwrite --bs=4k --fsync=64 --verify=crc32c --verify_fatal=1
    cut
    job --name=b --rw=randrw --bsrange=512-64k --blockalign=512 --norandommap --numjobs=2 --fsync=16
    cut
    job --name=c --rw=randtrim --bs=8k
    cut
    job --name=r --rw=read --bs=64k
    job --name=d --rw=randwrite --bs=512 --norandommap --numjobs=2
    cut
    job --name=r --rw=read --bs=64k
    \"$flashloom\" ctl c status --json > status.json";

/// Verification finds no violation on drives of each paper under real clients.
#[test]
fn drives_of_every_paper_are_not_accused_by_real_clients() {
    if !installed(&["fio"]) {
        return;
    }
    for device in
        ["compare-dirik", "compare-sung", "compare-chang", "compare-hydra", "compare-fmmu", "mix-buffered-fast"]
    {
        let place = WorkFolder::with(&[]);
        let program = crate::common::program().get_program().to_owned();
        let mut command =
            place.command(&["serve", device, "--pace", "max", "--control", "c", "--verify", "--run", CLIENTS]);
        let output = command.env("flashloom", program).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {said}");
        let status: serde_json::Value = serde_json::from_str(&place.read("status.json")).expect("JSON");
        let sectors = status["verify"]["sectors"].as_u64().expect("a number");
        assert!(sectors > 10_000 && status["power_cuts"] == 4, "{device}: {status}");
    }
}
