//! Devices that use every key of streams by placement identifier, and of Flexible Data Placement.

/// Lists the devices: for each the name, the part, the keys of its array and its other tables.
pub(super) fn devices(part: &str) -> [(&'static str, String, &'static str, &'static str); 2] {
    [
        (
            "page, streams by placement identifier",
            part.to_owned(),
            "channels = 2\nchips = 2\n",
            r#"[ftl]
over-provisioning = "72%"
streams = { host = { policy = "placement-id", streams = 3 }, copies = { policy = "same" } }
"#,
        ),
        (
            "page, Flexible Data Placement",
            part.to_owned(),
            "channels = 2\nchips = 2\n",
            "[ftl]\nover-provisioning = \"75%\"\nfdp = { handles = 3, isolation = \"persistent\", reclaim-groups = 2 }\n",
        ),
    ]
}
