//! Turns valid inputs into nearly valid inputs.

use base::engine::Rng;

/// Numbers at which arithmetic breaks.
const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "-1",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "0.1",
    "1e308",
    "nan",
    "99999999999999999999999999999999",
];

/// Characters that separate, quote or end something in one of the formats.
const MARKS: &[u8] = b",;:.=+-\"'`[]{}()#\\/ \t\r\n\0%_eExX";

/// The longest damaged input.
const LONGEST: usize = 64 << 10;

/// Damages `input` one to a few times. `words` are the words of its format, `other` is another input of the same kind.
pub fn damage(rng: &mut Rng, input: &mut Vec<u8>, words: &[&str], other: &[u8]) {
    for _ in 0..1 + rng.below(4) {
        once(rng, input, words, other);
        input.truncate(LONGEST);
    }
}

fn once(rng: &mut Rng, input: &mut Vec<u8>, words: &[&str], other: &[u8]) {
    let at = rng.below(input.len() as u64 + 1) as usize;
    match rng.below(14) {
        0 => flip(rng, input),
        1 => replace(input, at, at, &[rng.bits() as u8]),
        2 => {
            let mark = MARKS[rng.below(MARKS.len() as u64) as usize];
            replace(input, at, at + rng.below(2) as usize, &[mark]);
        }
        3 => input.truncate(at),
        4 => replace(input, at, at + 1 + rng.below(8) as usize, b""),
        5 => splice(rng, input, at, other),
        6 if !words.is_empty() => {
            let word = words[rng.below(words.len() as u64) as usize];
            replace(input, at, at, word.as_bytes());
        }
        7 => twice(rng, input, at),
        8 => swap_lines(rng, input),
        9 => binary_number(rng, input, at),
        _ => number(rng, input),
    }
}

fn flip(rng: &mut Rng, input: &mut [u8]) {
    if !input.is_empty() {
        let at = rng.below(input.len() as u64) as usize;
        input[at] ^= 1 << rng.below(8);
    }
}

fn replace(input: &mut Vec<u8>, from: usize, to: usize, by: &[u8]) {
    let to = to.min(input.len());
    input.splice(from.min(to)..to, by.iter().copied());
}

/// Replaces a piece of this input by a piece of the other.
fn splice(rng: &mut Rng, input: &mut Vec<u8>, at: usize, other: &[u8]) {
    let from = rng.below(other.len() as u64 + 1) as usize;
    let piece = &other[from..(from + 1 + rng.below(200) as usize).min(other.len())];
    replace(input, at, at + rng.below(40) as usize, piece);
}

/// Repeats a piece of the input once or many times.
fn twice(rng: &mut Rng, input: &mut Vec<u8>, at: usize) {
    let end = (at + 1 + rng.below(60) as usize).min(input.len());
    let times = if rng.chance(0.1) { 200 } else { 1 };
    let piece = input[at..end].repeat(times);
    replace(input, end, end, &piece);
}

fn swap_lines(rng: &mut Rng, input: &mut Vec<u8>) {
    let mut lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.len() > 1 {
        let [a, b] = [(); 2].map(|()| rng.below(lines.len() as u64) as usize);
        lines.swap(a, b);
        *input = lines.concat();
    }
}

/// Writes a boundary value as a number of a binary format.
fn binary_number(rng: &mut Rng, input: &mut Vec<u8>, at: usize) {
    let values = [0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 63, rng.bits()];
    let value = values[rng.below(values.len() as u64) as usize];
    let width = 1 << rng.below(4);
    replace(input, at, at + width, &value.to_le_bytes()[..width]);
}

/// Replaces a number in digits by another.
fn number(rng: &mut Rng, input: &mut Vec<u8>) {
    let starts: Vec<usize> = (0..input.len())
        .filter(|i| input[*i].is_ascii_digit() && (*i == 0 || !input[*i - 1].is_ascii_digit()))
        .collect();
    if starts.is_empty() {
        return;
    }
    let from = starts[rng.below(starts.len() as u64) as usize];
    let len = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let by = match rng.below(3) {
        0 => rng.below(100).to_string(),
        1 => rng.bits().to_string(),
        _ => NUMBERS[rng.below(NUMBERS.len() as u64) as usize].to_owned(),
    };
    replace(input, from, from + len, by.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_damage_and_other_seeds_differ() {
        let damaged = |seed| {
            let mut input = b"0,303567,3584,w,0.026214\n1,2,3,r,4\n".repeat(3);
            damage(&mut Rng::stream(seed, "fuzz"), &mut input, &["word"], b"another input, 12");
            input
        };
        assert_eq!(damaged(1), damaged(1));
        let different: std::collections::BTreeSet<_> = (0..200).map(damaged).collect();
        assert!(different.len() > 150, "{}", different.len());
    }

    #[test]
    fn an_empty_input_can_be_damaged() {
        for seed in 0..2000 {
            let mut input = Vec::new();
            damage(&mut Rng::stream(seed, "fuzz"), &mut input, &[], b"");
        }
    }
}
