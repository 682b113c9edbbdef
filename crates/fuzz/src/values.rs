//! Damages the values of a TOML text: it stays valid TOML with doubtful values.

use base::engine::Rng;
use toml::{Table, Value};

use crate::mutate;

/// Numbers for descriptions, mostly small.
const NUMBERS: [i64; 16] = [0, 1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 1000, 65_535, 65_536, 4_294_967_295, -1];

/// Quantities of every kind.
const QUANTITIES: [&str; 24] = [
    "0ns", "1ps", "1us", "25us", "3ms", "10s", "100h", "0B", "512B", "1KiB", "3KiB", "4KiB", "1MiB", "16MiB", "1GiB",
    "0%", "0.01%", "1%", "50%", "99.99%", "100%", "1MB/s", "1B/s", "1000GB/s",
];

/// Damages one or a few values. Input that is not TOML is damaged byte by byte.
#[must_use]
pub fn damage(rng: &mut Rng, input: &[u8], other: &[u8]) -> Vec<u8> {
    let parse = |bytes: &[u8]| std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<Table>().ok());
    let (Some(mut table), Some(other_table)) = (parse(input), parse(other)) else {
        let mut bytes = input.to_vec();
        mutate::damage(rng, &mut bytes, &[], other);
        return bytes;
    };
    for _ in 0..1 + rng.below(3) {
        visit(rng, &mut table, Some(&other_table));
    }
    toml::to_string(&table).map_or_else(|_| input.to_vec(), String::into_bytes)
}

/// Damages a value in `table`. `other` is the same table of another input.
fn visit(rng: &mut Rng, table: &mut Table, other: Option<&Table>) {
    if table.is_empty() {
        return;
    }
    let key = table.keys().nth(rng.below(table.len() as u64) as usize).expect("it has as many").clone();
    if let (Value::Table(inner), true) = (&mut table[&key], rng.chance(0.9)) {
        return visit(rng, inner, other.and_then(|other| other.get(&key)).and_then(Value::as_table));
    }
    match (rng.below(12), other) {
        (0, _) => {
            table.remove(&key);
        }
        // Takes a key or a value from the other table.
        (1..=3, Some(other)) if !other.is_empty() => {
            let (key, value) = other.iter().nth(rng.below(other.len() as u64) as usize).expect("it has as many");
            table.insert(key.clone(), value.clone());
        }
        (4..=5, Some(value)) if value.contains_key(&key) => {
            table.insert(key.clone(), value[&key].clone());
        }
        _ => replace(rng, &mut table[&key]),
    }
}

fn replace(rng: &mut Rng, value: &mut Value) {
    match value {
        Value::Boolean(flag) => *flag = !*flag,
        Value::Integer(number) => {
            *number = match rng.below(4) {
                0 => number.wrapping_mul(2),
                1 => number.wrapping_add(1),
                2 => *number / 2,
                _ => NUMBERS[rng.below(NUMBERS.len() as u64) as usize],
            }
        }
        Value::Float(number) => *number *= [0.0, -1.0, 1e300, 0.5][rng.below(4) as usize],
        Value::String(text) => quantity(rng, text),
        Value::Array(items) => match (rng.below(3), items.is_empty()) {
            (_, true) => items.push(Value::Integer(1)),
            (0, false) => drop(items.pop()),
            (1, false) => items.push(items[0].clone()),
            (_, false) => {
                let at = rng.below(items.len() as u64) as usize;
                match &mut items[at] {
                    Value::Table(table) => visit(rng, table, None),
                    item => replace(rng, item),
                }
            }
        },
        Value::Table(_) | Value::Datetime(_) => *value = Value::Integer(1),
    }
}

/// Changes the number before a unit of measure, or the whole quantity.
fn quantity(rng: &mut Rng, text: &mut String) {
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    *text = if digits > 0 && rng.chance(0.6) {
        let number = [
            "0",
            "1",
            "2",
            "3",
            "7",
            "10",
            "0.001",
            "33.3",
            "64",
            "99",
            "512",
            "1024",
            "65536",
            "18446744073709551615",
        ][rng.below(14) as usize];
        format!("{number}{}", &text[digits..])
    } else {
        QUANTITIES[rng.below(QUANTITIES.len() as u64) as usize].to_owned()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_table_is_a_different_valid_toml() {
        let text = b"name = \"x\"\n[flash]\nblocks = 8\nsize = \"4MiB\"\nflags = [1, 2]\n[ftl]\ngc = { start = 2 }\n";
        let mut different = 0;
        for seed in 0..200 {
            let damaged = damage(&mut Rng::stream(seed, "fuzz"), text, text);
            let table = std::str::from_utf8(&damaged).expect("text").parse::<Table>().expect("TOML");
            different += u32::from(table != std::str::from_utf8(text).expect("text").parse::<Table>().expect("TOML"));
        }
        assert!(different > 120, "{different}");
    }
}
