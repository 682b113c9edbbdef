# The check of rocksdb.sh for the image $1 and the log $2: ext4 has no fault behind its journal, RocksDB opens the database with all its
# checks, every acknowledged transaction is in it, and each of them wholly.
image=$1 log=$2
. "${0%/*}/ext4-image.sh"
debugfs -R 'rdump /db .' "$image" > /dev/null 2>&1
"${PYTHON:-python3}" "${0%/*}/rocksdb.py" check db "$acknowledged"
