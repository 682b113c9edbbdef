//! The workloads that come with Flashloom.

const BUILTIN: &[(&str, &str)] = &[
    ("chang-we", include_str!("../../workloads/chang-we.toml")),
    ("chang-wn", include_str!("../../workloads/chang-wn.toml")),
    ("database.fio", include_str!("../../workloads/database.fio")),
    ("dirik-pair", include_str!("../../workloads/dirik-pair.toml")),
    ("dirik-single", include_str!("../../workloads/dirik-single.toml")),
    ("dirik-wd", include_str!("../../workloads/dirik-wd.toml")),
    ("file-write-bursts", include_str!("../../workloads/file-write-bursts.toml")),
    ("fill-then-random.fio", include_str!("../../workloads/fill-then-random.fio")),
    ("flash-cache", include_str!("../../workloads/flash-cache.toml")),
    ("fmmu-4k-random-read", include_str!("../../workloads/fmmu-4k-random-read.toml")),
    ("fmmu-4k-random-write", include_str!("../../workloads/fmmu-4k-random-write.toml")),
    ("fmmu-64k-sequential-read", include_str!("../../workloads/fmmu-64k-sequential-read.toml")),
    ("fmmu-64k-sequential-write", include_str!("../../workloads/fmmu-64k-sequential-write.toml")),
    ("fmmu-wh", include_str!("../../workloads/fmmu-wh.toml")),
    ("fmmu-wp", include_str!("../../workloads/fmmu-wp.toml")),
    ("fmmu-ws", include_str!("../../workloads/fmmu-ws.toml")),
    ("hydra-application-loading", include_str!("../../workloads/hydra-application-loading.toml")),
    ("hydra-file-write", include_str!("../../workloads/hydra-file-write.toml")),
    ("hydra-general-usage", include_str!("../../workloads/hydra-general-usage.toml")),
    ("hydra-iometer", include_str!("../../workloads/hydra-iometer.toml")),
    ("hydra-tpcc", include_str!("../../workloads/hydra-tpcc.toml")),
    ("hydra-virus-scan", include_str!("../../workloads/hydra-virus-scan.toml")),
    ("hydra-wear", include_str!("../../workloads/hydra-wear.toml")),
    ("hydra-xp-startup", include_str!("../../workloads/hydra-xp-startup.toml")),
    ("mix-financial1", include_str!("../../workloads/mix-financial1.toml")),
    ("mix-msnfs", include_str!("../../workloads/mix-msnfs.toml")),
    ("mix-windows-pc", include_str!("../../workloads/mix-windows-pc.toml")),
    ("mixed-70-30-4k", include_str!("../../workloads/mixed-70-30-4k.toml")),
    ("oltp", include_str!("../../workloads/oltp.toml")),
    ("random-read-4k", include_str!("../../workloads/random-read-4k.toml")),
    ("random-write-4k", include_str!("../../workloads/random-write-4k.toml")),
    ("sequential-read-128k", include_str!("../../workloads/sequential-read-128k.toml")),
    ("sequential-write-128k", include_str!("../../workloads/sequential-write-128k.toml")),
    ("sung-as-ssd", include_str!("../../workloads/sung-as-ssd.toml")),
    ("sung-financial1", include_str!("../../workloads/sung-financial1.toml")),
    ("sung-financial2", include_str!("../../workloads/sung-financial2.toml")),
    ("sung-four-reads", include_str!("../../workloads/sung-four-reads.toml")),
    ("sung-merge", include_str!("../../workloads/sung-merge.toml")),
    ("sung-msnfs", include_str!("../../workloads/sung-msnfs.toml")),
    ("sung-pcmark", include_str!("../../workloads/sung-pcmark.toml")),
    ("sung-windows-pc", include_str!("../../workloads/sung-windows-pc.toml")),
    ("virus-scan", include_str!("../../workloads/virus-scan.toml")),
    ("zipf-write-4k", include_str!("../../workloads/zipf-write-4k.toml")),
    ("zone-append-64k", include_str!("../../workloads/zone-append-64k.toml")),
    ("zone-write-reset", include_str!("../../workloads/zone-write-reset.toml")),
];

/// The name and text of every workload under `workloads/`, in order of name. A name that ends in `.fio` is a fio job
/// file for [`crate::fio::parse`]. The others are TOML: scripts if they list requests (see [`crate::script`]), writes to
/// zones if they have a table of zones (see [`ZoneWritesSpec`](crate::ZoneWritesSpec)), otherwise generators for [`GeneratorSpec::from_toml`](super::GeneratorSpec::from_toml).
#[must_use]
pub const fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}
