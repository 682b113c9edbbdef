//! The placement identifiers of a stream's writes.

use std::borrow::Cow;
use std::fmt;

use base::io::PlacementId;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One placement identifier, or several that the writes of a stream take in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementIds(Vec<u16>);

impl PlacementIds {
    /// Creates a list of identifiers, in the order in which the writes take them.
    #[must_use]
    pub const fn new(ids: Vec<u16>) -> Self {
        Self(ids)
    }

    /// The identifiers, in the order in which the writes take them.
    #[must_use]
    pub fn as_slice(&self) -> &[u16] {
        &self.0
    }
}

impl Serialize for PlacementIds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => serializer.serialize_u16(*one),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PlacementIds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdsVisitor)
    }
}

struct IdsVisitor;

impl<'de> Visitor<'de> for IdsVisitor {
    type Value = PlacementIds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 0 to 65535, or a list of such numbers")
    }

    fn visit_i64<E: serde::de::Error>(self, id: i64) -> Result<PlacementIds, E> {
        let unexpected = || E::invalid_value(serde::de::Unexpected::Signed(id), &self);
        Ok(PlacementIds(vec![u16::try_from(id).map_err(|_| unexpected())?]))
    }

    fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<PlacementIds, E> {
        let unexpected = || E::invalid_value(serde::de::Unexpected::Unsigned(id), &self);
        Ok(PlacementIds(vec![u16::try_from(id).map_err(|_| unexpected())?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PlacementIds, A::Error> {
        let mut ids = Vec::new();
        while let Some(id) = list.next_element()? {
            ids.push(id);
        }
        Ok(PlacementIds(ids))
    }
}

impl JsonSchema for PlacementIds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PlacementIds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let id = json_schema!({ "type": "integer", "format": "uint16", "minimum": 0, "maximum": 65_535 });
        json_schema!({ "anyOf": [id, { "type": "array", "items": id }] })
    }
}

/// Gives each write of a stream its placement identifier.
#[derive(Clone, Debug)]
pub(super) struct PlacementTurns {
    ids: Vec<PlacementId>,
    next: usize,
}

impl PlacementTurns {
    /// Creates the turns of these identifiers; without any, all writes get identifier 0.
    pub(super) fn new(ids: Option<&PlacementIds>) -> Self {
        let ids: Vec<_> = ids.map_or(&[][..], PlacementIds::as_slice).iter().copied().map(PlacementId::new).collect();
        Self { ids: if ids.is_empty() { vec![PlacementId::default()] } else { ids }, next: 0 }
    }

    /// The identifier of the next write.
    #[inline]
    pub(super) fn draw(&mut self) -> PlacementId {
        let id = self.ids[self.next];
        self.next = if self.next + 1 == self.ids.len() { 0 } else { self.next + 1 };
        id
    }

    /// The identifier of all writes, if there is only one.
    pub(super) fn only(&self) -> Option<PlacementId> {
        match self.ids[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}
