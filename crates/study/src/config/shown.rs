//! Values of a file as messages show them.

use toml::Value;

/// A value as written, or a description of a list or table.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".into(),
        Value::Table(_) => "a table".into(),
        Value::String(text) => format!("`\"{}\"`", shortened(text, 60)),
        Value::Float(number) if number.abs() >= 1e16 => format!("`{number:e}`"),
        other => format!("`{other}`"),
    }
}

/// Shortens a text of a file to at most this many characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let plain: String = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if plain.len() == text.len() { plain } else { format!("{plain}...") }
}
