//! Parity and the recovery from it: P is the sum of the data of a stripe, Q the sum of the data times powers of the
//! generator.

use crate::field::{inverse, power, product};

/// A shard of a stripe: the bytes at one place of the chunk of one drive. Data come first, then P, then Q.
pub(crate) type Shard = Vec<u8>;

/// Adds `factor` times the bytes of `from` to `into`. A served RAID adds the bytes of whole drives, so the products of
/// a factor come from a table.
fn add(into: &mut [u8], from: &[u8], factor: u8) {
    if factor == 1 {
        return into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from);
    }
    let products: [u8; 256] = std::array::from_fn(|byte| product(factor, byte as u8));
    into.iter_mut().zip(from).for_each(|(into, from)| *into ^= products[*from as usize]);
}

/// The factor of a data shard in a parity (0 for P, 1 for Q).
const fn factor(parity: usize, index: usize) -> u8 {
    if parity == 0 { 1 } else { power(index as u32) }
}

/// Applies a change of a data shard to a parity: P for number 0, Q for number 1.
pub(crate) fn change(into: &mut [u8], parity: usize, index: usize, old: &[u8], new: &[u8]) {
    add(into, old, factor(parity, index));
    add(into, new, factor(parity, index));
}

/// Computes a parity of data shards: P for number 0, Q for number 1.
pub(crate) fn parity(number: usize, data: &[Shard]) -> Shard {
    let mut sum = vec![0; data.first().map_or(0, Vec::len)];
    data.iter().enumerate().for_each(|(index, shard)| add(&mut sum, shard, factor(number, index)));
    sum
}

/// Recovers the missing data shards: `None` stands for a missing shard, and the first `count` shards are data. Missing
/// parity is not computed. The caller makes sure that there are as many parity shards as data shards are missing.
///
/// # Panics
///
/// If more shards are missing.
pub(crate) fn recover(shards: &mut [Option<Shard>], count: usize) {
    let missing: Vec<usize> = (0..count).filter(|&i| shards[i].is_none()).collect();
    // The sum of the missing data with their factors, from each parity.
    let left = |number: usize| -> Option<Shard> {
        let mut sum = shards.get(count + number)?.clone()?;
        for (index, shard) in shards[..count].iter().enumerate() {
            shard.iter().for_each(|shard| add(&mut sum, shard, factor(number, index)));
        }
        Some(sum)
    };
    match missing[..] {
        [] => {}
        [one] => {
            let number = (0..2).find(|number| shards.get(count + number).is_some_and(Option::is_some));
            let number = number.expect("a parity is left");
            let mut found = left(number).expect("it is there");
            let back = inverse(factor(number, one));
            if back != 1 {
                found.iter_mut().for_each(|byte| *byte = product(back, *byte));
            }
            shards[one] = Some(found);
        }
        [one, other] => {
            let (p, q) = (left(0).expect("P is left"), left(1).expect("Q is left"));
            // With p = a + b and q = f a + g b: a = (q + g p) / (f + g).
            let (f, g) = (factor(1, one), factor(1, other));
            let back = inverse(f ^ g);
            let found: Shard = p.iter().zip(&q).map(|(p, q)| product(back, q ^ product(g, *p))).collect();
            shards[other] = Some(p.iter().zip(&found).map(|(p, a)| p ^ a).collect());
            shards[one] = Some(found);
        }
        _ => panic!("{} data shards are missing, and two parities bring back two", missing.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripe(count: usize, parities: usize) -> Vec<Shard> {
        let data: Vec<Shard> = (0..count).map(|i| (0..16).map(|j| (i * 37 + j * 11 + i * j) as u8).collect()).collect();
        let parity = (0..parities).map(|number| parity(number, &data)).collect::<Vec<_>>();
        data.into_iter().chain(parity).collect()
    }

    #[test]
    fn any_shards_up_to_the_number_of_parities_come_back() {
        for (count, parities) in [(1, 1), (2, 1), (5, 1), (2, 2), (6, 2), (30, 2)] {
            let whole = stripe(count, parities);
            for a in 0..count + parities {
                for b in a..count + parities {
                    if parities == 1 && a != b {
                        continue;
                    }
                    let mut shards: Vec<Option<Shard>> = whole.iter().cloned().map(Some).collect();
                    (shards[a], shards[b]) = (None, None);
                    recover(&mut shards, count);
                    for i in 0..count {
                        assert_eq!(shards[i].as_ref(), Some(&whole[i]), "shard {i} of {count} without {a} and {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_change_of_a_shard_leads_to_the_parity_of_the_new_data() {
        let whole = stripe(5, 2);
        let mut data = whole[..5].to_vec();
        data[3] = vec![0xab; 16];
        for number in 0..2 {
            let mut changed = whole[5 + number].clone();
            change(&mut changed, number, 3, &whole[3], &data[3]);
            assert_eq!(changed, parity(number, &data), "parity {number}");
        }
    }
}
