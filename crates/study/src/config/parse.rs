//! Reads a file into a TOML table, or reports all places that are not TOML.

use std::io::ErrorKind;
use std::path::Path;

use toml::de::{DeTable, DeValue, Error};
use toml::{Table, Value};

use super::limited;
use super::place::Lines;
use super::shown::shortened;
use super::{ConfigFault, Faults};

/// Reads the text of a file. `what` names the kind of file in messages.
///
/// # Errors
///
/// If the file cannot be read, is too large, or is not text.
pub fn text(path: &Path, what: &str) -> Result<String, Faults> {
    let whole = |line: Option<usize>, message: String, remedy: String| ConfigFault {
        path: Some(path.to_owned()),
        line,
        key: String::new(),
        message,
        remedy,
    };
    let bytes = limited::read(path).map_err(|error| {
        if error.kind() == ErrorKind::FileTooLarge {
            return whole(None, error.to_string(), "give a smaller file".to_owned());
        }
        let (message, remedy) = workload::unreadable(path, &error);
        whole(None, message, remedy)
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let sound = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = sound.iter().filter(|byte| **byte == b'\n').count() + 1;
        whole(Some(line), "is not a text in UTF-8".into(), format!("give {what}")).into()
    })
}

/// The table of a text, or its faults: line, message and remedy.
pub(super) fn table(source: &str) -> Result<Table, Vec<(Option<usize>, String, String)>> {
    let (root, errors) = DeTable::parse_recoverable(source);
    let lines = Lines::new(source);
    let mut faults: Vec<_> = errors.iter().map(|error| fault(&lines, error)).collect();
    if faults.is_empty() {
        let mut beyond = Vec::new();
        let table = plain(root.into_inner(), &mut beyond);
        if beyond.is_empty() {
            return Ok(table);
        }
        faults.extend(beyond.into_iter().map(|(offset, text)| {
            let message = format!("`{}` is too large for a number", shortened(&text, 60));
            (Some(lines.at(offset)), message, "write a number below 1e308".to_owned())
        }));
    }
    // One mistake causes several errors on its line, of which the first describes it best.
    faults.sort_by_key(|(line, ..)| *line);
    faults.dedup_by_key(|(line, ..)| *line);
    Err(faults)
}

fn fault(lines: &Lines, error: &Error) -> (Option<usize>, String, String) {
    let line = error.span().map(|span| lines.at(span.start));
    let message = error.message().trim().replace('\n', ", ");
    if message.contains("recurs") {
        let message = "tables and lists are nested too deeply".to_owned();
        return (line, message, "nest no more than 80 of them, e.g. x = [[1, 2], [3, 4]]".to_owned());
    }
    if message.contains("duplicate") {
        return (line, message, "keep one of the two".to_owned());
    }
    (line, message, "correct the TOML; text values need quotes, e.g. \"25us\"".to_owned())
}

/// Copies the values without their positions in the text. An integer beyond 64 bits becomes a float, so that a key that
/// needs an integer refuses it by name. `beyond` receives numbers too large for a float, each with its line.
fn plain(table: DeTable<'_>, beyond: &mut Vec<(usize, String)>) -> Table {
    let entry = |(key, value): (toml::Spanned<_>, toml::Spanned<DeValue<'_>>)| {
        let key: std::borrow::Cow<'_, str> = key.into_inner();
        (key.into_owned(), plain_value(value, beyond))
    };
    table.into_iter().map(entry).collect()
}

fn plain_value(value: toml::Spanned<DeValue<'_>>, beyond: &mut Vec<(usize, String)>) -> Value {
    let offset = value.span().start;
    match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Datetime(value) => Value::Datetime(value),
        DeValue::Array(items) => Value::Array(items.into_iter().map(|item| plain_value(item, beyond)).collect()),
        DeValue::Table(table) => Value::Table(plain(table, beyond)),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => {
                let digits = number.as_str().trim_start_matches(['-', '+']).chars();
                let radix = number.radix();
                let size: f64 = match radix {
                    10 => digits.as_str().parse().unwrap_or(f64::INFINITY),
                    _ => digits.fold(0.0, |sum, digit| {
                        sum * f64::from(radix) + f64::from(digit.to_digit(radix).unwrap_or_default())
                    }),
                };
                if size.is_infinite() {
                    beyond.push((offset, number.as_str().to_owned()));
                }
                Value::Float(if number.as_str().starts_with('-') { -size } else { size })
            }
        },
        DeValue::Float(number) => {
            let text = number.as_str();
            let value = text.parse().unwrap_or(f64::NAN);
            if value.is_infinite() && !text.contains("inf") {
                beyond.push((offset, text.to_owned()));
            }
            Value::Float(value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(source: &str) -> Vec<(Option<usize>, String, String)> {
        table(source).expect_err("faulty")
    }

    #[test]
    fn values_are_those_of_the_toml_library() {
        let text = "a = 1\nb = -0x10\n\"c d\".e = [1.5, true, 'x', inf]\nf = 2026-01-02\n[[g]]\nh = { i = 1_000 }\n";
        let text = text.replace("-0x10", "0x10");
        assert_eq!(table(&text).expect("TOML"), text.parse::<Table>().expect("TOML"));
    }

    #[test]
    fn a_number_beyond_64_bits_is_a_fraction_and_a_larger_one_is_refused() {
        let table = table("a = 99999999999999999999\nb = -99999999999999999999\nc = 0xFFFFFFFFFFFFFFFFF\n");
        let table = table.expect("TOML");
        assert_eq!((table["a"].as_float(), table["b"].as_float()), (Some(1e20), Some(-1e20)));
        assert!(table["c"].as_float().is_some_and(|value| value > 2e20));
        let found = faults(&format!("a = 1\nb = {}\nc = 1e999\n", "9".repeat(400)));
        let lines: Vec<_> = found.iter().map(|(line, ..)| *line).collect();
        assert_eq!(lines, [Some(2), Some(3)], "{found:?}");
        assert!(found.iter().all(|(_, message, _)| message.contains("too large") && message.len() < 100));
    }

    #[test]
    fn every_faulty_line_is_found_and_deep_nesting_is_one_fault() {
        let found = faults(&"x = = 1\n".repeat(1_000));
        assert_eq!(found.len(), 1_000);
        assert_eq!(found[999].0, Some(1_000));
        let found = faults(&format!("a = {}", "[".repeat(10_000)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].1.contains("nested too deeply"), "{found:?}");
        assert_eq!(faults("a = 1\na = 2\n")[0].2, "keep one of the two");
    }
}
