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
# Needs root, /dev/fuse, loop devices, and on Debian 12:
#   apt-get install nbdkit libnbd-bin fuse3 e2fsprogs python3 git sqlite3 postgresql-15
# and a Rust toolchain with this workspace's dependencies already downloaded (`cargo fetch`).
set -euo pipefail

out=$(realpath -m "${1:?usage: record.sh OUTPUT.parquet [SIZE]}")
size=${2:-2G}
memory=${MEMORY:-402653184}
here=$(cd "$(dirname "$0")" && pwd)
repository=$(git -C "$here" rev-parse --show-toplevel)
pg=/usr/lib/postgresql/15/bin

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

phase git
git_work() {
    cd "$disk"
    export GIT_AUTHOR_NAME=r GIT_AUTHOR_EMAIL=r@example.org GIT_COMMITTER_NAME=r GIT_COMMITTER_EMAIL=r@example.org
    git init -q headers
    cp -r /usr/include/. headers/
    git -C headers add -A
    git -C headers commit -q -m "all headers"
    git -C headers checkout -q -b less
    git -C headers rm -r -q linux
    git -C headers commit -q -m "without linux"
    git -C headers checkout -q -
    git clone -q --no-local headers clone
    git -C clone gc -q
}
small git_work
phase git-cold
git_read() {
    cd "$disk/clone"
    git status --short
    git fsck --no-progress
    git log --stat | tail -1
    git grep -c INTERRUPT | tail -1
}
small git_read

phase sqlite
sqlite_write() {
    python3 - <<'SQL' | sqlite3 "$disk/log.db" >/dev/null
import random
rng = random.Random(1)
print("pragma journal_mode=wal; pragma synchronous=full;")
print("create table event(id integer primary key, at integer, who integer, what text);")
print("create index who on event(who);")
for i in range(3000):
    print(f"insert into event values({i},{i * 60},{rng.randrange(500)},'{rng.randbytes(rng.randrange(20, 200)).hex()}');")
print("begin;")
for i in range(3000, 60000):
    print(f"insert into event values({i},{i * 60},{rng.randrange(500)},'{rng.randbytes(rng.randrange(20, 200)).hex()}');")
print("commit;")
for i in range(800):
    print(f"update event set what='{rng.randbytes(100).hex()}' where id={rng.randrange(60000)};")
print("delete from event where who < 50; vacuum;")
SQL
}
small sqlite_write
phase sqlite-cold
sqlite_read() {
    for who in $(seq 60 7 490); do
        echo "select count(*), max(length(what)), sum(at) from event where who=$who;"
    done | sqlite3 "$disk/log.db" | tail -1
}
small sqlite_read

phase cargo
cargo_build() {
    cd "$disk"
    git clone -q --no-local "$repository" flashloom
    cd flashloom
    CARGO_TARGET_DIR=$disk/target CARGO_INCREMENTAL=1 cargo build -q --offline -j 1 -p flashloom-flash
    echo "// a change" >>crates/flash/src/lib.rs
    CARGO_TARGET_DIR=$disk/target CARGO_INCREMENTAL=1 cargo build -q --offline -j 1 -p flashloom-flash
}
small cargo_build

phase initdb
install -d -o postgres "$disk/pg"
as_postgres() { small setpriv --reuid=postgres --regid=postgres --init-groups env -C / "$@"; }
server() { as_postgres "$pg/pg_ctl" -D "$disk/pg" -s -w "$@"; }
as_postgres "$pg/initdb" -D "$disk/pg" -A trust >/dev/null
install -d -o postgres "$work/run"
cat >>"$disk/pg/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$work/run'
shared_buffers = 16MB
checkpoint_timeout = 30s
max_wal_size = 64MB
CONF
server -l "$disk/pg/log" start
as_postgres "$pg/createdb" -h "$work/run" bench
as_postgres "$pg/pgbench" -h "$work/run" -q -i -s 12 bench 2>&1 | tail -1
server stop
phase pgbench
server -l "$disk/pg/log" start
as_postgres "$pg/pgbench" -h "$work/run" -n -c 4 -j 2 -T 10 --random-seed=1 bench | grep tps
as_postgres "$pg/pgbench" -h "$work/run" -n -c 4 -j 2 -T 5 -S --random-seed=2 bench | grep tps
server stop
phase pgbench-rate
server -l "$disk/pg/log" start
as_postgres "$pg/pgbench" -h "$work/run" -n -c 4 -j 2 -T 40 -R 120 --random-seed=3 bench | grep tps
server stop

phase delete
rm -rf "$disk/clone" "$disk/target"
sync
fstrim "$disk"
umount "$disk"
e2fsck -fn "$loop" | tail -1

python3 "$here/convert.py" "$log" "$phases" >"$work/trace"
python3 "$here/convert.py" --summary <"$work/trace"
cargo run -q --release --manifest-path "$repository/Cargo.toml" -p flashloom -- trace convert --format blkparse "$work/trace" "$out"
ls -l "$out"
