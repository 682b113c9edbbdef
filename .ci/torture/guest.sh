# A workload: $1 files on ext4 in a guest of QEMU (.ci/guest/boot), whose NVMe disk, with QEMU's option $2, is the drive at the Unix
# socket $3. The files are those of ext4.sh, and their numbers come over the guest's console.
set -e
dir=$(mktemp -d)
trap 'rm -r $dir' EXIT
cat > "$dir/job" << JOB
/usr/sbin/mke2fs -q -t ext4 -E nodiscard \$1
mount \$1 /mnt
sync -f /mnt
echo acknowledged 0 > /dev/console
for n in \$(seq $1); do
    seq \$n \$((n + 2000)) > /mnt/new
    sync /mnt/new
    mv /mnt/new /mnt/file\$n
    rm -f /mnt/file\$((n - 8))
    sync /mnt
    echo acknowledged \$n > /dev/console
    seq \$((n * 50)) > /mnt/careless
done
umount /mnt
JOB
mkfifo "$dir/console"
sed -un 's/^acknowledged \([0-9]*\)\r*$/\1/p' "$dir/console" &
"${0%/*}/../guest/boot" "$3" "$dir/guest" "$dir/job" "$2" > "$dir/console"
wait
