//! A device whose keys describe superblocks in several dies.

/// Its name, its part, the keys of its array and its other tables.
pub(super) fn devices(part: &str) -> [(&'static str, String, &'static str, &'static str); 1] {
    [(
        "page, parity in four dies",
        part.to_owned(),
        "channels = 2\nchips = 4\ncontrollers = \"none\"\nfaults = { uncorrectable-reads = \"1%\" }\n",
        "[host]\nqueue-depth = 12\n[ftl]\nover-provisioning = \"65%\"\nsuperblock-dies = 4\nparity = true\n",
    )]
}
