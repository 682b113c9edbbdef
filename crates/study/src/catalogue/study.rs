//! From the name of a study to its description.

use std::path::Path;

use super::named;
use crate::config::{Document, Faults};
use crate::plan::builtin;

/// Reads a study file, or the built-in study of this name.
///
/// # Errors
/// If there is neither, or the file is not TOML.
pub fn study(path: &Path) -> Result<Document, Faults> {
    match named(path, "study", "studies", builtin())? {
        Some(text) => Document::parse(path, text.to_owned()),
        None => Document::read(path),
    }
}
