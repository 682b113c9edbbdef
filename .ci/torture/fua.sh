# A workload: writes with forced unit access, and some without, to the drive at the URI $1.
set -e
for n in $(seq 100); do
    echo "write -f -P $((n % 255 + 1)) $((n * 37 % 64 * 4))k 4k"
    echo "write -P $((n % 255 + 1)) $((n * 53 % 64 * 4 + 256))k 8k"
done | qemu-io -f raw "$1" > /dev/null
