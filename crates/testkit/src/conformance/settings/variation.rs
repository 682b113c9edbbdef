//! Settings in which array times differ between blocks and change with wear, for every family whose drives may do so.

use base::units::Ratio;
use flash::backend::{Controllers, VariationSpec};
use ssd::{FtlKind, Spec};

use super::{Setting, samples, short};

/// Blocks that differ much, and change much with wear.
pub(crate) fn varied() -> VariationSpec {
    VariationSpec {
        read: Ratio::new(0.2),
        program: Ratio::new(0.4),
        erase: Ratio::new(0.5),
        program_wear: Ratio::new(0.3),
        erase_wear: Ratio::new(1.5),
    }
}

/// The first sample of each family with blocks that differ; of the page map, also with suspension.
pub(super) fn of_families() -> Vec<Setting> {
    let mut settings = Vec::new();
    for kind in FtlKind::EVERY {
        let mut add = |name: &str, change: &dyn Fn(&mut Spec)| {
            let Some(mut spec) = samples::first(kind) else { return };
            spec.flash.variation = Some(varied());
            change(&mut spec);
            if spec.resolve().is_ok() {
                settings.push(Setting { name: format!("{}, blocks that differ{name}", kind.name()), spec });
            }
        };
        add("", &|_| {});
        if kind == FtlKind::Page {
            add(", suspension", &|spec| {
                spec.flash.controllers = Controllers::None;
                spec.flash.suspend = Some(short());
            });
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_families_but_changs_have_such_a_setting() {
        let kinds: Vec<FtlKind> = of_families().iter().map(|setting| setting.spec.ftl.kind).collect();
        let without: Vec<_> = FtlKind::EVERY.into_iter().filter(|kind| !kinds.contains(kind)).collect();
        assert_eq!(without, [FtlKind::Chang]);
    }
}
