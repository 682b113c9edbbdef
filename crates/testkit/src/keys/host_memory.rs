//! Devices that use every key of a map cache in the host memory buffer.

/// Lists the devices: for each the name and the tables. Each has more translation pages than a set of the cache, so
/// that the cache size makes a difference.
pub(super) fn devices() -> [(&'static str, String); 3] {
    [
        ("page, map in host memory, dftl", "kind = \"dftl\"\ncmt = \"512B\"\nways = 2\noutstanding = 3\nshared-loads = true"),
        ("page, map in host memory, cdftl", "kind = \"cdftl\"\ncmt = \"512B\"\nctp = \"2KiB\"\nways = 2\noutstanding = 3"),
        (
            "page, map in host memory, fmmu",
            "kind = \"fmmu\"\ncmt = \"512B\"\nctp = \"1KiB\"\nways = 2\nqueue = 3\nwindow = 2\nhigh = \"90%\"\nlow = \"80%\"",
        ),
    ]
    .map(|(name, map)| {
        let rest = format!(
            r#"[host]
link = {{ rate = "100MB/s", overhead = "2us", duplex = "full" }}
queue-depth = 12
[host.hmb]
size = "8KiB"
changes = [{{ at = "8ms", size = "0B" }}, {{ at = "12ms", size = "32KiB" }}]
[ftl]
map-unit = "512B"
over-provisioning = "66%"
[ftl.map]
{map}
write-buffers = 2
hmb = {{ preferred = "16KiB", minimum = "4KiB", latency = "3us" }}
"#
        );
        (name, rest)
    })
}
