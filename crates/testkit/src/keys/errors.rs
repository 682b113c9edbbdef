//! Devices on which every key of bit errors makes a difference: data that is a month old needs a retry, and new data does not.

/// A part with bit errors that differ between page types, blocks and layers.
fn part(part: &str, retries: &str) -> String {
    format!(
        "{part}[errors]\nbase = 4e-3\nwear = 1e-6\nwear_exponent = 1.0\nretention = 1e-3\nretention_cycles = 0.1\n\
         retention_time = 0.2\ndisturb = 1e-4\ndisturb_cycles = 0.1\ndisturb_reads = 1.0\ntemperature = \"30C\"\n\
         activation_ev = 1.1\npage_types = [1.0, 1.2]\nblock_spread = \"10%\"\nlayers = 2\nlayer_spread = \"10%\"\n{retries}\n"
    )
}

/// Lists the devices: for each the name, the part, the keys of its array and its other tables.
pub(super) fn devices(of: &str) -> [(&'static str, String, &'static str, &'static str); 5] {
    let ftl = "[ftl]\nover-provisioning = \"45%\"\n";
    [
        (
            "page, bit errors",
            part(of, "retry_rber = [\"80%\", \"60%\", \"35%\"]\nretry_time = [\"2us\"]"),
            r#"channels = 2
chips = 2
controllers = "none"
errors = { temperature = "40C", cycles = 1000 }
ecc = { decode = { rate = "60MB/s" }, codeword = "512B", hard-limit = 40 }
"#,
            ftl,
        ),
        (
            "page, bit errors, soft decoding",
            part(of, "retry_rber = [\"90%\", \"80%\"]\nretry_time = [\"2us\", \"5us\"]"),
            r#"channels = 2
chips = 2
controllers = "none"
errors = { temperature = "40C", cycles = 1000, remember = false }
ecc = { decode = { rate = "60MB/s" }, codeword = "512B", hard-limit = 40, soft = { sensings = 2, limit = 60, latency = "9us" } }
"#,
            ftl,
        ),
        (
            "page, SLC cache with bit errors",
            part(
                &format!("{of}slc_mode = {{ read = \"10us\", program = \"90us\", endurance = 9 }}\n"),
                "slc_mode = 1.1\nretry_rber = [\"80%\", \"60%\", \"35%\"]\nretry_time = [\"2us\"]",
            ),
            r#"channels = 2
chips = 2
controllers = "none"
errors = { temperature = "40C", cycles = 1000 }
ecc = { decode = { rate = "60MB/s" }, codeword = "512B", hard-limit = 40 }
"#,
            "[ftl]\nover-provisioning = \"60%\"\nslc-cache = { size = \"256KiB\" }\n",
        ),
        (
            "page, bit errors, refresh by age and reads",
            part(of, "retry_rber = [\"80%\", \"60%\", \"35%\"]\nretry_time = [\"2us\"]"),
            r#"channels = 2
chips = 2
controllers = "none"
errors = { temperature = "40C", cycles = 1000 }
ecc = { decode = { rate = "60MB/s" }, codeword = "512B", hard-limit = 40 }
"#,
            "[ftl]\nover-provisioning = \"60%\"\nrefresh = { age = \"20d\", reads = 30, patrol = \"300us\" }\n",
        ),
        (
            "page, bit errors, refresh by errors",
            part(of, "retry_rber = [\"80%\", \"60%\", \"35%\"]\nretry_time = [\"2us\"]"),
            r#"channels = 2
chips = 2
controllers = "none"
errors = { temperature = "40C", cycles = 1000 }
ecc = { decode = { rate = "60MB/s" }, codeword = "512B", hard-limit = 40 }
"#,
            "[ftl]\nover-provisioning = \"60%\"\nrefresh = { errors = \"95%\" }\n",
        ),
    ]
}
