//! Devices that use every key of the course of collection.

/// Lists the devices: for each the name, the part, the keys of its array and its other tables.
pub(super) fn devices(part: &str) -> [(&'static str, String, &'static str, &'static str); 2] {
    let flash = "channels = 2\nchips = 2\n";
    [
        (
            "page, throttle",
            part.to_owned(),
            flash,
            "[ftl]\nover-provisioning = \"60%\"\ngc = { start = 3, stop = 4, throttle = true }\n",
        ),
        (
            "page, collection while idle",
            part.to_owned(),
            flash,
            "[ftl]\nover-provisioning = \"60%\"\ngc = { idle = { after = \"300us\", free = 5 } }\n",
        ),
    ]
}
