//! The engines of fio. An engine is fio's interface to its device, which does not matter here except in two respects:
//! whether the engine keeps several requests outstanding, and whether it sends requests to a device at all.

/// The way in which an engine handles a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// The engine waits for each request.
    Synchronous,
    /// The engine keeps `iodepth` requests outstanding.
    Asynchronous,
    /// The engine sends no request to a device; the text names its work.
    NoDevice(&'static str),
}

const NETWORK: &str = "sends data over a network";
const PROGRAM: &str = "uses the processor or runs a program";
const NAMES: &str = "creates, looks up or deletes files";
const ALLOCATION: &str = "changes how a file system allocates a file";
const MEMORY: &str = "touches memory";

const ENGINES: &[(Engine, &[&str])] = &[
    (
        Engine::Synchronous,
        &[
            "sync",
            "psync",
            "vsync",
            "pvsync",
            "pvsync2",
            "mmap",
            "splice",
            "libpmem",
            "pmemblk",
            "dev-dax",
            "ime_psync",
            "ime_psyncv",
            "libzbc",
            "mtd",
            "gfapi",
            "http",
            "libhdfs",
            "libcufile",
            "libhipfile",
            "libiscsi",
            "syslet-rw",
        ],
    ),
    (
        Engine::Asynchronous,
        &[
            "libaio",
            "io_uring",
            "io_uring_cmd",
            "posixaio",
            "solarisaio",
            "windowsaio",
            "guasi",
            "binject",
            "sg",
            "null",
            "cpp_null",
            "xnvme",
            "libblkio",
            "nbd",
            "nfs",
            "dfs",
            "rbd",
            "rados",
            "gfapi_async",
            "ime_aio",
            "spdk",
            "spdk_bdev",
        ],
    ),
    (Engine::NoDevice(NETWORK), &["net", "netsplice", "rdma", "librpma_apm_client", "librpma_gpspm_client"]),
    (Engine::NoDevice(NETWORK), &["librpma_apm_server", "librpma_gpspm_server"]),
    (Engine::NoDevice(PROGRAM), &["cpuio", "exec"]),
    (
        Engine::NoDevice(NAMES),
        &["filecreate", "filestat", "filedelete", "fileoperations", "dircreate", "dirstat", "dirdelete"],
    ),
    (Engine::NoDevice(ALLOCATION), &["falloc", "ftruncate", "e4defrag"]),
    (Engine::NoDevice(MEMORY), &["page_fault"]),
];

/// The engine of this name. An engine loaded from a library of its own is assumed to be asynchronous.
pub(super) fn find(name: &str) -> Option<Engine> {
    if is_external(name) {
        return Some(Engine::Asynchronous);
    }
    ENGINES.iter().find(|(_, names)| names.contains(&name)).map(|(engine, _)| *engine)
}

/// True for an engine that fio loads from a library, whose options this table cannot know.
pub(super) fn is_external(name: &str) -> bool {
    name.starts_with("external:") || name.starts_with("spdk") || name.contains('/') || name.ends_with(".so")
}

/// Options that only some engines have.
pub(super) const OPTIONS: &[&str] = &[
    "apptag",
    "apptag_mask",
    "arguments",
    "bindname",
    "brick",
    "busy_poll",
    "busy_wait_polling",
    "cdb_len",
    "chunk_size|chunck_size",
    "clientname",
    "clustername",
    "cmd_type",
    "conf",
    "cont",
    "cpuchunks",
    "cpuload",
    "cpumode",
    "cuda_io",
    "deac",
    "digest_enable",
    "direct_write_to_pmem",
    "donorname",
    "enable_wrr",
    "engine_name",
    "exit_on_io_done",
    "fixedbufs",
    "force_async",
    "gpu_dev_ids",
    "grace_time",
    "hdfs_use_direct",
    "hdfsdirectory",
    "hipri",
    "hipri_percentage",
    "hostname",
    "hostnqn",
    "http_host",
    "http_mode",
    "http_object_mode",
    "http_pass",
    "http_s3_key",
    "http_s3_keyid",
    "http_s3_region",
    "http_s3_security_token",
    "http_s3_sse_customer_algorithm",
    "http_s3_sse_customer_key",
    "http_s3_storage_class",
    "http_swift_auth_token",
    "http_user",
    "http_verbose",
    "https",
    "initiator",
    "inplace",
    "interface",
    "libaio_vectored",
    "libblkio_driver",
    "libblkio_force_enable_completion_eventfd",
    "libblkio_num_entries",
    "libblkio_path",
    "libblkio_pre_connect_props",
    "libblkio_pre_start_props",
    "libblkio_queue_size",
    "libblkio_vectored",
    "libblkio_wait_mode",
    "listen",
    "md_per_io_size",
    "mem_size_mb",
    "mss",
    "namenode",
    "namespace",
    "netsplice",
    "nfs_url",
    "no_completion_thread",
    "nodelay",
    "nonvectored",
    "nowait",
    "object_class",
    "pi_act",
    "pi_chk",
    "pingpong",
    "pool",
    "port",
    "program",
    "protocol|proto",
    "rbd_encryption_format",
    "rbd_encryption_passphrase",
    "rbdname",
    "registerfiles",
    "rocm_io",
    "serverip",
    "shm_id",
    "single-instance",
    "single_instance",
    "skip_bad",
    "spdk_conf",
    "spdk_json_conf",
    "sqthread_poll",
    "sqthread_poll_cpu",
    "stat_type",
    "std_redirect",
    "svcl",
    "thp",
    "touch_objects",
    "ttl",
    "uri",
    "userspace_reap",
    "verb",
    "verify_bytchk",
    "verify_mode",
    "volume",
    "window_size",
    "xnvme_admin",
    "xnvme_async",
    "xnvme_be",
    "xnvme_dev_nsid",
    "xnvme_dev_subnqn",
    "xnvme_iovec",
    "xnvme_mem",
    "xnvme_sync",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_sorted_by_what_they_do() {
        assert_eq!(find("psync"), Some(Engine::Synchronous));
        assert_eq!(find("libaio"), Some(Engine::Asynchronous));
        assert_eq!(find("external:/opt/spdk/fio_plugin"), Some(Engine::Asynchronous));
        assert!(matches!(find("net"), Some(Engine::NoDevice(_))));
        assert_eq!(find("libaoi"), None);
    }
}
