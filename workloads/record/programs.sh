# The programs of a recording: git, SQLite, a compiler, PostgreSQL. Sourced by the scripts that have a disk, with ext4 mounted at
# $disk by `phase NAME`, which notes when it begins and empties the cache; `small` runs a command in little memory. $repository is this
# one, and $work a folder that is not on the disk.
#
# Needs on Debian 12: apt-get install git sqlite3 python3 postgresql-15, and a Rust toolchain with this workspace's dependencies
# already downloaded (`cargo fetch`).
pg=/usr/lib/postgresql/15/bin
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
