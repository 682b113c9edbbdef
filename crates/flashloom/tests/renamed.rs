//! Each name of an earlier version is refused with a message that has the current name.

use study::config::{FormerName, RENAMED};

use crate::common::{WORKLOAD, WorkFolder};

/// A drive that has every renamed key.
const DEVICE: &str = r#"name = "small"

[flash]
part = "FMMU-V2"
channels = 2
chips = 2
blocks = 24
pages = 16

[ftl]
map-unit = "4KiB"
over-provisioning = "40%"
map = { kind = "fmmu" }
"#;

#[test]
fn an_old_name_is_refused_with_the_new_one() {
    let place = WorkFolder::new();
    place.write("d.toml", DEVICE);
    place.write("w.toml", WORKLOAD);
    for renamed in RENAMED {
        let (arguments, now) = match renamed {
            FormerName::Key { path, now } => (format!("run d.toml w.toml --set {path}=1"), now),
            FormerName::Value { path, old, now } => (format!("run d.toml w.toml --set {path}=\"{old}\""), now),
            FormerName::Metric { old, now } => {
                let study =
                    format!("name = \"s\"\ndevice = \"d.toml\"\nworkload = \"w.toml\"\nmetrics = [\"{old}\"]\n");
                place.write("s.toml", study);
                ("study s.toml".to_owned(), now)
            }
        };
        let output = place.flashloom(&arguments.split(' ').collect::<Vec<_>>());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{renamed:?}: {message}");
        assert!(message.contains(&format!("it is called `{now}` now")), "{renamed:?}: {message}");
    }
}
