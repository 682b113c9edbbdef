//! Temperature: charge leaks faster from warm cells.

use base::units::Temperature;
use libm::exp;

/// Boltzmann's constant, in electronvolts per kelvin.
const BOLTZMANN: f64 = 8.62e-5;

/// The factor by which cells age faster at `at` than at `reference` (Arrhenius, JESD218): `exp(E / k (1 / T_reference -
/// 1 / T_at))`.
#[must_use]
pub fn acceleration(activation_ev: f64, reference: Temperature, at: Temperature) -> f64 {
    exp(activation_ev / BOLTZMANN * (1.0 / reference.as_kelvin() - 1.0 / at.as_kelvin()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_those_of_jesd218_at_1_1_ev() {
        let factor = |from, to| acceleration(1.1, Temperature::from_celsius(from), Temperature::from_celsius(to));
        for (from, to, wanted) in [(40, 66, 22.8), (30, 40, 3.8), (40, 55, 6.4)] {
            let found = factor(from, to);
            assert!((found / wanted - 1.0).abs() < 0.02, "{from} C to {to} C: {found}");
        }
        assert!((factor(40, 40) - 1.0).abs() < 1e-12 && (factor(40, 30) * factor(30, 40) - 1.0).abs() < 1e-12);
    }
}
