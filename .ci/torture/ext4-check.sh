# The check of ext4.sh for the image $1 and the log $2: ext4 has no fault behind its journal, and every synchronised file its content.
image=$1 log=$2
. "${0%/*}/ext4-image.sh"
mkdir files
debugfs -R 'rdump / files' "$image" > /dev/null 2>&1
# A line is in the log when it was read, so there may be newer files.
newest=$(cd files && ls -d file* | tr -d file | sort -n | tail -n 1)
test "$newest" -ge "$acknowledged"
for n in $(seq $((newest > 8 ? newest - 7 : 1)) "$newest"); do
    seq "$n" $((n + 2000)) | cmp - "files/file$n"
done
