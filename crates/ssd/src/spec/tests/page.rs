//! Devices with a page map: resolved values and refused descriptions.

use super::super::Spec;
use crate::ResolvedDevice;
use base::fault::Fault;

/// Pages of 2 KiB.
fn resolve(ftl: &str, host: &str) -> Result<ResolvedDevice, Vec<Fault>> {
    let flash = "part = \"dirik-2009\"\nchannels = 1\nchips = 1\nblocks = 32\npages = 16\nplanes = 1";
    let text = format!("name = \"p\"\n[flash]\n{flash}\n[ftl]\nover-provisioning = \"40%\"\n{ftl}\n[host]\n{host}\n");
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.resolve()
}

#[test]
fn requests_are_chopped_into_whole_mapping_units() {
    let chopped = |size: &str| resolve("", &format!("chop = \"{size}\""));
    assert_eq!(chopped("2KiB").expect("a mapping unit").host.chop, Some(1));
    assert_eq!(chopped("16KiB").expect("eight mapping units").host.chop, Some(8));
    for size in ["0B", "1KiB", "3KiB"] {
        let faults = chopped(size).expect_err("no multiple");
        let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(paths, ["host.chop"], "{size}");
    }
}

#[test]
fn the_format_states_the_sizes_of_pages_and_mapping_units() {
    for (ftl, unit) in [("", "2048"), ("map-unit = \"1KiB\"", "1024"), ("map-unit = \"512B\"", "512")] {
        let format = resolve(ftl, "").expect("sound").format();
        let of = |wanted: &str| format.iter().find(|(key, _)| *key == wanted).map(|(_, value)| value.as_str());
        assert_eq!((of("bytes of a page"), of("bytes of a mapping unit")), (Some("2048"), Some(unit)));
    }
}

#[test]
fn a_set_of_dies_has_its_share_of_the_capacity() {
    let sound = |host: &str| {
        let flash = "part = \"dirik-2009\"\nchannels = 2\nchips = 2\nblocks = 32\npages = 16\nplanes = 1";
        let text = format!("name = \"p\"\n[flash]\n{flash}\n[ftl]\nover-provisioning = \"40%\"\n{host}\n");
        toml::from_str::<Spec>(&text).expect("a description").resolve().expect("sound")
    };
    let resolved = sound("[[host.queue]]\n[[host.queue]]\ndies = [1, 2]");
    // Garbage collection keeps one superblock of 16 mapping units of each set.
    let room = |set| resolved.room(set).expect("a page map confines writes") + 16;
    assert_eq!(room(0), 2 * room(1));
    assert!(room(0) > u64::from(resolved.units));
}
