#!/usr/bin/env bash
# Records what real software asks of a drive that makes it wait.
#
#   workloads/record/served.sh programs|rocksdb|image-pull|training OUTPUT.parquet
#
# How: `flashloom serve demo --record` serves a drive at its own speed; nbdfuse shows it as a file, a loop device with direct I/O shows the
# file as a disk; ext4 is mounted on it with `-o discard`; software runs on it. The recording has the requests that the kernel
# issued, at the simulated times at which they came. No data is recorded, only addresses.
#
# The software runs in a memory control group of MEMORY bytes, so that the page cache is as small as on a small machine and reads
# reach the disk. Between the phases the file system is mounted anew, which empties its cache. Each phase is a row of the table that is
# printed at the end.
#
# FLASHLOOM is the program (target/release/flashloom). It needs root, /dev/fuse, loop devices, and on Debian 12:
#   apt-get install libnbd-bin fuse3 e2fsprogs python3
#   programs:    what programs.sh needs
#   rocksdb:     rocksdb-tools (db_bench)
#   image-pull:  umoci skopeo
set -euo pipefail

kind=${1:-}
case $kind in
    programs | rocksdb | image-pull | training) ;;
    *) echo 'usage: served.sh programs|rocksdb|image-pull|training OUTPUT.parquet' >&2 && exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
flashloom=$(realpath "${FLASHLOOM:-$here/../../target/release/flashloom}")

if [ -z "${RECORDING:-}" ]; then
    out=$(realpath -m "${2:?usage: served.sh rocksdb|image-pull|training OUTPUT.parquet}")
    work=$(mktemp -d)
    trap 'rm -rf --one-file-system "$work"' EXIT
    export RECORDING=$work
    "$flashloom" serve demo --spin 50us --socket "$work/nbd" --control "$work/ctl" --record "$work/served.parquet" \
        --run "exec bash '$here/served.sh' $kind"
    # Latencies are those of this drive; a workload has none.
    "$flashloom" trace convert "$work/served.parquet" "$out"
    python3 "$here/phases.py" < "$work/phases"
    ls -l "$out"
    exit
fi

# From here on the drive is served, at $uri.
work=$RECORDING
memory=${MEMORY:-402653184}
disk=$work/disk
group=/sys/fs/cgroup/memory/record.$$
loop=
mkdir "$work/nbdfuse" "$disk"
finish() {
    set +e
    unmount 2> /dev/null
    [ -n "$loop" ] && losetup -d "$loop"
    mountpoint -q "$work/nbdfuse" && fusermount3 -u "$work/nbdfuse"
    rmdir "$group" 2> /dev/null
}
trap finish EXIT

# The store of container images leaves mounts of its own.
unmount() {
    for inner in $(awk -v below="$disk/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r); do umount "$inner"; done
    umount "$disk"
}

# A phase begins: note what the drive has done so far, and start with an empty cache.
phase() {
    if mountpoint -q "$disk"; then unmount; fi
    echo "$1 $("$flashloom" ctl "$work/ctl" status --json | tr -d '\n')" >> "$work/phases"
    if [ "$1" = end ]; then return; fi
    echo "== $1"
    if [ "$1" != mkfs ]; then mount -o discard "$loop" "$disk"; fi
}

# Runs a command in the small memory, or in the whole one where there is no such control group.
small() {
    (
        if [ -d "$group" ]; then echo "$BASHPID" > "$group/tasks"; fi
        "$@"
    )
}

nbdfuse -P "$work/nbdfuse.pid" "$work/nbdfuse/nbd" "$uri" &
until test -s "$work/nbdfuse/nbd"; do
    kill -0 $!
    sleep 0.1
done
loop=$(losetup --find --show --direct-io=on "$work/nbdfuse/nbd")
if mkdir "$group" 2> /dev/null; then echo "$memory" > "$group/memory.limit_in_bytes"; fi
phase mkfs
mkfs.ext4 -q "$loop"

rocksdb() {
    bench() {
        small db_bench --db="$disk/db" --seed=1 --key_size=16 --value_size=400 --num=400000 --compression_type=none \
            --write_buffer_size=8388608 --target_file_size_base=8388608 --max_bytes_for_level_base=33554432 \
            --cache_size=16777216 "$@" 2> /dev/null | grep ' : '
    }
    phase load
    bench --benchmarks=fillrandom
    phase commits
    bench --benchmarks=overwrite --use_existing_db=1 --sync=1 --threads=4 --writes=1000
    phase reads
    bench --benchmarks=readrandom --use_existing_db=1 --threads=2 --reads=4000
    phase mixed
    bench --benchmarks=readwhilewriting --use_existing_db=1 --threads=3 --duration=10 --benchmark_write_rate_limit=2000000
    phase scans
    bench --benchmarks=seekrandom --use_existing_db=1 --seek_nexts=100 --reads=300
    phase compaction
    bench --benchmarks=compact --use_existing_db=1
}

# What a pull does (of Podman, Buildah, CRI-O): it keeps each layer as a file, checks it, and unpacks it into its store. The layers come
# from a directory of this machine, so that the network is left out. A start reads every fifth file.
image_pull() {
    local image=$work/image store
    umoci init --layout "$image" > /dev/null
    umoci new --image "$image:base" > /dev/null
    for folder in /usr/lib/python3 /usr/share/perl; do umoci insert --image "$image:base" "$folder" "$folder" > /dev/null; done
    umoci insert --image "$image:base" --tag app /usr/include /usr/include > /dev/null
    store="containers-storage:[overlay@$disk/store+$work/run]"
    pull() {
        mkdir -p "$disk/tmp"
        small skopeo --tmpdir "$disk/tmp" copy --quiet "oci:$image:$1" "${store}localhost/$1:latest"
    }
    phase pull
    pull base
    phase pull-layer
    pull app
    phase start
    small sh -c "find '$disk'/store/overlay/*/diff -type f | sort | awk 'NR % 5 == 0' | tr '\n' '\0' | xargs -0 cat | wc -c"
    phase remove
    for name in app base; do small skopeo delete "${store}localhost/$name:latest"; done
    sync
    fstrim "$disk"
}

training() {
    train() { small python3 "$here/training.py" "$disk/data" "$@"; }
    phase data
    train write
    for epoch in 1 2 3; do
        phase "epoch-$epoch"
        train read "$epoch"
        phase "checkpoint-$epoch"
        train checkpoint
    done
}

programs() {
    repository=$(git -C "$here" rev-parse --show-toplevel)
    # PostgreSQL, which is not root, has to get there.
    chmod 711 "$work"
    . "$here/programs.sh"
}

"${kind//-/_}"
phase check
unmount
e2fsck -fn "$loop" | tail -n 1
# Whatever these ask of the drive is a part of the check.
losetup -d "$loop"
loop=
fusermount3 -u "$work/nbdfuse"
wait
phase end
