//! Settings in which array times differ between blocks and change with wear, for every family whose drives may do so.

use base::units::Ratio;
use flash::backend::{Controllers, VariationSpec};
use ssd::FtlKind;

use super::{Book, Setting, hydra, samples, short};

/// A variation with large differences between blocks and large changes with wear.
pub(crate) fn varied() -> VariationSpec {
    VariationSpec {
        read: Ratio::new(0.2),
        program: Ratio::new(0.4),
        erase: Ratio::new(0.5),
        program_wear: Ratio::new(0.3),
        erase_wear: Ratio::new(1.5),
    }
}

impl Book {
    /// Adds settings of a page map or of a log-block FTL, with and without suspension.
    pub(super) fn blocks_that_differ(&mut self) {
        self.add("blocks that differ", |spec| spec.flash.variation = Some(varied()));
        self.add("blocks that differ, suspension", |spec| {
            spec.flash.variation = Some(varied());
            spec.flash.controllers = Controllers::None;
            spec.flash.suspend = Some(short());
        });
    }
}

/// Creates a setting from the first sample of each family that lists some, and one of Hydra's FTL.
pub(super) fn of_families() -> Vec<Setting> {
    let mut settings = vec![hydra::varying(varied())];
    for kind in FtlKind::UNZONED {
        let Some(mut spec) = samples::first(kind) else { continue };
        spec.flash.variation = Some(varied());
        if spec.resolve().is_ok() {
            settings.push(Setting { name: format!("{}, blocks that differ", kind.name()), spec });
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::super::settings;
    use super::*;

    #[test]
    fn all_families_but_changs_have_such_a_setting() {
        let settings = settings();
        let some = settings.iter().filter(|setting| setting.spec.flash.variation.is_some());
        let kinds: Vec<FtlKind> = some.map(|setting| setting.spec.ftl.kind).collect();
        let without: Vec<_> = FtlKind::UNZONED.into_iter().filter(|kind| !kinds.contains(kind)).collect();
        assert_eq!(without, [FtlKind::Chang]);
    }
}
