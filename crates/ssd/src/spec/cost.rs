//! The cost of a drive's flash. RAM, controllers and all other parts of a drive are not counted.

use super::ResolvedDevice;

/// The cost of flash, in the price of a GiB of MLC flash (see [`flash::nand::Part::cost`]): only ratios of costs have a
/// meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The cost of the main array, all blocks counted.
    pub flash: f64,
    /// The cost of the SLC array; zero without one.
    pub slc_array: f64,
}

impl Cost {
    /// The sum of the prices of both arrays.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.flash + self.slc_array
    }

    /// The cost of all flash, relative to the cost of the main array (EC in Chang, Sec. 5.1).
    #[must_use]
    pub fn by_array(&self) -> f64 {
        self.total() / self.flash
    }
}

impl ResolvedDevice {
    /// The cost of the drive's flash.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let mut cost = Cost { flash: 0.0, slc_array: 0.0 };
        for (group, drives) in self.groups() {
            cost.flash += group.part.cost(group.flash_of_drive()) * f64::from(drives);
            let slc_array = group.slc_array.as_ref();
            cost.slc_array += slc_array.map_or(0.0, |array| array.part.cost(array.capacity())) * f64::from(drives);
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    fn cost(device: &str, change: impl FnOnce(&mut crate::Spec)) -> super::Cost {
        let (_, text) = crate::builtin().iter().find(|(name, _)| *name == device).expect("a device");
        let mut spec: crate::Spec = toml::from_str(text).expect("TOML");
        change(&mut spec);
        spec.resolve().expect("valid").cost()
    }

    #[test]
    #[allow(clippy::float_cmp)] // Powers of two.
    fn flash_costs_the_price_of_the_paper() {
        // Chang, Sec. 5.6: 256 MiB of SLC flash beside 21 GiB make 1.04.
        let slc_mlc = cost("chang-c3", |_| {});
        assert_eq!(slc_mlc.flash, 21.0);
        assert!((slc_mlc.by_array() - 1.04).abs() < 1e-12, "{slc_mlc:?}");
        assert_eq!(cost("chang-c3-noslc", |_| {}).by_array(), 1.0);
        // 32 GiB of SLC flash.
        assert!((cost("dirik-4x4", |_| {}).total() - 32.0 * 3.36).abs() < 1e-9);
    }

    #[test]
    #[allow(clippy::float_cmp)] // Powers of two.
    fn a_part_may_set_its_own_price() {
        let priced = cost("compare-dirik", |spec| {
            let mut part = flash::nand::Part::preset("K9GAG08U0M").expect("a preset");
            part.cost_per_gib = Some(0.25);
            (spec.flash.part, spec.flash.custom_part) = (None, Some(part.into()));
        });
        assert_eq!((priced.total(), cost("compare-dirik", |_| {}).total()), (2.0, 8.0));
    }
}
