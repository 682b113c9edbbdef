//! Devices that use every key of an SLC cache.

/// Lists the devices: for each the name, the part, the keys of its array and its other tables.
pub(super) fn devices(part: &str) -> [(&'static str, String, &'static str, &'static str); 4] {
    let part = format!("{part}slc_mode = {{ read = \"10us\", program = \"90us\", endurance = 9 }}\n");
    [
        (
            "page, SLC cache",
            part.clone(),
            "channels = 2\nchips = 2\nfaults = { wear-out = true }\n",
            r#"[ftl]
over-provisioning = "60%"
streams = { host = { policy = "size", limits = ["8KiB"] } }
slc-cache = { size = "128KiB", overflow = "fold", streams = 1 }
"#,
        ),
        (
            "page, SLC cache that returns",
            part.clone(),
            "channels = 2\nchips = 2\n",
            r#"[ftl]
over-provisioning = "60%"
slc-cache = { size = "192KiB", overflow = "fold-beside", reuse = "192KiB" }
"#,
        ),
        (
            "page, SLC cache that is static in part",
            part.clone(),
            "channels = 2\nchips = 2\n",
            r#"[ftl]
over-provisioning = "60%"
slc-cache = { size = "192KiB", static = "128KiB", overflow = "fold-beside" }
"#,
        ),
        (
            "page, SLC cache that shrinks",
            part,
            "channels = 2\nchips = 2\n",
            r#"[ftl]
over-provisioning = "60%"
slc-cache = { size = "1MiB", points = [{ fill = "100%", size = "128KiB" }], fold = "copy-back", idle = { after = "300us", down-to = "64KiB" } }
"#,
        ),
    ]
}
