//! The devices that come with Flashloom.

/// One file per device. A new device is a new file and a line here. The name of a device in a folder contains both:
/// `fmmu/16x8.toml` is `fmmu-16x8`.
const BUILTIN: &[(&str, &str)] = &[
    ("chang-c1", include_str!("../../devices/chang/c1.toml")),
    ("chang-c1-noslc", include_str!("../../devices/chang/c1-noslc.toml")),
    ("chang-c2", include_str!("../../devices/chang/c2.toml")),
    ("chang-c2-noslc", include_str!("../../devices/chang/c2-noslc.toml")),
    ("chang-c3", include_str!("../../devices/chang/c3.toml")),
    ("chang-c3-density", include_str!("../../devices/chang/c3-density.toml")),
    ("chang-c3-noslc", include_str!("../../devices/chang/c3-noslc.toml")),
    ("compare-chang", include_str!("../../devices/compare/chang.toml")),
    ("compare-dirik", include_str!("../../devices/compare/dirik.toml")),
    ("compare-fmmu", include_str!("../../devices/compare/fmmu.toml")),
    ("compare-hydra", include_str!("../../devices/compare/hydra.toml")),
    ("compare-sung", include_str!("../../devices/compare/sung.toml")),
    ("demo", include_str!("../../devices/demo.toml")),
    ("demo-raid", include_str!("../../devices/demo-raid.toml")),
    ("demo-rails", include_str!("../../devices/demo-rails.toml")),
    ("demo-zones", include_str!("../../devices/demo-zones.toml")),
    ("dirik-1x1", include_str!("../../devices/dirik/1x1.toml")),
    ("dirik-1x2", include_str!("../../devices/dirik/1x2.toml")),
    ("dirik-1x4", include_str!("../../devices/dirik/1x4.toml")),
    ("dirik-1x4-16bit", include_str!("../../devices/dirik/1x4-16bit.toml")),
    ("dirik-1x4-32bit", include_str!("../../devices/dirik/1x4-32bit.toml")),
    ("dirik-1x4-read-first", include_str!("../../devices/dirik/1x4-read-first.toml")),
    ("dirik-1x8", include_str!("../../devices/dirik/1x8.toml")),
    ("dirik-2x4", include_str!("../../devices/dirik/2x4.toml")),
    ("dirik-4x4", include_str!("../../devices/dirik/4x4.toml")),
    ("dirik-gang-2", include_str!("../../devices/dirik/gang-2.toml")),
    ("dirik-gang-4", include_str!("../../devices/dirik/gang-4.toml")),
    ("dirik-gang-8", include_str!("../../devices/dirik/gang-8.toml")),
    ("fmmu-16x8", include_str!("../../devices/fmmu/16x8.toml")),
    ("fmmu-16x8-cdftl", include_str!("../../devices/fmmu/16x8-cdftl.toml")),
    ("fmmu-16x8-dftl", include_str!("../../devices/fmmu/16x8-dftl.toml")),
    ("fmmu-16x8-ideal", include_str!("../../devices/fmmu/16x8-ideal.toml")),
    ("fmmu-16x8-ram", include_str!("../../devices/fmmu/16x8-ram.toml")),
    ("fmmu-16x8-v1", include_str!("../../devices/fmmu/16x8-v1.toml")),
    ("fmmu-32x8", include_str!("../../devices/fmmu/32x8.toml")),
    ("hydra-no-buffer", include_str!("../../devices/hydra/no-buffer.toml")),
    ("hydra-prototype", include_str!("../../devices/hydra/prototype.toml")),
    ("mix-buffered-fast", include_str!("../../devices/mix/buffered-fast.toml")),
    ("mix-buffered-page", include_str!("../../devices/mix/buffered-page.toml")),
    ("mix-fmmu-priority", include_str!("../../devices/mix/fmmu-priority.toml")),
    ("mix-page-controllers", include_str!("../../devices/mix/page-controllers.toml")),
    ("mix-slc-log-page", include_str!("../../devices/mix/slc-log-page.toml")),
    ("qlc", include_str!("../../devices/qlc.toml")),
    ("small-chang", include_str!("../../devices/small/chang.toml")),
    ("small-dirik", include_str!("../../devices/small/dirik.toml")),
    ("small-fmmu", include_str!("../../devices/small/fmmu.toml")),
    ("small-hydra", include_str!("../../devices/small/hydra.toml")),
    ("small-sung", include_str!("../../devices/small/sung.toml")),
    ("sung-pmcd", include_str!("../../devices/sung/pmcd.toml")),
    ("sung-pmcd-apart", include_str!("../../devices/sung/pmcd-apart.toml")),
    ("sung-tmcd", include_str!("../../devices/sung/tmcd.toml")),
    ("sung-tmcd-apart", include_str!("../../devices/sung/tmcd-apart.toml")),
    ("tlc-1tb", include_str!("../../devices/tlc-1tb.toml")),
    ("today-670p-like", include_str!("../../devices/today/670p-like.toml")),
    ("today-970-evo-plus-like", include_str!("../../devices/today/970-evo-plus-like.toml")),
    ("today-980-like", include_str!("../../devices/today/980-like.toml")),
    ("today-980-pro-like", include_str!("../../devices/today/980-pro-like.toml")),
    ("today-ce430-like", include_str!("../../devices/today/ce430-like.toml")),
    ("today-fl6-like", include_str!("../../devices/today/fl6-like.toml")),
    ("today-nvmevirt-970-pro", include_str!("../../devices/today/nvmevirt-970-pro.toml")),
    ("today-nvmevirt-zn540", include_str!("../../devices/today/nvmevirt-zn540.toml")),
    ("today-p5316-like", include_str!("../../devices/today/p5316-like.toml")),
    ("today-pm9a3-like", include_str!("../../devices/today/pm9a3-like.toml")),
    ("today-pm9d3a-like", include_str!("../../devices/today/pm9d3a-like.toml")),
    ("today-small-zones", include_str!("../../devices/today/small-zones.toml")),
    ("today-sn850x-like", include_str!("../../devices/today/sn850x-like.toml")),
    ("today-zn540-block", include_str!("../../devices/today/zn540-block.toml")),
    ("today-zn540-like", include_str!("../../devices/today/zn540-like.toml")),
];

/// The name and the text of every device file under `devices/`, by name.
#[must_use]
pub const fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    #[test]
    fn every_device_has_a_name_a_source_and_no_fault() {
        for (name, text) in builtin() {
            let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(spec.name, *name);
            assert!(!spec.description.is_empty(), "{name} has no description");
            assert!(text.lines().take_while(|line| line.starts_with('#')).count() >= 4, "{name}: where is it from?");
            let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
            let written = toml::to_string(&resolved.spec).expect(name);
            assert_eq!(toml::from_str::<Spec>(&written).expect(name), resolved.spec, "{name} reads back otherwise");
        }
        assert!(builtin().is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn the_organisations_of_dirik_have_one_raw_capacity() {
        let of = |name: &&(&str, &str)| toml::from_str::<Spec>(name.1).expect("sound").resolve().expect("sound");
        let all: Vec<_> = builtin().iter().filter(|(name, _)| name.starts_with("dirik")).collect();
        assert_eq!(all.len(), 12);
        for device in all.iter().map(of) {
            assert_eq!(device.raw_capacity(), base::units::Bytes::new(32 << 30), "{}", device.spec.name);
        }
    }
}
