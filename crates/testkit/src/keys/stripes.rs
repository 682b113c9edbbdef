//! Devices that use every key of superblocks in several dies.

/// Lists the devices: for each the name, the part, the keys of its array and its other tables.
pub(super) fn devices(part: &str) -> [(&'static str, String, &'static str, &'static str); 2] {
    [
        (
            "page, parity in four dies",
            part.to_owned(),
            "channels = 2\nchips = 4\ncontrollers = \"none\"\nfaults = { uncorrectable-reads = \"1%\" }\n",
            "[host]\nqueue-depth = 12\n[ftl]\nover-provisioning = \"65%\"\nsuperblock-dies = 4\nparity = true\n",
        ),
        (
            "page, parity and a failed die",
            part.to_owned(),
            "channels = 2\nchips = 2\ncontrollers = \"none\"\nfaults = { dies = [{ die = 3, at = \"100ms\" }] }\n",
            "[ftl]\nover-provisioning = \"75%\"\nsuperblock-dies = 4\nparity = true\nrebuild-rate = \"4MB/s\"\n",
        ),
    ]
}
