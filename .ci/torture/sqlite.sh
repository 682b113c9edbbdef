# A workload: $1 transactions of SQLite on ext4, with journal_mode=$2 and synchronous=$3, on the drive at the URI $4. It prints the
# number of each transaction whose commit has returned. Each adds a row, removes the fortieth before it, and notes its number.
uri=$4
. "${0%/*}/attach.sh"
db=$mnt/db
sqlite3 "$db" "pragma journal_mode=$2; create table t(n integer primary key, x); create table newest(n); insert into newest values(0)" \
    > /dev/null
{
    printf '%s\n' '.once /dev/null' "pragma wal_autocheckpoint=60;" "pragma synchronous=$3;"
    for n in $(seq "$1"); do
        echo "begin; insert into t values($n, printf('%0700d', $n)); delete from t where n = $n - 40; update newest set n = $n; commit;"
        echo "select $n;"
    done
} | stdbuf -oL sqlite3 -bail "$db"
# What nobody synchronises is written now: a database, too, if SQLite has not waited for the drive.
seq 1000000 | head -c 6000000 > "$mnt/careless"
