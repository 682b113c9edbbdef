//! The order of keys as their type declares them: a schema sorts them by name, and a reader wants the most important
//! keys first.

use std::collections::BTreeMap;

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// The names of the fields of types, by the types' names.
#[derive(Debug, Default)]
pub(crate) struct FieldNames(BTreeMap<&'static str, &'static [&'static str]>);

impl FieldNames {
    /// Reads a value as a `T`, and notes the fields of each type on the way. The value need not be valid.
    pub(crate) fn note<'de, T: Deserialize<'de>>(&mut self, value: &'de Value) {
        let mut found = Vec::new();
        let _ = T::deserialize(TypeProbe { value, found: &TypeRecorder(std::cell::RefCell::new(&mut found)) });
        self.0.extend(found);
    }

    /// Whether a type of this name was read.
    pub(crate) fn knows(&self, of: &str) -> bool {
        self.0.contains_key(of)
    }

    /// The position of a field in its type; an unknown field comes last.
    pub(crate) fn place(&self, of: &str, field: &str) -> usize {
        let place = self.0.get(of).and_then(|fields| fields.iter().position(|name| *name == field));
        place.unwrap_or(usize::MAX)
    }
}

type Type = (&'static str, &'static [&'static str]);

struct TypeRecorder<'a>(std::cell::RefCell<&'a mut Vec<Type>>);

/// A value that records the types it is read as.
#[derive(Clone, Copy)]
struct TypeProbe<'de, 'a> {
    value: &'de Value,
    found: &'a TypeRecorder<'a>,
}

impl<'de> IntoDeserializer<'de, Error> for TypeProbe<'de, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for TypeProbe<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let inner = |value| TypeProbe { value, ..self };
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(is) => visitor.visit_bool(*is),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.iter().map(inner))),
            Value::Object(table) => {
                visitor.visit_map(MapDeserializer::new(table.iter().map(|(key, value)| (key.as_str(), inner(value)))))
            }
            Value::Number(number) => match number.as_u64() {
                Some(number) => visitor.visit_u64(number),
                None => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.found.0.borrow_mut().push((name, fields));
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let read = self.value.deserialize_enum(name, variants, visitor);
        read.map_err(serde::de::Error::custom)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}
