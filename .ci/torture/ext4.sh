# A workload: $1 files on ext4, mounted with the options $2, on the drive at the URI $3. Each is written, synchronised and renamed, and
# its number is printed when its directory is synchronised, too. Eight files are there at once, and one that nobody synchronises.
uri=$3 options=$2
. "${0%/*}/attach.sh"
for n in $(seq "$1"); do
    seq "$n" $((n + 2000)) > "$mnt/new"
    sync "$mnt/new"
    mv "$mnt/new" "$mnt/file$n"
    rm -f "$mnt/file$((n - 8))"
    sync "$mnt"
    echo "$n"
    seq $((n * 50)) > "$mnt/careless"
done
