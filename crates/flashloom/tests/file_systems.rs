//! File systems of Linux on a served drive, through nbdfuse and a loop device. If a program or a permission is missing, a test
//! prints that it tested nothing.

use std::path::Path;
use std::process::Command;

use crate::common::WorkFolder;

/// True if all these programs are installed and devices can be created; otherwise prints the missing programs or
/// rights.
pub(crate) fn can_mount(programs: &[&str]) -> bool {
    let is_there = |program: &str| {
        std::env::split_paths("/usr/bin:/usr/sbin:/bin:/sbin").any(|folder| folder.join(program).exists())
    };
    let all = ["nbdfuse", "fusermount3", "losetup", "mount"].iter().chain(programs);
    let missing: Vec<_> = all.filter(|program| !is_there(program)).collect();
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let devices = ["/dev/fuse", "/dev/loop-control"].iter().all(|device| Path::new(device).exists());
    if !missing.is_empty() || !is_root || !devices {
        println!(
            "note: not tested without {missing:?}, root (now: {is_root}), /dev/fuse and loop devices (now: {devices})"
        );
    }
    missing.is_empty() && is_root && devices
}

/// Makes a file system, writes, checks it, reads in a second mount, removes half of the files, trims, and checks again.
const SCRIPT: &str = r#"
set -e
umask 077
mkdir fuse mnt
trap 'umount mnt 2> /dev/null || true; losetup -d $disk || true; umount fuse' EXIT
nbdfuse fuse/nbd "$uri" > nbdfuse.log 2>&1 &
until test -s fuse/nbd; do kill -0 $!; sleep 0.05; done
disk=$(losetup --find --show --direct-io=on fuse/nbd)
MKFS $disk > mkfs.log
mount $disk mnt
for n in $(seq 40); do head -c $((n * 40000)) random > mnt/$n; done
mkdir mnt/links && ln -s ../1 mnt/links/one && sync -f mnt
umount mnt
FSCK $disk > fsck.log 2>&1 || { cat fsck.log; exit 1; }
mount $disk mnt
for n in $(seq 40); do head -c $((n * 40000)) random | cmp - mnt/$n; done
test "$(readlink mnt/links/one)" = ../1
for n in $(seq 2 2 40); do rm mnt/$n; done
sync -f mnt
fstrim -v mnt | grep -q trimmed
for n in $(seq 1 2 39); do head -c $((n * 40000)) random | cmp - mnt/$n; done
umount mnt
FSCK $disk > fsck.log 2>&1 || { cat fsck.log; exit 1; }
"#;

fn keeps_its_files(mkfs: &'static str, fsck: &'static str) {
    let program = |line: &'static str| line.split(' ').next().unwrap_or_default();
    if !can_mount(&["fstrim", program(mkfs), program(fsck)]) {
        return;
    }
    let place = WorkFolder::with(&[("script.sh", &SCRIPT.replace("MKFS", mkfs).replace("FSCK", fsck))]);
    let random: Vec<u8> = (0..1_600_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    place.write("random", random);
    let output = place.flashloom(&["serve", "demo", "--pace", "max", "--run", "timeout 200 sh script.sh"]);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{mkfs}: {said:?}");
}

#[test]
fn ext4_keeps_its_files() {
    keeps_its_files("mkfs.ext4 -q", "e2fsck -fn");
}

#[test]
fn xfs_keeps_its_files() {
    keeps_its_files("mkfs.xfs -q", "xfs_repair -n");
}

#[test]
fn btrfs_keeps_its_files() {
    keeps_its_files("mkfs.btrfs -q", "btrfs check");
}
