//! The options of fio and their classes.

/// The class of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The option is honoured.
    Honoured,
    /// The option has no meaning for a simulated device; a note gives the reason.
    Meaningless(&'static str),
    /// The option would change the requests and is not supported; with the remedy.
    Unsupported(&'static str),
    /// fio has no such option, or this table does not know it.
    Unknown,
}

/// Alternative names of options, each with the canonical one.
const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("ba", "blockalign"),
    ("io_limit", "io_size"),
    ("wait_for_previous", "stonewall"),
    ("fill_fs", "fill_device"),
    ("iomem", "mem"),
    ("mem_align", "iomem_align"),
    ("ss", "steadystate"),
    ("start_delay", "startdelay"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
];

/// The canonical name of `key` in fio's manual.
pub(super) fn canonical(key: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, first)| first)
}

/// Options that are honoured.
pub(super) const HONOURED: &[&str] = &[
    "blockalign",
    "bs",
    "bsrange",
    "bssplit",
    "fdatasync",
    "fsync",
    "io_size",
    "ioengine",
    "iodepth",
    "kb_base",
    "loops",
    "norandommap",
    "number_ios",
    "numjobs",
    "offset",
    "offset_increment",
    "percentage_random",
    "ramp_time",
    "random_distribution",
    "rate_iops",
    "rate_process",
    "runtime",
    "rw",
    "rw_sequencer",
    "rwmixread",
    "rwmixwrite",
    "size",
    "stonewall",
    "time_based",
];

const FILES: &str = "every job works on the one simulated device, without files";
const HOST: &str = "Flashloom does not simulate the host's processor, memory and processes";
const DATA: &str = "the simulated device ignores the content of data";
const SEED: &str = "the seed of the run decides all randomness, and every run can be repeated";
const REPORT: &str = "the study, not the workload, defines reports";
const CACHE: &str = "requests go straight to the device: there is no page cache";

/// Options without meaning, by reason.
const MEANINGLESS: &[(&str, &[&str])] = &[
    (
        FILES,
        &[
            "directory",
            "filename",
            "filename_format",
            "unique_filename",
            "lockfile",
            "fallocate",
            "create_serialize",
            "create_fsync",
            "create_on_open",
            "allow_file_create",
            "allow_mounted_write",
            "unlink",
            "unlink_each_loop",
            "overwrite",
            "openfiles",
            "fadvise_hint",
            "ioscheduler",
            "allow_create",
            "file_append",
        ],
    ),
    (CACHE, &["direct", "buffered", "invalidate", "pre_read"]),
    (
        HOST,
        &[
            "thread",
            "nice",
            "cpus_allowed",
            "cpus_allowed_policy",
            "cpumask",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "uid",
            "gid",
            "cgroup",
            "cgroup_weight",
            "cgroup_nodelete",
            "mem",
            "iomem_align",
            "hugepage-size",
            "lockmem",
            "clocksource",
            "gtod_reduce",
            "gtod_cpu",
            "hipri",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "fixedbufs",
            "registerfiles",
            "nonvectored",
            "userspace_reap",
            "force_async",
            "exec_prerun",
            "exec_postrun",
            "hugepage",
        ],
    ),
    (
        DATA,
        &[
            "zero_buffers",
            "refill_buffers",
            "scramble_buffers",
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "buffer_pattern",
            "dedupe_percentage",
            "dedupe_mode",
            "dedupe_working_set_percentage",
            "dedupe_global",
        ],
    ),
    (SEED, &["randrepeat", "allrandrepeat", "randseed", "random_generator", "softrandommap"]),
    (
        REPORT,
        &[
            "name",
            "description",
            "group_reporting",
            "new_group",
            "stats",
            "unified_rw_reporting",
            "write_bw_log",
            "write_lat_log",
            "write_hist_log",
            "write_iops_log",
            "log_avg_msec",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_max_value",
            "log_offset",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_unix_epoch",
            "log_alternate_epoch",
            "log_prio",
            "block_error_percentiles",
            "bwavgtime",
            "iopsavgtime",
            "disk_util",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw_measurement",
            "disable_bw",
            "slat_percentiles",
            "clat_percentiles",
            "lat_percentiles",
            "percentile_list",
            "significant_figures",
            "unit_base",
            "per_job_logs",
            "profile",
            "error_dump",
            "eta",
            "eta-newline",
            "status-interval",
            "minimal",
            "output",
            "output-format",
            "continue_on_error",
            "ignore_error",
            "max_latency",
            "write_iolog",
        ],
    ),
];

const SEPARATE: &str = "delete it; the study decides this, not the workload";
const WARM: &str = "delete it: all jobs of a stage begin together; ramp_time= leaves a beginning unmeasured";
const TRACE: &str = "replay the trace itself: see the trace formats";

/// Options that would change the requests, with the remedy.
const UNSUPPORTED: &[(&str, &[&str])] = &[
    (WARM, &["startdelay"]),
    (
        "use rate_iops to space requests in time",
        &["thinktime", "thinktime_spin", "thinktime_blocks", "thinktime_blocks_type", "thinktime_iotime", "rate"],
    ),
    (
        "delete it",
        &[
            "rate_min",
            "rate_iops_min",
            "rate_cycle",
            "rate_ignore_thinktime",
            "latency_target",
            "latency_window",
            "latency_percentile",
            "latency_run",
            "steadystate",
            "steadystate_duration",
            "steadystate_ramp_time",
        ],
    ),
    (
        "delete it: the queue is refilled as soon as a request completes",
        &[
            "iodepth_batch",
            "iodepth_batch_submit",
            "iodepth_batch_complete_min",
            "iodepth_batch_complete_max",
            "iodepth_low",
            "io_submit_mode",
            "serialize_overlap",
        ],
    ),
    (
        TRACE,
        &[
            "read_iolog",
            "read_iolog_chunked",
            "merge_blktrace_file",
            "replay_no_stall",
            "replay_time_scale",
            "replay_redirect",
            "replay_align",
            "replay_scale",
            "replay_skip",
        ],
    ),
    (
        "delete it: the simulated device is not zoned",
        &[
            "zonemode",
            "zonerange",
            "zonesize",
            "zonecapacity",
            "zoneskip",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
        ],
    ),
    (
        "delete it and run with --verify, which checks every sector",
        &[
            "verify",
            "do_verify",
            "verify_only",
            "verify_offset",
            "verify_interval",
            "verify_pattern",
            "verify_fatal",
            "verify_dump",
            "verify_async",
            "verify_backlog",
            "verify_backlog_batch",
            "verify_state_save",
            "verify_state_load",
            "experimental_verify",
            "trim_percentage",
            "trim_verify_zero",
            "trim_backlog",
            "trim_backlog_batch",
        ],
    ),
    (
        "write the jobs with offset= and size= of their own",
        &["nrfiles", "file_service_type", "filesize", "opendir", "offset_align", "fill_device", "create_only"],
    ),
    ("write fsync=1 after the last write in a stage of its own", &["end_fsync", "fsync_on_close"]),
    ("use fsync= instead", &["sync", "write_barrier", "sync_file_range"]),
    ("use bssplit= with sizes that are multiples of a sector", &["bs_unaligned", "bs_is_seq_rand"]),
    ("use stonewall instead", &["wait_for", "exitall", "exit_what", "exitall_on_error"]),
    ("use TOML streams with shares instead", &["flow", "flow_id", "flow_sleep", "flow_watermark"]),
    (
        "delete it: the simulated host queue has no priorities and no hints",
        &[
            "prio",
            "prioclass",
            "priohint",
            "cmdprio_percentage",
            "cmdprio_class",
            "cmdprio",
            "cmdprio_bssplit",
            "cmdprio_hint",
            "write_hint",
            "md_per_io_size",
            "num_range",
            "fdp",
            "dataplacement",
        ],
    ),
    (SEPARATE, &["cpuload", "cpuchunks", "hostname", "port", "protocol", "listen"]),
];

/// The class of the option with this canonical name.
pub(super) fn class(key: &str) -> Class {
    let within = |table: &'static [(&str, &[&str])]| table.iter().find(|(_, keys)| keys.contains(&key));
    if HONOURED.contains(&key) {
        Class::Honoured
    } else if let Some((reason, _)) = within(MEANINGLESS) {
        Class::Meaningless(reason)
    } else if let Some((remedy, _)) = within(UNSUPPORTED) {
        Class::Unsupported(remedy)
    } else {
        Class::Unknown
    }
}

/// The honoured option that the user probably meant.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    base::suggest::nearest(key, HONOURED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fio_option_is_in_one_class() {
        let tables = MEANINGLESS.iter().chain(UNSUPPORTED).flat_map(|(_, keys)| keys.iter());
        let mut all: Vec<_> = HONOURED.iter().chain(tables).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "twice: {all:?}");
        assert!(all.iter().all(|key| canonical(key) == **key), "an alias in a table");
    }

    #[test]
    fn a_misspelt_option_is_recognised() {
        assert_eq!(nearest("iodeph"), Some("iodepth"));
        assert_eq!(nearest("rwmixraed"), Some("rwmixread"));
        assert_eq!(nearest("something_else"), None);
    }
}
