//! PostgreSQL on a served drive: under pgbench, and with power cuts. If a program or a permission is missing, a test
//! prints that it tested nothing.

use crate::common::WorkFolder;
use crate::file_systems::can_mount;
use crate::shown::root;

/// True if PostgreSQL is installed.
fn is_there() -> bool {
    let found = std::fs::read_dir("/usr/lib/postgresql").is_ok_and(|mut versions| versions.next().is_some());
    if !found {
        println!("note: no PostgreSQL in /usr/lib/postgresql, and so served drives are not tested with it");
    }
    found && can_mount(&["mkfs.ext4", "e2fsck", "setpriv"])
}

/// Runs a database on ext4 on the drive with four clients, and checks its indexes, its sums and the file system.
const PGBENCH: &str = r#"
set -e
umask 022
# PostgreSQL, which is not root, has to get there.
chmod 711 . ..
mkdir fuse mnt socket
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
leave() {
    as_postgres "$bin/pg_ctl" -D mnt/data -m immediate stop > /dev/null 2>&1 || true
    umount mnt 2> /dev/null || true
    losetup -d $disk || true
    umount fuse
}
trap leave EXIT
nbdfuse fuse/nbd "$uri" > nbdfuse.log 2>&1 &
until test -s fuse/nbd; do kill -0 $!; sleep 0.05; done
disk=$(losetup --find --show --direct-io=on fuse/nbd)
mkfs.ext4 -q $disk
mount -o discard $disk mnt
chown postgres mnt socket
as_postgres "$bin/initdb" -D mnt/data -A trust --no-locale -E UTF8 --wal-segsize=1 -k --no-sync > /dev/null
server() { as_postgres "$bin/pg_ctl" -D mnt/data -w -l mnt/data/log -o "-c listen_addresses= -c unix_socket_directories=$PWD/socket \
    -c shared_buffers=1MB -c max_wal_size=4MB -c min_wal_size=2MB" "$@" > /dev/null; }
server start
at="-h $PWD/socket -U postgres"
"$bin/pgbench" $at -i -s 1 -q template1 > pgbench.log 2>&1
"$bin/pgbench" $at -c 4 -t 50 template1 >> pgbench.log 2>&1
grep -q 'transactions actually processed: 200/200' pgbench.log
server -m fast stop
umount mnt
e2fsck -fn $disk > fsck.log 2>&1 || { cat fsck.log; exit 1; }
mount -o discard $disk mnt
as_postgres "$bin/pg_checksums" --check -D mnt/data > sums.log
server start
same=$("$bin/psql" $at -qAt template1 -c 'select (select count(*) from pgbench_history) = 200
    and (select sum(delta) from pgbench_history) = (select sum(abalance) from pgbench_accounts)
    and (select sum(delta) from pgbench_history) = (select sum(bbalance) from pgbench_branches)')
test "$same" = t
"$bin/pg_amcheck" $at --install-missing --heapallindexed -t 'pgbench_*' template1
server -m fast stop
umount mnt
"#;

#[test]
fn pgbench_finds_all_that_it_committed() {
    if !is_there() {
        return;
    }
    let place = WorkFolder::with(&[("script.sh", PGBENCH)]);
    let output = place.flashloom(&["serve", "demo", "--pace", "max", "--verify", "--run", "timeout 200 sh script.sh"]);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{said:?} {}", place.read("pgbench.log"));
}

/// No acknowledged transaction is lost. Finding losses with `fsync = off` takes hundreds of cuts, which
/// `.ci/torture/run` does.
#[test]
fn postgres_on_ext4_keeps_what_it_committed() {
    if !is_there() {
        return;
    }
    let scripts = root().join(".ci/torture");
    let scripts = scripts.display();
    let place = WorkFolder::with(&[(
        "t.toml",
        &format!(
            r#"name = "PostgreSQL"
device = "demo"
check-limit = "120s"
points = {{ random = 8, most = 8 }}
run = "sh {scripts}/postgres.sh 60 on {{uri}}"
check = "sh {scripts}/postgres-check.sh {{image}} {{log}}"
"#
        ),
    )]);
    let output = place.flashloom(&["torture", "t.toml", "--json"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let result: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(result["cuts"], 8, "{result}");
    let moments = result["moments"].as_array().expect("a list");
    assert!(moments.iter().all(|of| of["promises_broken"] == 0 && of["checks_failed"] == 0), "{result}");
    assert_eq!(output.status.code(), Some(0), "{result}");
}
