//! The registry of formats: one line each, and detection from the first bytes.

use super::input::{HEAD, Input};
use super::record::{Context, Records};
use super::{TraceOptions, blkparse, blkreplay, blktrace, cloudphysics, disksim, iolog, msr, nexus5, parquet};
use super::{spc, systor, tencent, text, vscsi};
use crate::SourceError;

type Open = fn(Input, Format, &TraceOptions, &mut Context) -> Result<Box<dyn Records>, SourceError>;

macro_rules! formats {
    ($($name:ident, $text:literal, $about:literal, $looks:expr, $open:expr;)*) => {
        /// A format of trace files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Format {
            $(#[doc = $about] $name,)*
        }

        impl Format {
            /// All formats, in the order in which detection tries them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name that selects it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// What it is, in a line.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }

            fn looks_like(self, head: &Head<'_>) -> bool {
                match self { $(Self::$name => $looks(head)),* }
            }

            fn opener(self) -> Open {
                match self { $(Self::$name => $open),* }
            }
        }
    };
}

// Order matters to detection only: the sure signs (magic numbers, headers) come before the shapes of lines.
formats! {
    Parquet, "parquet", "Flashloom's own columns: at_ps, kind, lba, sectors, volume",
        parquet::looks, parquet::open;
    Blktrace, "blktrace", "blktrace binary, one CPU's file, either byte order",
        blktrace::looks, blktrace::open;
    Vscsi, "vscsi", "CloudPhysics vscsi binary, versions 1 and 2",
        vscsi::looks, vscsi::open;
    Iolog, "iolog", "fio iolog, versions 2 (no times: closed loop) and 3 (us)",
        iolog::looks, text::open::<iolog::Iolog>;
    Blkreplay, "blkreplay", "blkreplay .load: `s ; sector ; sectors ; op ; ...`",
        blkreplay::looks, text::open::<blkreplay::Blkreplay>;
    CloudPhysics, "cloudphysics", "CloudPhysics CSV: version,us,SCSI opcode,bytes,sector",
        cloudphysics::looks, text::open::<cloudphysics::CloudPhysics>;
    Systor, "systor", "SYSTOR'17 CSV: s,response,R|W,LUN,byte,bytes",
        systor::looks, text::open::<systor::Systor>;
    Msr, "msr", "MSR Cambridge CSV: file time,host,disk,Read|Write,byte,bytes,response",
        msr::looks, text::open::<msr::Msr>;
    Spc, "spc", "SPC-1: ASU,sector,bytes,r|w,s",
        spc::looks, text::open::<spc::Spc>;
    Tencent, "tencent", "Tencent CBS CSV: s,sector,sectors,0 read|1 write,volume",
        tencent::looks, text::open::<tencent::Tencent>;
    Blkparse, "blkparse", "the text that blkparse prints",
        blkparse::looks, text::open::<blkparse::Blkparse>;
    Nexus5, "nexus5", "Nexus 5 log: sector sectors bytes type arrival(s) ...",
        nexus5::looks, text::open::<nexus5::Nexus5>;
    Disksim, "disksim", "DiskSim ASCII: ms device sector sectors flags (bit 0: read)",
        disksim::looks_disksim, text::open::<disksim::Disksim<1_000_000_000, 1>>;
    Mqsim, "mqsim", "MQSim ASCII: ns device sector sectors 0 write|1 read",
        disksim::looks_mqsim, text::open::<disksim::Disksim<1_000, 1>>;
    Ssdsim, "ssdsim", "SSDsim ASCII, the same as mqsim; never detected",
        never, text::open::<disksim::Disksim<1_000, 1>>;
    DisksimPages, "disksim-pages", "DiskSim ASCII with sizes in 4 KiB pages; never detected",
        never, text::open::<disksim::Disksim<1_000_000_000, 8>>;
}

/// For formats that no file can be told to be: they have to be named.
fn never(_: &Head<'_>) -> bool {
    false
}

impl Format {
    /// The format with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The format of a file from its first bytes.
    pub(crate) fn detect(input: &mut Input) -> Result<Self, SourceError> {
        let path = input.path().to_path_buf();
        let head = Head::of(input.head()?);
        if head.raw.is_empty() {
            return Err(SourceError::new("the file is empty", "check where it comes from").in_file(&path));
        }
        Self::ALL.iter().copied().find(|format| format.looks_like(&head)).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
            let seen = match head.lines().next() {
                Some(line) => format!("the first line is `{}`", text::printable(line)),
                None => "it has only blank lines and comments".to_owned(),
            };
            SourceError::new(
                format!("the format is not known: {seen}"),
                format!("name it with --format ({})", names.join(", ")),
            )
            .in_file(&path)
        })
    }

    /// Opens the records of a file of this format.
    pub(crate) fn open(
        self,
        input: Input,
        options: &TraceOptions,
        context: &mut Context,
    ) -> Result<Box<dyn Records>, SourceError> {
        self.opener()(input, self, options, context)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The first bytes of a file.
pub(crate) struct Head<'a> {
    pub(crate) raw: &'a [u8],
}

impl<'a> Head<'a> {
    pub(crate) fn of(raw: &'a [u8]) -> Self {
        Self { raw }
    }

    /// The lines in it that are neither blank nor comments. A last line that the head may have cut is left out.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let whole = if self.raw.len() >= HEAD {
            self.raw.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1)
        } else {
            self.raw.len()
        };
        self.raw[..whole].split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !matches!(line, [] | [b'#', ..]))
    }

    /// True if one of the first lines is what `is` says: one damaged line must not hide what the file is.
    pub(crate) fn any_line(&self, is: impl FnMut(&'a [u8]) -> bool) -> bool {
        self.lines().take(5).any(is)
    }
}

/// True for a number of digits and at most one point.
pub(crate) fn is_number(field: &[u8]) -> bool {
    text::parse_decimal(field, 12).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(*format));
            assert!(!format.about().is_empty());
        }
    }
}
