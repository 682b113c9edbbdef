//! The arithmetic of double parity: bytes as elements of the field of 256 elements.
//!
//! The field is that of RAID 6 in Linux: polynomials over two elements modulo x^8 + x^4 + x^3 + x^2 + 1, with the generator x
//! (H. P. Anvin, "The mathematics of RAID-6", 2004). A sum is an exclusive or.

/// x^8 modulo the polynomial.
const REDUCTION: u8 = 0x1d;

/// Multiplies an element by the generator.
const fn doubled(a: u8) -> u8 {
    (a << 1) ^ (if a >> 7 == 1 { REDUCTION } else { 0 })
}

/// The powers of the generator, from 0 on, and their logarithms.
const TABLES: ([u8; 255], [u8; 256]) = {
    let (mut powers, mut logarithms) = ([0; 255], [0; 256]);
    let (mut power, mut i) = (1, 0);
    while i < 255 {
        powers[i] = power;
        logarithms[power as usize] = i as u8;
        power = doubled(power);
        i += 1;
    }
    (powers, logarithms)
};

pub(crate) const fn power(exponent: u32) -> u8 {
    TABLES.0[(exponent % 255) as usize]
}

/// The product of two elements.
pub(crate) const fn product(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    power(TABLES.1[a as usize] as u32 + TABLES.1[b as usize] as u32)
}

/// The inverse of an element.
///
/// # Panics
/// If the element is zero.
pub(crate) const fn inverse(a: u8) -> u8 {
    assert!(a != 0, "zero has no inverse");
    power(255 - TABLES.1[a as usize] as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by long multiplication: the sum of shifted terms, reduced one by one.
    fn long_product(a: u8, b: u8) -> u8 {
        let (mut sum, mut term) = (0, a);
        for bit in 0..8 {
            if b >> bit & 1 == 1 {
                sum ^= term;
            }
            term = doubled(term);
        }
        sum
    }

    #[test]
    fn products_agree_with_long_multiplication() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(product(a, b), long_product(a, b), "{a} times {b}");
            }
        }
    }

    #[test]
    fn an_element_times_its_inverse_is_one() {
        (1..=255).for_each(|a| assert_eq!(product(a, inverse(a)), 1, "{a}"));
    }

    #[test]
    fn powers_of_the_generator_are_those_that_anvin_lists() {
        assert_eq!([0, 1, 7, 8, 9, 25, 254].map(power), [1, 2, 0x80, 0x1d, 0x3a, 0x03, 0x8e]);
    }
}
