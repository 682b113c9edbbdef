//! The help text of metrics: the forms of their names.

/// The forms that the name of a metric can have.
pub const HELP: [&str; 43] = [
    "mean (over all reads and writes)",
    "accumulated (the response times of all reads and writes together)",
    "KIND.STAT with read, write, flush or discard (zones: append, zone_open, zone_close, zone_finish, zone_reset, zone_open_zrwa, zrwa_flush; data placement: handle_update) and mean, min, p50, p90, p95, p99, p99_9, p99_99, p99_999, max, \
     wait, service, flash-wait, access, gap (longest time between two completions), requests, failed, requests-per-s, rate, bytes",
    "flow.NAME.STAT of one of several workloads at once with mean, accumulated, requests-per-s, rate, simulated or \
     KIND.STAT; with alone before it, of the same workload alone on the drive: flow.NAME.alone.read.p99",
    "flow.NAME.slowdown (mean latency, by that of the same requests alone), flow.NAME.rate-slowdown (of closed loops)",
    "fairness (smallest by largest slowdown), unfairness (its inverse), max-slowdown, weighted-speedup, harmonic-speedup",
    "requests-per-s (reads and writes)",
    "rate (bytes read and written per second)",
    "simulated",
    "failed (share of the requests that failed: no other number is about them)",
    "outcomes.STATUS (requests by outcome) with done, uncorrectable, read_only, out_of_range and, on a drive with zones, \
     invalid_opcode, invalid_field, zone_boundary, zone_full, zone_read_only, zone_offline, zone_invalid_write, \
     too_many_active_zones, too_many_open_zones, invalid_zone_transition, invalid_zone_operation, zrwa_unavailable",
    "unmapped (share of the mapping units that reads asked for and that held no data)",
    "unreadable-copies (mapping units stored again although their data could not be read)",
    "mount (time of a mount's reads after a power cut at the end)",
    "verified (reads that were checked, if `run.verify` is set)",
    "waf (in mapping units), waf-bytes (in bytes)",
    "tbw (bytes that the host can write until the flash reaches its rated cycles, at this write amplification)",
    "cost (of the flash, in GiB of MLC flash)",
    "energy",
    "energy-per-sector (read or written)",
    "erases.mean, erases.min, erases.max, erases.deviation",
    "merges.STAT of a block-mapped FTL with merges, copied, given (rows), log-pages, maps, flush-pages, replaced, \
     spread (most less least erased superblock)",
    "busy.link, busy.ram, busy.channels, busy.dies, busy.controllers, busy.decoders (means over all of them), busy.processor, busy.ftl (the map unit: \
     mean over its cores, or the busier of CMT and CTP of an FMMU)",
    "map.STAT of the map unit with questions, hits, hit-ratio (CMT), page-hits, page-hit-ratio (CTP), loads, stores, \
     flushes, flushed-blocks, loads-at-most, mshrs.cmt, mshrs.ctp (most in use), time and flush-time (mean busy \
     time of a question and of a flush), and of its host memory buffer: hmb.hits, hmb.misses, hmb.hit-ratio, hmb.read and \
     hmb.written (bytes), hmb.time (mean time of a load)",
    "log.STAT of the merges of log blocks with merges (all of them), switch, partial, full, k (data blocks of a full \
     merge), pages.partial and pages.full (copied by each), erases (that they come to: one for each, and k more for a full one), saving (of time on an idle \
     device, if each merge ran on controllers of its own instead of one)",
    "slc.STAT of a hybrid SLC/MLC drive with small, accepted, updates (shares of writes), throttled, unplaced, threshold, k, \
     alpha, n1, n2, n3, n4, p1, p2, expected (the closed form and its factors), switches, levelled, wear (erases of SLC by \
     those of MLC blocks), spread (of the erases of SLC blocks), cost, tables (bytes of RAM), mode (logical blocks in SLC \
     mode), mode-pages (programmed in it), commands.OP, commands.OP.CAUSE",
    "slc-cache.STAT of a drive with an SLC cache with share (of the host's data that went there), cached, direct (mapping units), \
     superblocks (in SLC mode at the end), limit (of them, at that fill)",
    "refresh.STAT of a drive that refreshes data with superblocks (moved), age, reads, errors (superblocks that exceeded \
     that limit), patrol-reads",
    "parity.STAT of a drive with parity with rebuilt, lost (uncorrectable reads of mapping units), superblocks, waiting (of a failed die)",
    "raid.STAT of a RAID with waf and read-amplification (bytes of its drives for each of the host), drive-waf (of the drives themselves), \
     full-updates, modify-updates, reconstruct-updates, recover-updates (of parity), recovered-bytes, rewritten-bytes, rebuilt-bytes, \
     repaired-bytes, rebuild-end (time), lost-chunks, failed-drives, journal-records, journal-bytes, journal-checkpoints, journal-waits",
    "translation.STAT of a translation over zones with waf (units written to zones for each of the users), drive-waf (of the drive below), \
     written, copied, summaries, vain-copies, rest-reads, lost-units, mount-reads (units), collected-zones, dead-zones (emptied without a \
     copy), failed-zones, free-zones, stalled-writes (that waited for a zone), stall-time, map-bytes (of the host's RAM)",
    "fdp.STAT of a drive with Flexible Data Placement with host-bytes (HBMW), media-bytes (MBMW), erased-bytes (MBE), moved-bytes (by \
     collection), partial-superblocks (not fully written), invalid-identifiers",
    "zones.STAT of a drive with zones with resets (of zones that were not empty), finishes, padded-bytes, active, open (zones at the end) and, \
     with random write areas, overwritten-bytes, unwritten-bytes (programmed as zeros), implicit-flushes, explicit-flushes, zrwa (zones with an area)",
    "life.STAT of a run until = \"worn\" with tbw (bytes), dwpd (over the warranty), waf (in bytes), time, bad-blocks, spare (share left), \
     first-failure, percent-bad, half-spare (bytes written until then), rounds",
    "power.STAT of a drive with [power] with mean (watts), active, idle, states (shares of the time), wakes (requests that found it in a \
     power state), wake-time (their waits), throttled (requests that heat delayed), throttle-time, hottest (degrees \
     Celsius), capped (array operations that waited for the power cap), cap-time",
    "commands.OP or commands.OP.CAUSE, e.g. commands.erase.gc",
    "slots.OP or slots.OP.CAUSE",
    "errors.STAT of a drive with bit errors with retries (attempts to read behind the first), retried (share of the read commands that took \
     some), rber (mean raw bit error rate of the codewords), soft (commands that took soft decoding), uncorrectable (mapping units)",
    "suspensions (of programs and erases)",
    "suspended (time for which all suspended operations together stood still)",
    "suspend-overhead (time in which arrays stopped and went on)",
    "suspend-gain (how much longer the commands that suspended would have waited)",
    "A / B for a quotient",
];
