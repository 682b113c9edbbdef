#!/usr/bin/env bash
# Records what real programs ask of a disk.
#
#   workloads/record/record.sh OUTPUT.parquet [SIZE, default 2G]
#
# How: an NBD server keeps a disk in memory and logs every request (nbdkit, filters log); nbdfuse
# shows the disk as a file; a loop device with direct I/O shows the file as a block device; ext4 is
# made and mounted on it with `-o discard`; programs run; the log becomes a
# trace as blkparse prints it (convert.py), and that becomes Parquet (flashloom trace convert).
# Nothing below the file system is a model: the requests, their order, sizes and times are those the
# kernel issued. No data is recorded, only addresses.
#
# The programs run in a memory control group of MEMORY bytes, so that the page cache is as small as on
# a small machine and reads reach the disk. Between the phases the file system is mounted anew, which
# empties its cache.
#
# Needs root, /dev/fuse, loop devices, what programs.sh needs, and on Debian 12:
#   apt-get install nbdkit libnbd-bin fuse3 e2fsprogs python3
set -euo pipefail

out=$(realpath -m "${1:?usage: record.sh OUTPUT.parquet [SIZE]}")
size=${2:-2G}
memory=${MEMORY:-402653184}
here=$(cd "$(dirname "$0")" && pwd)
repository=$(git -C "$here" rev-parse --show-toplevel)

work=$(mktemp -d)
disk=$work/disk
log=$work/nbdkit.log
phases=$work/phases
group=/sys/fs/cgroup/memory/record.$$
loop=
mkdir "$work/nbd" "$disk"
chmod 755 "$work"

finish() {
    set +e
    mountpoint -q "$disk" && umount "$disk"
    [ -n "$loop" ] && losetup -d "$loop"
    mountpoint -q "$work/nbd" && fusermount3 -u "$work/nbd"
    [ -s "$work/nbdkit.pid" ] && kill "$(cat "$work/nbdkit.pid")"
    rmdir "$group" 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT

# A phase begins: note when, with an empty cache.
phase() {
    if mountpoint -q "$disk"; then
        umount "$disk"
    fi
    echo "$(date +%s.%N) $1" >>"$phases"
    echo "== $1"
    [ "$1" = mkfs ] || mount -o discard "$loop" "$disk"
}

# Run in the small memory. Falls back to the whole machine where there is no such control group.
small() {
    (
        [ -d "$group" ] && echo "$BASHPID" >"$group/tasks"
        "$@"
    )
}

TZ=UTC nbdkit --pidfile "$work/nbdkit.pid" --filter=log -U "$work/socket" memory "$size" logfile="$log"
nbdfuse -P "$work/nbdfuse.pid" "$work/nbd" "nbd+unix://?socket=$work/socket" &
for _ in $(seq 50); do
    [ -s "$work/nbdfuse.pid" ] && break
    sleep 0.1
done
loop=$(losetup --find --show --direct-io=on "$work/nbd/nbd")
if mkdir "$group" 2>/dev/null; then
    echo "$memory" >"$group/memory.limit_in_bytes"
fi

phase mkfs
mkfs.ext4 -q "$loop"

. "$here/programs.sh"
umount "$disk"
e2fsck -fn "$loop" | tail -1

python3 "$here/convert.py" "$log" "$phases" >"$work/trace"
python3 "$here/convert.py" --summary <"$work/trace"
cargo run -q --release --manifest-path "$repository/Cargo.toml" -p flashloom -- trace convert --format blkparse "$work/trace" "$out"
ls -l "$out"
