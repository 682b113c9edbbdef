//! Names that the program gives to the numbers of a result, such as `read`, `gc` or `p99`. A result that is read back
//! gets the same static names again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// A name of the program, as a static text.
///
/// Derived code takes an alias for an owned type, so a result borrows nothing from the text it is read from.
pub(crate) type Name = &'static str;

/// The most bytes of a name, and the most names: many times the numbers of the program. Only a file of another program
/// has longer or more names.
const LONGEST: usize = 64;
const MOST: usize = 1000;

/// The names read so far. None is ever freed, because results refer to them.
static NAMES: Mutex<BTreeSet<Name>> = Mutex::new(BTreeSet::new());

/// The static name with this text; `None` if the text cannot be a name of a result.
fn find(text: &str) -> Option<Name> {
    // A panic elsewhere leaves the set valid.
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(text) {
        return Some(known);
    }
    if text.len() > LONGEST || names.len() >= MOST {
        return None;
    }
    let new: Name = Box::leak(text.into());
    names.insert(new);
    Some(new)
}

/// A name on its way from the text of a result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Read(Name);

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Read;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Read, E> {
                find(text).map(Read).ok_or_else(|| E::custom("a text that names no number of a result"))
            }
        }
        from.deserialize_str(Text)
    }
}

pub(crate) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    Read::deserialize(from).map(|read| read.0)
}

/// Reads values by name.
pub(crate) fn values<'de, D, T>(from: D) -> Result<BTreeMap<Name, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(plain(BTreeMap::deserialize(from)?))
}

/// Reads values by name; `None` if there are none.
pub(crate) fn values_if_any<'de, D, T>(from: D) -> Result<Option<BTreeMap<Name, T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<BTreeMap<Read, T>>::deserialize(from)?.map(plain))
}

/// Reads lists of names by name.
pub(crate) fn lists<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Name, Vec<Name>>, D::Error> {
    let read = BTreeMap::<Read, Vec<Read>>::deserialize(from)?;
    Ok(read.into_iter().map(|(name, list)| (name.0, list.into_iter().map(|read| read.0).collect())).collect())
}

/// Reads numbers by name, in the order of the text.
pub(crate) fn in_order<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(Name, f64)>, D::Error> {
    struct Pairs;
    impl<'de> Visitor<'de> for Pairs {
        type Value = Vec<(Name, f64)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("numbers by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some((name, number)) = map.next_entry::<Read, f64>()? {
                pairs.push((name.0, number));
            }
            Ok(pairs)
        }
    }
    from.deserialize_map(Pairs)
}

fn plain<T>(read: BTreeMap<Read, T>) -> BTreeMap<Name, T> {
    read.into_iter().map(|(name, value)| (name.0, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_a_text_is_no_name() {
        let [a, b] = [find("p99_9"), find(&["p99", "_9"].concat())].map(|name| name.expect("a name"));
        assert!(std::ptr::eq(a, b), "one text in memory");
        assert_eq!(find(&"x".repeat(LONGEST + 1)), None);
        let read: Result<Read, _> = serde_json::from_str(&format!("\"{}\"", "x".repeat(LONGEST + 1)));
        assert!(read.is_err_and(|error| error.to_string().contains("names no number")));
    }
}
