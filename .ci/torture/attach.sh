# Sourced by the workloads: makes a disk of the drive at the URI $uri, with ext4 on it at $mnt, mounted with the options $options. All
# of it goes when the shell ends.
set -e
dir=$(mktemp -d)
chmod 711 "$dir"
mnt=$dir/mnt
trap 'umount $mnt 2> /dev/null || true; losetup -d $disk || true; umount $dir/fuse; rm -r $dir' EXIT
mkdir "$mnt" "$dir/fuse"
nbdfuse "$dir/fuse/nbd" "$uri" > /dev/null 2>&1 &
until test -s "$dir/fuse/nbd"; do
    kill -0 $! # It has not failed.
    sleep 0.05
done
disk=$(losetup --find --show --direct-io=on "$dir/fuse/nbd")
# The drive stays as full as it was.
mkfs.ext4 -q -E nodiscard "$disk" > /dev/null
mount -o "${options:-defaults}" "$disk" "$mnt"
sync -f "$mnt"
echo 'ext4 is there'
