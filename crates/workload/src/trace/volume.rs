//! Volumes: the separate address spaces (ASU, host and disk, LUN, device, file) in a trace.

use std::collections::HashMap;

use base::units::{Bytes, Exact, Lba, ParseUnitError, Sectors};

use crate::SourceError;

/// The rule for a trace of several volumes, each of which has its own sector zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumeRule {
    /// A second volume is an error, because a silent overlap would look like updates. Compaction
    /// ([`super::ExtentRule::Compact`]) keeps volumes apart and therefore allows any number.
    #[default]
    Single,
    /// All volumes share one address space, as if their requests had gone to one drive.
    Overlay,
    /// The n-th volume to appear starts at n times this size; a request beyond its range is an error.
    Stride(Sectors),
}

impl std::str::FromStr for VolumeRule {
    type Err = SourceError;

    /// Parses `single`, `overlay`, or `stride:SIZE` with the size in whole sectors (`stride:32GiB`).
    fn from_str(text: &str) -> Result<Self, SourceError> {
        let refuse = |what: &str| {
            SourceError::new(
                format!("`{text}` is not a rule for volumes: {what}"),
                "write single, overlay or \
                                                                                     stride:32GiB",
            )
        };
        match text.split_once(':') {
            None if text == "single" => Ok(Self::Single),
            None if text == "overlay" => Ok(Self::Overlay),
            Some(("stride", size)) => {
                let size: Bytes = size.parse().map_err(|e: ParseUnitError| refuse(&e.to_string()))?;
                match size.sectors() {
                    Some(stride) if !stride.is_zero() => Ok(Self::Stride(stride)),
                    _ => Err(refuse("the stride is not a whole number of 512-byte sectors above zero")),
                }
            }
            _ => Err(refuse("it is not known")),
        }
    }
}

impl std::fmt::Display for VolumeRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Single => f.write_str("single"),
            Self::Overlay => f.write_str("overlay"),
            Self::Stride(stride) => write!(f, "stride:{}", stride.bytes().exact()),
        }
    }
}

/// The names of the volumes in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    ids: HashMap<Vec<u8>, u32>,
    names: Vec<String>,
    wanted: Vec<bool>,
    only: Option<String>,
    last: (Vec<u8>, u32),
    /// The name for volumes that the file does not name.
    unnamed: Vec<u8>,
}

impl Volumes {
    /// Selects all volumes, or only the volume with this name.
    pub(crate) fn new(only: Option<&str>) -> Self {
        Self { only: only.map(str::to_owned), ..Self::default() }
    }

    /// The index of the volume that the file names `key`.
    #[inline]
    pub(crate) fn id(&mut self, key: &[u8]) -> u32 {
        if key.is_empty() && !self.unnamed.is_empty() {
            let key = std::mem::take(&mut self.unnamed);
            let id = self.id(&key);
            self.unnamed = key;
            return id;
        }
        if !self.names.is_empty() && self.last.0 == key {
            return self.last.1;
        }
        self.look_up(key)
    }

    /// Sets the name for further volumes that the file does not name: that of their file.
    pub(crate) fn call_unnamed(&mut self, name: &[u8]) {
        if self.unnamed != name {
            self.unnamed.clear();
            self.unnamed.extend_from_slice(name);
        }
    }

    fn look_up(&mut self, key: &[u8]) -> u32 {
        let next = self.names.len() as u32;
        let id = *self.ids.entry(key.to_vec()).or_insert(next);
        if id == next {
            let name = String::from_utf8_lossy(key).into_owned();
            self.wanted.push(self.only.as_ref().is_none_or(|only| *only == name));
            self.names.push(name);
        }
        self.last.0.clear();
        self.last.0.extend_from_slice(key);
        self.last.1 = id;
        id
    }

    /// True if this volume is selected.
    #[inline]
    pub(crate) fn wants(&self, id: u32) -> bool {
        self.wanted[id as usize]
    }

    pub(crate) fn name(&self, id: u32) -> &str {
        &self.names[id as usize]
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The first few names, for a message.
    pub(crate) fn listing(&self) -> String {
        let mut text = self.names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
        if self.names.len() > 8 {
            text.push_str(&format!(" and {} more", self.names.len() - 8));
        }
        text
    }
}

impl VolumeRule {
    /// The place of an extent of volume `id` in the common address space, or the reason for which it has none.
    pub(crate) fn place(self, id: u32, start: Lba, sectors: Sectors, apart: bool) -> Result<Lba, VolumeFault> {
        match self {
            Self::Overlay => Ok(start),
            Self::Single if apart || id == 0 => Ok(start),
            Self::Single => Err(VolumeFault::Second),
            Self::Stride(stride) => {
                let base = u64::from(id).checked_mul(stride.get());
                let inside = start.get().checked_add(sectors.get()).is_some_and(|end| end <= stride.get());
                // Addresses must be below 2^64 bytes, as in every format.
                base.filter(|base| inside && *base <= u64::MAX / 512 - stride.get().min(u64::MAX / 512))
                    .map(|base| Lba::new(base + start.get()))
                    .ok_or(VolumeFault::BeyondStride)
            }
        }
    }
}

/// The reason that a volume has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VolumeFault {
    Second,
    BeyondStride,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_numbered_as_they_appear() {
        let mut volumes = Volumes::new(Some("b"));
        assert_eq!([b"a", b"b", b"a", b"b"].map(|key| volumes.id(key)), [0, 1, 0, 1]);
        assert!(!volumes.wants(0) && volumes.wants(1));
        assert_eq!(volumes.listing(), "a, b");
    }

    #[test]
    fn rules_are_parsed_with_units() {
        assert_eq!("overlay".parse(), Ok(VolumeRule::Overlay));
        assert_eq!("stride:1MiB".parse(), Ok(VolumeRule::Stride(Sectors::new(2048))));
        for text in ["single", "overlay", "stride:1MiB", "stride:1234567KiB", "stride:512B"] {
            assert_eq!(text.parse::<VolumeRule>().expect(text).to_string(), text);
        }
        for bad in ["", "stride", "stride:0B", "stride:1", "stride:700B", "double"] {
            assert!(bad.parse::<VolumeRule>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_stride_keeps_volumes_apart_and_is_a_limit() {
        let rule = VolumeRule::Stride(Sectors::new(100));
        assert_eq!(rule.place(2, Lba::new(92), Sectors::new(8), false), Ok(Lba::new(292)));
        assert_eq!(rule.place(2, Lba::new(93), Sectors::new(8), false), Err(VolumeFault::BeyondStride));
    }
}
