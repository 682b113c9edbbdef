# A workload: $1 transactions of PostgreSQL with fsync=$2 on ext4, on the drive at the URI $3. It prints the number of each
# transaction whose commit has returned. Each adds a row and notes its number in another table.
uri=$3
. "${0%/*}/attach.sh"
mkdir "$dir/socket"
chown postgres "$mnt" "$dir/socket"
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
as_postgres "$bin/initdb" -D "$mnt/data" -A trust --no-locale -E UTF8 --wal-segsize=1 --no-sync > /dev/null
{
    echo "fsync = $2"
    echo "listen_addresses = ''"
    echo "unix_socket_directories = '$dir/socket'"
    echo 'min_wal_size = 2MB'
    echo 'max_wal_size = 4MB'
    echo 'shared_buffers = 1MB'
    echo 'wal_writer_delay = 10ms'
    echo 'autovacuum = off'
} >> "$mnt/data/postgresql.conf"
sync -f "$mnt"
as_postgres "$bin/pg_ctl" -D "$mnt/data" -w -l "$mnt/data/log" start > /dev/null
sql="psql -qAt -h $dir/socket -U postgres -d template1"
$sql -c 'create table t(n integer primary key, x text); create table newest(n integer); insert into newest values (0)'
for n in $(seq "$1"); do
    echo "begin; insert into t values ($n, repeat('$n', 300)); update newest set n = $n; commit; select $n;"
    if [ $((n % 50)) = 0 ]; then echo 'checkpoint;'; fi
    # The drive works between the commits, too, whether PostgreSQL waits for it or not.
    if [ $((n % 10)) = 0 ]; then echo "\\! dd if=/dev/zero of=$mnt/busy bs=64k count=8 oflag=direct conv=notrunc status=none"; fi
done | $sql
as_postgres "$bin/pg_ctl" -D "$mnt/data" -w -m fast stop > /dev/null
# What nobody synchronised is written now: a database, too, if PostgreSQL has not waited for the drive.
seq 1000000 | head -c 6000000 > "$mnt/careless"
