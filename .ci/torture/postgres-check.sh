# The check of postgres.sh for the image $1 and the log $2: ext4 has no fault behind its journal, PostgreSQL recovers, its indexes agree
# with its tables, every acknowledged transaction is there, and each of them wholly.
image=$1 log=$2
. "${0%/*}/ext4-image.sh"
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
mkdir mnt socket
chown postgres socket
# PostgreSQL, which is not root, has to get there.
chmod 711 . .. ../..
mount -o loop "$image" mnt
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
leave() {
    as_postgres "$bin/pg_ctl" -D mnt/data -m immediate stop > /dev/null 2>&1 || true
    wait
    until umount mnt; do sleep 0.1; done
}
trap leave EXIT
rm -f mnt/data/postmaster.pid
as_postgres "$bin/postgres" -D mnt/data -c "unix_socket_directories=$PWD/socket" -c fsync=off > server.txt 2>&1 &
server=$!
sql="psql -qAt -h $PWD/socket -U postgres -d template1"
until $sql -c 'select 1' > /dev/null 2>&1; do
    kill -0 $server 2> /dev/null || { cat server.txt; exit 7; }
    sleep 0.05
done
found=$($sql -c "select n >= $acknowledged and n = (select count(*) from t) and n = (select max(t.n) from t)
    and (select bool_and(x = repeat(t.n::text, 300)) from t) from newest")
test "$found" = t || { echo "$found: $($sql -c 'select n, (select count(*) from t), (select max(t.n) from t) from newest')"; exit 6; }
as_postgres "$bin/pg_amcheck" -h "$PWD/socket" -U postgres -d template1 --install-missing --heapallindexed -t t -t newest
