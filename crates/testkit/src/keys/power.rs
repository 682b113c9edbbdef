//! Devices that use every key of power states, heat, a power cap and operational power states.

/// Lists the devices: for each the name, the part, the keys of its array and its other tables. The flash of those that
/// get hot draws nothing, so that its electrical figures change only energies, as on other devices.
pub(super) fn devices(part: &str) -> [(&'static str, String, &'static str, &'static str); 4] {
    let flash = "channels = 2\nchips = 2\nfaults = { wear-out = true }\n";
    let cold = part.replace("3.3V", "0V").replace("bus_pj_per_byte = 435.6", "bus_pj_per_byte = 0.0");
    [
        (
            "page, power states and heat",
            cold.clone(),
            flash,
            r#"[host]
queue-depth = 2
[ftl]
over-provisioning = "45%"
[power]
controller = { active = "3W", idle = "1W" }
states = [{ power = "500mW", idle-after = "100us", entry = "300us", exit = "60us" }, { power = "5mW", idle-after = "5ms", entry = "100us", exit = "300us" }]
thermal = { ambient = "30C", resistance = "10K/W", time-constant = "3ms", sample = "100us", throttle = { style = "proportional", from = "35C", to = "70C", highest-rate = "20MB/s", lowest-rate = "5MB/s" } }
"#,
        ),
        (
            "page, power states and heat, on and off",
            cold,
            flash,
            r#"[host]
queue-depth = 2
[ftl]
over-provisioning = "45%"
[power]
controller = { active = "3W", idle = "1W" }
thermal = { ambient = "30C", resistance = "10K/W", time-constant = "3ms", sample = "1ms", throttle = { style = "on-off", from = "45C", to = "50C", lowest-rate = "5MB/s" } }
"#,
        ),
        (
            "page, power cap",
            part.to_owned(),
            "channels = 2\nchips = 2\ncontrollers = \"none\"\nfaults = { wear-out = true }\n",
            r#"[ftl]
over-provisioning = "45%"
[power]
cap = { peak = "110mW", average = "80mW", window = "700us" }
"#,
        ),
        (
            "page, power states that are operational",
            part.to_owned(),
            "channels = 2\nchips = 2\ncontrollers = \"none\"\nfaults = { wear-out = true }\n",
            r#"[ftl]
over-provisioning = "45%"
[power]
controller = { active = "1W", idle = "1W" }
operational = [{ power = "3W" }, { power = "1130mW", entry = "10us", exit = "20us" }]
select = 1
"#,
        ),
    ]
}
