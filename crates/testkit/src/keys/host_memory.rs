//! Devices whose keys describe a map cache in the host's memory.

/// Their names and their tables. Each has more translation pages than a set of the cache, so that its size makes a difference.
pub(super) fn devices() -> [(&'static str, String); 3] {
    [
        ("page, host memory, dftl", "kind = \"dftl\"\ncmt = \"256B\"\nways = 2\noutstanding = 3\nshared-loads = true"),
        ("page, host memory, cdftl", "kind = \"cdftl\"\ncmt = \"128B\"\nctp = \"1KiB\"\nways = 2\noutstanding = 3"),
        ("page, host memory, fmmu", "kind = \"fmmu\"\ncmt = \"128B\"\nctp = \"1KiB\"\nways = 2\nqueue = 3"),
    ]
    .map(|(name, map)| {
        let rest = format!(
            "[host]\nlink = {{ rate = \"100MB/s\", overhead = \"2us\", duplex = \"full\" }}\nqueue-depth = 12\n\
             [host.hmb]\nsize = \"8KiB\"\nchanges = [{{ at = \"8ms\", size = \"0B\" }}, {{ at = \"12ms\", size = \"8KiB\" }}]\n\
             [ftl]\nmap-unit = \"512B\"\nover-provisioning = \"66%\"\n\
             [ftl.map]\n{map}\nhmb = {{ preferred = \"8KiB\", minimum = \"4KiB\", latency = \"3us\" }}\n"
        );
        (name, rest)
    })
}
