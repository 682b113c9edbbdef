# Sourced by the checks: replays the journal of the ext4 in $image, after which e2fsck must find no fault. The last line of the
# $log is the newest number that was $acknowledged; if there is none, the check is over.
set -e
test -s "$log" || exit 0
e2fsck -E journal_only -y "$image" > fsck.txt 2>&1 || test $? -le 1 || { cat fsck.txt; exit 8; }
e2fsck -fn "$image" > fsck.txt 2>&1 || { cat fsck.txt; exit 9; }
acknowledged=$(tail -n 1 "$log")
test "$acknowledged" -gt 0 2> /dev/null || exit 0
