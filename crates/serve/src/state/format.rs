//! The file that makes a directory the state of a drive. It has the version of the format and the description of the
//! drive.
//!
//! The first line of the file has the checksum of the other lines. The file is written last, so a directory without it
//! was never served.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use ssd::ResolvedDevice;

use super::VERSION;
use super::error::{DamagedPlace, Difference, FileOperation, StateError};
use super::folder::Folder;

pub(super) const NAME: &str = "format.toml";
/// The name of the file before it is complete.
pub(super) const NEW: &str = "format.toml.new";

/// The start of the first line, up to the checksum.
const FIRST: &str = "# Flashloom: the flash of a served drive. Checksum of the lines below: ";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Format {
    format: u32,
    device: String,
    /// The SHA-256 of the device's description.
    digest: String,
    /// The seed that the drive was made with.
    seed: u64,
    sector: u32,
    /// The keys that decide where on flash the drive keeps its data.
    keys: BTreeMap<String, String>,
    /// The description, for readers; timing may differ when the drive is served again.
    description: toml::Table,
}

/// The version alone, which every version of the file has.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

fn keys(resolved: &ResolvedDevice) -> BTreeMap<String, String> {
    resolved.format().into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

impl Format {
    pub(super) fn of(resolved: &ResolvedDevice, seed: u64, sector: u32) -> Self {
        let description = toml::Table::try_from(&resolved.spec).expect("a description is a table");
        let text = description.to_string();
        let digest = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let device = resolved.spec.name.clone();
        Self { format: VERSION, device, digest, seed, sector, keys: keys(resolved), description }
    }

    pub(super) fn write(&self, folder: &Arc<dyn Folder>) -> Result<(), StateError> {
        let text = toml::to_string(self).expect("a table is text");
        let text = format!("{FIRST}{:08x}\n{text}", crc32fast::hash(text.as_bytes()));
        let io = |error| StateError::io(folder.path(NAME), FileOperation::Create, error);
        let file = folder.open(NEW).map_err(io)?;
        file.set_size(0).map_err(io)?;
        file.write(0, text.as_bytes()).map_err(io)?;
        folder.rename(NEW, NAME).map_err(io)
    }

    pub(super) fn read(folder: &Arc<dyn Folder>) -> Result<Self, StateError> {
        let path = folder.path(NAME);
        let io = |error| StateError::io(path.clone(), FileOperation::Read, error);
        let file = folder.open(NAME).map_err(io)?;
        let mut bytes = vec![0; file.size().map_err(io)? as usize];
        file.read(0, &mut bytes).map_err(io)?;
        let damaged = || StateError::Damaged { path: path.clone(), place: DamagedPlace::Whole };
        let text = String::from_utf8(bytes).map_err(|_| damaged())?;
        let (sum, text) = text.strip_prefix(FIRST).and_then(|rest| rest.split_once('\n')).ok_or_else(damaged)?;
        if sum != format!("{:08x}", crc32fast::hash(text.as_bytes())) {
            return Err(damaged());
        }
        let Version { format } = toml::from_str(text).map_err(|_| damaged())?;
        if format != VERSION {
            let dir = folder.path("");
            return Err(StateError::Version { dir, found: format });
        }
        toml::from_str(text).map_err(|_| damaged())
    }

    /// The seed that the drive was made with.
    pub(super) const fn seed(&self) -> u64 {
        self.seed
    }

    /// Refuses a device whose description does not fit the state.
    pub(super) fn check(
        self,
        resolved: &ResolvedDevice,
        sector: u32,
        folder: &Arc<dyn Folder>,
    ) -> Result<(), StateError> {
        let mut here = keys(resolved);
        let mut there = self.keys;
        here.insert("bytes of a sector".to_owned(), sector.to_string());
        there.insert("bytes of a sector".to_owned(), self.sector.to_string());
        let all: std::collections::BTreeSet<&String> = here.keys().chain(there.keys()).collect();
        let value = |of: &BTreeMap<String, String>, key| of.get(key).cloned().unwrap_or_else(|| "not there".to_owned());
        let differences: Vec<Difference> = all
            .into_iter()
            .map(|key| Difference { key: key.clone(), there: value(&there, key), here: value(&here, key) })
            .filter(|of| of.there != of.here)
            .collect();
        match differences.is_empty() {
            true => Ok(()),
            false => Err(StateError::Other { dir: folder.path(""), device: self.device, differences }),
        }
    }
}
