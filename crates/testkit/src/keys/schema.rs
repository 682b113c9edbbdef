//! A JSON schema with its references followed.

use serde_json::Value;

/// A schema with the definitions that its references name.
#[derive(Clone, Copy)]
pub struct Schema<'a> {
    root: &'a Value,
}

impl<'a> Schema<'a> {
    /// The schema of a whole file.
    #[must_use]
    pub const fn of(root: &'a Value) -> Self {
        Self { root }
    }

    /// Returns the content of a node, with references followed and `null` left out, and the name of the reference.
    #[must_use]
    pub fn resolve(self, node: &'a Value) -> (&'a Value, Option<&'a str>) {
        if let Some(reference) = node["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let (found, inner) = self.resolve(&self.root["$defs"][name]);
            return (found, inner.or(Some(name)));
        }
        if let Some(any) = node["anyOf"].as_array() {
            let mut some = any.iter().filter(|one| one["type"] != "null");
            if let (Some(only), None) = (some.next(), some.next()) {
                return self.resolve(only);
            }
        }
        (node, None)
    }

    /// Lists the forms of a node: one, or the variants of a table or a word.
    #[must_use]
    pub fn forms(self, node: &'a Value) -> Vec<&'a Value> {
        let (node, _) = self.resolve(node);
        let several = node["oneOf"].as_array().or_else(|| node["anyOf"].as_array());
        several.map_or_else(|| vec![node], |forms| forms.iter().map(|form| self.resolve(form).0).collect())
    }
}
