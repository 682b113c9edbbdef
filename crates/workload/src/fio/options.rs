//! Every option of fio, with its aliases and its treatment here. The reader, the notes and the reference page are made
//! from these tables.

use super::engines;

/// The effect of an option of fio here: translated, ignored with a note, or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// The option decides which requests are made, here as in fio; the text names its effect.
    Honoured(&'static str),
    /// The option does not change which requests are made; a note gives the reason.
    Noted(&'static str),
    /// The option changes the requests in a way that is not supported; the reason and the remedy.
    Refused(&'static str, &'static str),
}

/// Options that are honoured, with their aliases, and their effects.
const HONOURED: &[(&str, &str)] = &[
    ("rw|readwrite", "the kinds of requests, and whether addresses are sequential, with holes, or random"),
    ("rw_sequencer", "`sequential` only: how the runs of `rw=randread:8` go on"),
    ("rwmixread", "share of reads in a mix"),
    ("rwmixwrite", "share of writes in a mix"),
    ("bs|blocksize", "the size of requests, for each kind"),
    ("bsrange|blocksize_range", "a range of sizes"),
    ("bssplit", "sizes with their shares"),
    ("blockalign|ba", "the alignment of random addresses"),
    ("kb_base", "whether `k` is 1024 or 1000"),
    ("size", "the region, and the amount of data if `io_size` does not say it"),
    ("io_size|io_limit", "the amount of data"),
    ("filesize", "the size of each file, and so the region"),
    ("nrfiles|nr_files", "files of a job: equal parts of its region, which take turns"),
    ("file_service_type", "which file is next"),
    ("openfiles", "with 1, one file after another"),
    ("filename", "a list `a:b` has as many files; where they lie is not asked"),
    ("offset|fileoffset", "the start of the region"),
    ("offset_increment", "the distance between the regions of clones"),
    ("fill_device|fill_fs", "the region is all of the drive"),
    ("number_ios", "the most requests"),
    ("loops", "how often the job is repeated"),
    ("numjobs", "clones of a job"),
    ("norandommap", "random addresses may repeat within a pass"),
    ("percentage_random", "how often a random request goes to a new address"),
    ("random_distribution", "`random`, `zipf`, `pareto`, `zoned`"),
    ("zonemode", "`none`, `strided`, or `zbd`: zones are written at their write pointers and reset"),
    ("zonesize", "the data that a zone receives before the next zone's turn; with `zbd`, the zone size of the drive"),
    ("zonecapacity", "with `zbd`, the bytes of a zone that can be written"),
    ("max_open_zones", "with `zbd`, zones that a random job writes at the same time"),
    ("job_max_open_zones", "with `zbd`, zones that a random job writes at the same time"),
    ("write_zone_remainder", "with `zbd`, whether the rest of a zone is written, or the zone finished"),
    ("zone_reset_threshold", "with `zbd`, 0 only: a full zone is reset before it is written again"),
    ("zone_reset_frequency", "with `zbd`, 0 only: a full zone is reset before it is written again"),
    ("read_beyond_wp", "with `zbd`, 0 only: reads go to what the job has written"),
    ("zonerange", "the length of a zone"),
    ("zoneskip", "the distance between zones"),
    ("iodepth", "requests outstanding of each clone"),
    ("ioengine", "whether `iodepth` counts: synchronous engines keep one request outstanding"),
    ("rate", "bytes per second, as arrivals by the clock"),
    ("rate_iops", "requests per second, as arrivals by the clock"),
    ("rate_process", "arrivals at equal or at exponential intervals"),
    ("thinktime", "the pause of a job without a rate, once its requests have completed"),
    ("thinktime_blocks", "requests from one pause to the next"),
    ("fsync", "a flush after so many writes"),
    ("fdatasync", "a flush after so many writes"),
    ("write_barrier", "a flush after so many writes"),
    ("sync", "a flush after each write"),
    ("writefua", "a flush after each write"),
    ("end_fsync", "a flush behind the last request of a job that ends by its amount of data"),
    ("fsync_on_close", "a flush behind the last request of a job that ends by its amount of data"),
    ("startdelay", "how much later than the first job of its stage a job begins"),
    ("runtime|timeout", "the longest time of a job"),
    ("time_based", "the job goes on until `runtime` is over"),
    ("ramp_time", "the time before the measurement"),
    ("ramp_size", "the data before the measurement"),
    ("stonewall|wait_for_previous", "the job begins when all before it have ended"),
    ("wait_for", "the job begins when the named one has ended, if no other job runs beside that"),
    ("flow", "the job's share of the requests of all jobs with its `flow_id`"),
    ("flow_id", "the jobs that share requests by `flow`"),
    ("fdp", "`1`: writes carry placement identifiers"),
    ("dataplacement|data_placement", "`fdp` or `streams`: writes carry placement identifiers"),
    ("plids|fdp_pli", "the placement identifiers of the job's writes"),
    ("plid_select|fdp_pli_select", "`roundrobin` only: the writes take the identifiers in turn"),
    (
        "write_hint",
        "the placement identifier of the job's writes: `none` is 0, `short` 1 and so on to `extreme`, which is 4",
    ),
    ("verify", "Flashloom checks all data itself, as with `--verify`; fio's own verifying reads are not made"),
];

const FILES: &str = "every job works on the one simulated device, without files";
const HOST: &str = "Flashloom does not simulate the host's processor, memory and processes";
const DATA: &str = "the simulated device ignores the content of data";
const SEED: &str = "the seed of the run decides all randomness, and every run can be repeated";
const REPORT: &str = "the study, not the workload, defines reports";
const CACHE: &str = "requests go straight to the device: there is no page cache";
const ENGINE: &str = "it says how an engine of fio reaches its device; the requests are the same";
const HINT: &str =
    "requests have no priorities here, and no hints but placement identifiers; they are the same otherwise";
const VERIFY: &str = "Flashloom's own check takes the place of fio's, and needs no settings";
const QUEUE: &str = "the queue is refilled as soon as a request completes";
const OVERLAP: &str = "the device completes overlapping requests in the order of their submission anyway";
const WHOLE: &str = "the device carries out every request as a whole while it has power";
const JUDGE: &str = "the requests are the same, and the results show whether the drive is fast enough";
const INERT: &str = "fio itself ignores it";
const ONLY_FLOW: &str = "the jobs of a flow draw their requests by shares, so none has to wait for another";
const ONLY_EXIT: &str = "it says what `exitall` ends";
const ONLY_ZBD: &str = "it counts with zonemode=zbd only";
const ONLY_LATENCY: &str = "it counts with `latency_target` only";
const ONLY_STEADY: &str = "it counts with `steadystate` only";
const ONLY_REPLAY: &str = "it counts with `read_iolog` only";
const ONLY_TRIM: &str = "it counts with `trim_percentage` only";
const ONLY_SPRANDOM: &str = "it counts with `sprandom` only";
const ONLY_SCHEME: &str = "it counts with plid_select=scheme only";
const ONLY_SEQUENCE: &str = "it counts with random_distribution=sequence only";

/// Options that do not change which requests are made, by reason.
const NOTED: &[(&str, &[&str])] = &[
    (
        FILES,
        &[
            "directory",
            "filename_format",
            "filetype",
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
            "fadvise_hint",
            "ioscheduler",
            "allow_create",
            "file_append",
            "end_syncfs",
        ],
    ),
    (CACHE, &["direct", "buffered", "invalidate", "pre_read", "sync_file_range", "uncached", "readfua"]),
    (
        HOST,
        &[
            "thread",
            "nice",
            "comm",
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
            "mem|iomem",
            "iomem_align|mem_align",
            "hugepage-size",
            "hugepage",
            "lockmem",
            "clocksource",
            "job_start_clock_id",
            "gtod_reduce",
            "gtod_cpu",
            "gpu_dev_id",
            "exec_prerun",
            "exec_postrun",
            "io_submit_mode",
            "thinktime_spin",
            "thinkcycles",
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
    (SEED, &["randrepeat|allrandrepeat", "randseed", "random_generator", "softrandommap"]),
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
            "write_iolog",
            "log_entries",
            "log_avg_msec",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_window_value|log_max_value",
            "log_offset",
            "log_issue_time",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_alternate_epoch|log_unix_epoch",
            "log_alternate_epoch_clock_id",
            "log_prio",
            "block_error_percentiles",
            "bwavgtime",
            "iopsavgtime",
            "disk_util",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw_measurement|disable_bw",
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
            "exitall_on_error",
        ],
    ),
    (JUDGE, &["max_latency", "rate_min|ratemin", "rate_iops_min", "rate_cycle|ratecycle"]),
    (
        QUEUE,
        &[
            "iodepth_batch|iodepth_batch_submit",
            "iodepth_batch_complete_min|iodepth_batch_complete",
            "iodepth_batch_complete_max",
            "iodepth_low",
        ],
    ),
    (OVERLAP, &["serialize_overlap"]),
    (WHOLE, &["atomic"]),
    (
        HINT,
        &[
            "prio",
            "prioclass",
            "priohint",
            "cmdprio_percentage",
            "cmdprio_class",
            "cmdprio_hint",
            "cmdprio",
            "cmdprio_bssplit",
            "stream_id",
        ],
    ),
    (
        VERIFY,
        &[
            "do_verify",
            "verify_policy",
            "verify_offset",
            "verify_interval",
            "verify_pattern",
            "verify_pattern_interval",
            "verify_fatal",
            "verify_dump",
            "verify_async",
            "verify_async_cpus",
            "verify_backlog",
            "verify_backlog_batch",
            "verify_state_save",
            "verify_state_load",
            "verify_write_sequence",
            "verify_header_seed",
            "verifysort",
            "verifysort_nr",
            "experimental_verify",
            "trim_verify_zero",
        ],
    ),
    (ENGINE, engines::OPTIONS),
    (INERT, &["rwmixcycle", "percentage_sequential", "flow_watermark"]),
    (ONLY_FLOW, &["flow_sleep"]),
    (ONLY_EXIT, &["exit_what"]),
    (ONLY_ZBD, &["ignore_zone_limits", "recover_zbd_write_error"]),
    (ONLY_LATENCY, &["latency_window", "latency_percentile", "latency_run"]),
    (
        ONLY_STEADY,
        &["steadystate_duration|ss_dur", "steadystate_ramp_time|ss_ramp", "steadystate_check_interval|ss_interval"],
    ),
    (
        ONLY_REPLAY,
        &[
            "read_iolog_chunked",
            "replay_no_stall",
            "replay_time_scale",
            "replay_redirect",
            "replay_align",
            "replay_scale",
            "replay_skip",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
        ],
    ),
    (ONLY_TRIM, &["trim_backlog", "trim_backlog_batch"]),
    (ONLY_SPRANDOM, &["spr_num_regions", "spr_op", "spr_cs"]),
    (ONLY_SCHEME, &["dp_scheme"]),
    (ONLY_SEQUENCE, &["random_sequence_stride"]),
];

const DELETE: &str = "delete it";
const COMMANDS: &str = "write a job for each kind of request, with rw=write or rw=trim";

/// Options that change the requests in a way that is not supported, each with the reason and the remedy. A value that
/// turns the option off is accepted.
const REFUSED: &[(&str, &str, &str)] = &[
    ("include", "other files are not included", "paste the file's options here"),
    ("read_iolog", "the job replays a log, which is a trace", "run the log itself: flashloom run DEVICE LOG"),
    ("merge_blktrace_file", "the job merges traces", "give the traces to flashloom trace convert"),
    ("create_only", "the job creates files and makes no request", "delete it to make the job's requests"),
    ("opendir", "the job reads the files that it finds in a folder, whose sizes are not known here", "give `size`"),
    ("thinktime_iotime", "a pause by the clock is not supported", "write thinktime_blocks="),
    ("thinktime_blocks_type", "pauses are counted by requests", DELETE),
    ("rate_ignore_thinktime", "a rate and a pause in one job are not supported", DELETE),
    ("latency_target", "fio searches for a depth, so the requests depend on its measurements", "write the iodepth"),
    ("steadystate|ss", "fio ends the job when its own rule is met", "delete it and run with --until steady"),
    ("exitall", "fio ends all jobs when the first one ends", "give the jobs a runtime"),
    ("bs_unaligned|blocksize_unaligned", "sizes that are no multiples of each other", "write bssplit="),
    ("bs_is_seq_rand", "sizes by the address pattern", "write a sequential and a random job"),
    ("offset_align", "a rounded start of the region is not supported", "write the offset itself in bytes"),
    ("sprandom", "fio's preconditioning by regions is not supported", "run with --precondition random:1"),
    ("trim_percentage", "discards of verified blocks are not supported", COMMANDS),
    ("verify_only", "the job reads what another run of fio has written", "write the data in an earlier stage"),
    ("num_range", "a discard of several ranges in one command is not supported", "delete it: one range each"),
    ("write_mode", "commands other than writes are not supported", COMMANDS),
    ("read_mode", "commands other than reads are not supported", COMMANDS),
    ("sg_write_mode", "commands other than writes are not supported", COMMANDS),
    ("libblkio_write_zeroes_on_trim", "commands that write zeros are not supported", COMMANDS),
];

/// An option as it appears in the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FioOption {
    pub(super) name: &'static str,
    aliases: &'static str,
    pub(super) treatment: Treatment,
}

impl FioOption {
    fn new(names: &'static str, treatment: Treatment) -> Self {
        let (name, aliases) = names.split_once('|').unwrap_or((names, ""));
        Self { name, aliases, treatment }
    }

    /// All names of the option. The first is that of fio's manual.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.split('|').filter(|alias| !alias.is_empty()))
    }
}

/// All options, the honoured options first.
pub(super) fn all() -> impl Iterator<Item = FioOption> {
    let honoured = HONOURED.iter().map(|(names, what)| FioOption::new(names, Treatment::Honoured(what)));
    let noted =
        NOTED.iter().flat_map(|(reason, all)| all.iter().map(|names| FioOption::new(names, Treatment::Noted(reason))));
    let refused =
        REFUSED.iter().map(|(names, reason, remedy)| FioOption::new(names, Treatment::Refused(reason, remedy)));
    honoured.chain(noted).chain(refused)
}

pub(super) fn find(name: &str) -> Option<FioOption> {
    all().find(|option| option.names().any(|known| known == name))
}

/// The option that the user probably meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let names: Vec<&'static str> = all().flat_map(|option| option.names()).collect();
    base::suggest::nearest(name, &names)
}

/// True if this value of the option is its default.
pub(super) fn is_off(option: &str, value: Option<&str>) -> bool {
    let off: &[&str] = match option {
        "num_range" => &["1"],
        "write_mode" | "sg_write_mode" => &["write"],
        "read_mode" => &["read"],
        "thinktime_blocks_type" => &["complete", "issue"],
        _ => &["0", "false", "none", "off"],
    };
    value.is_some_and(|value| off.contains(&value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fio_option_is_in_one_table_once() {
        let mut names: Vec<&str> = all().flat_map(|option| option.names()).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn an_alias_leads_to_the_option_of_the_manual() {
        for (alias, name) in
            [("timeout", "runtime"), ("blocksize", "bs"), ("ratemin", "rate_min"), ("ss", "steadystate")]
        {
            assert_eq!(find(alias).map(|option| option.name), Some(name));
        }
        assert_eq!(find("no_such_option"), None);
    }

    #[test]
    fn a_misspelt_option_is_recognised() {
        assert_eq!(nearest("iodeph"), Some("iodepth"));
        assert_eq!(nearest("rwmixraed"), Some("rwmixread"));
        assert_eq!(nearest("threads"), Some("thread"));
        assert_eq!(nearest("something_else"), None);
    }
}
