# The check of sqlite.sh for the image $1 and the log $2: ext4 has no fault behind its journal, the database is whole, every
# acknowledged transaction is in it, and each of them wholly.
image=$1 log=$2
. "${0%/*}/ext4-image.sh"
printf 'dump db db\ndump db-wal db-wal\ndump db-journal db-journal\n' > commands
debugfs -f commands "$image" > /dev/null 2>&1
for file in db-wal db-journal; do test -s $file || rm -f $file; done
test "$(sqlite3 db "pragma integrity_check; select newest.n >= $acknowledged and count(*) = min(newest.n, 40)
    and max(t.n) = newest.n and max(t.n) - min(t.n) = count(*) - 1 and min(x = printf('%0700d', t.n)) from t, newest")" = 'ok
1'
