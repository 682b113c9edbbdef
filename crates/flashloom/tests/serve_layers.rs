//! RAIDs and translations over zones as block devices: the command, its clients, and a drive that fails meanwhile.

use crate::common::schema::faults;
use crate::common::{WorkFolder, buffered};
use crate::serve::{Server, client, installed, reply, request};

/// The arguments that make a RAID of the small drive.
const RAID: [&str; 10] = [
    "--set",
    "raid.level=raid5",
    "--set",
    "raid.drives=4",
    "--set",
    "raid.spares=1",
    "--set",
    "raid.chunk=16KiB",
    "--pace",
    "max",
];
const TRANSLATION: [&str; 4] = ["--set", "translation.over-provisioning=40%", "--pace", "max"];

fn served(place: &WorkFolder, device: &str, more: &[&str]) -> Server {
    let all = [device, "--socket", "s", "--control", "c", "--verify"];
    Server::start(place, &[&all[..], more].concat())
}

#[test]
fn a_drive_of_a_served_raid_fails_and_nothing_that_clients_wrote_is_lost() {
    let place = WorkFolder::with(&[("d.toml", &buffered(""))]);
    let server = served(&place, "d.toml", &RAID);
    let mut stream = client(&place, "s", "");
    for n in 0..64_u8 {
        request(&mut stream, 1, u64::from(n) * 24_576, 24_576, &[n; 24_576]);
        reply(&mut stream, 0);
        if n == 20 {
            let said = place.printed(&["ctl", "c", "fail-drive", "1"]);
            assert_eq!(said, "drive 1 has failed; spare 4 takes its place and is rebuilt\n");
        }
    }
    request(&mut stream, 3, 0, 0, &[]);
    reply(&mut stream, 0);
    for n in 0..64_u8 {
        request(&mut stream, 0, u64::from(n) * 24_576, 24_576, &[]);
        assert_eq!(reply(&mut stream, 24_576), [n; 24_576]);
    }
    let status = place.json(&["ctl", "c", "status", "--json"]);
    let schema = place.json(&["schema", "status-result"]);
    assert_eq!(faults(&schema, &status), Vec::<String>::new());
    let raid = &status["raid"];
    assert_eq!(
        (&raid["level"], &raid["failed"], &raid["drives"][1]["state"]),
        (&"raid5".into(), &1.into(), &"failed".into())
    );
    let table = place.printed(&["ctl", "c", "status"]);
    assert!(table.contains("raid5 of 5 drives in all, 1 failed") && table.contains("\n1 failed"), "{table}");
    for (command, words) in [
        (&["fail-drive", "1"][..], "drive 1 has failed before; choose another one"),
        (&["fail-drive", "5"], "drive 5 is none of the 5 drives; use 0 to 4"),
        (&["fault", "read"], "the device has 5 drives; say which one with --drive, from 0 to 4"),
        (&["snapshot", "f"], "a snapshot holds one drive, and what [raid] knows of its drives is not kept"),
    ] {
        let refused = place.flashloom(&[&["ctl", "c"], command].concat());
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(words), "{command:?}: {said}");
    }
    assert_eq!(place.printed(&["ctl", "c", "fault", "read", "--drive", "2"]), "1 read of drive 2 will fail\n");
    let (code, said) = server.end("TERM");
    assert!(code == Some(0) && said.contains("verified 3072 sectors in 64 reads"), "{code:?}: {said}");
}

#[test]
fn what_was_flushed_through_a_served_translation_survives_power_cuts() {
    let place = WorkFolder::with(&[]);
    let server = served(&place, "demo-zones", &TRANSLATION);
    for round in 1..4_u8 {
        let mut stream = client(&place, "s", "");
        for n in 0..32_u64 {
            request(&mut stream, 1, n * 65_536 + 512, 8192, &[round; 8192]);
            reply(&mut stream, 0);
        }
        request(&mut stream, 3, 0, 0, &[]);
        reply(&mut stream, 0);
        place.printed(&["ctl", "c", "power-cut"]);
        place.printed(&["ctl", "c", "power-on"]);
        let mut stream = client(&place, "s", "");
        for n in 0..32_u64 {
            request(&mut stream, 0, n * 65_536, 16_384, &[]);
            let data = reply(&mut stream, 16_384);
            assert_eq!(data, [&[0; 512][..], &[round; 8192], &[0; 7680]].concat());
        }
    }
    let status = place.json(&["ctl", "c", "status", "--json"]);
    assert!(status["translation"]["write_amplification"].as_f64() >= Some(1.0), "{status}");
    assert_eq!((&status["power_cuts"], &status["verify"]["violations"]), (&3.into(), &0.into()));
    assert!(place.printed(&["ctl", "c", "status"]).contains("\ntranslation          write amplification 1."));
    let die = place.flashloom(&["ctl", "c", "fail-drive", "0"]);
    assert!(String::from_utf8_lossy(&die.stderr).contains("the device is no RAID"), "{die:?}");
    let (code, said) = server.end("TERM");
    assert!(code == Some(0) && said.contains("verified 3072 sectors in 96 reads"), "{code:?}: {said}");
}

/// Concurrent real clients with power cuts between them; for a RAID also a drive that fails under them.
const CLIENTS: &str = "set -e
    job() { fio --ioengine=nbd --uri=\"$uri\" --size=4M --iodepth=16 --minimal \"$@\" > fio.log; }
    ctl() { \"$flashloom\" ctl c \"$@\" > log; }
    job --name=a --rw=randwrite --bs=4k --fsync=64 --verify=crc32c --verify_fatal=1
    ctl power-cut; ctl power-on
    job --name=b --rw=randrw --bsrange=512-64k --blockalign=512 --norandommap --numjobs=2 --fsync=16
    ctl power-off; ctl power-on
    if [ \"$fails\" ]; then ctl fail-drive 2; fi
    job --name=c --rw=randrw --bs=4k --numjobs=2
    job --name=r --rw=read --bs=64k
    ctl status --json; cp log status.json";

#[test]
fn no_layer_is_accused_by_real_clients() {
    if !installed(&["fio"]) {
        return;
    }
    for (device, layer, fails) in [("d.toml", &RAID[..], "1"), ("demo-zones", &TRANSLATION, "")] {
        let place = WorkFolder::with(&[("d.toml", &buffered(""))]);
        let program = crate::common::program().get_program().to_owned();
        let all = ["serve", device, "--control", "c", "--verify", "--run", CLIENTS];
        let mut command = place.command(&[&all[..], layer].concat());
        let output = command.env("flashloom", program).env("fails", fails).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {said}");
        let status: serde_json::Value = serde_json::from_str(&place.read("status.json")).expect("JSON");
        let sectors = status["verify"]["sectors"].as_u64().expect("a number");
        assert!(sectors > 10_000 && status["verify"]["violations"] == 0, "{device}: {status}");
    }
}
