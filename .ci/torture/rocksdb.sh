# A workload: $1 transactions of RocksDB, whose write-ahead log is synchronised for each of them if $2 is sync, on ext4 on the drive at
# the URI $3. It prints the number of each transaction whose commit has returned.
uri=$3
. "${0%/*}/attach.sh"
"${PYTHON:-python3}" "${0%/*}/rocksdb.py" write "$mnt/db" "$1" "$2"
# What nobody synchronises is written now: a database, too, if RocksDB has not waited for the drive.
seq 1000000 | head -c 6000000 > "$mnt/careless"
