//! Options for reading traces: the keys that `run` and each of `run.flows.NAME` have.

use std::str::FromStr;

use base::fault::Fault;
use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::trace::{Columns, Event, ExtentRule, Format, NamedUnits, SizeUnit, TimeUnit, TraceOptions, VolumeRule};

use crate::config::did_you_mean;

/// Options for reading a trace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ReadingSpec {
    /// The number of requests to skip at the beginning of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<u64>,
    /// The number of times that a trace is played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The event that stands for a request in files of blktrace, blkparse and tracepoints: `auto`, `queue`, `issue` or `complete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The rule for trace addresses beyond the drive's capacity: `error`, `wrap` or `compact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extent: Option<String>,
    /// The format of a trace, instead of the detected one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The columns of a CSV or a Parquet file, e.g. `time=ts:us,op=rw,offset=lba:512B,size=len:B`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// The unit of a trace's times, instead of its format's: `s`, `ms`, `us`, `100ns`, `ns` or `ps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<String>,
    /// The unit of a trace's sizes, instead of its format's: `B`, `512B`, `4KiB`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_unit: Option<String>,
    /// The unit of a trace's addresses, instead of its format's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_unit: Option<String>,
    /// True to refuse a trace if its units, columns or format are in doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// The longest gap between requests of a trace; longer gaps are shortened to this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_limit: Option<Span>,
    /// The tolerance for times out of order: a request may be earlier than the latest request so far by at most this
    /// time, and is sorted into its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Span>,
    /// The only volume of a trace to play; all if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The rule for a trace of several volumes: `single`, `overlay` or `stride:SIZE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volumes: Option<String>,
}

/// The key of an option with an unknown value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownRule {
    Format,
    Columns,
    Units,
    Event,
    Extent,
    Volumes,
}

impl UnknownRule {
    /// The fault with its key and value.
    pub(super) fn fault(self, reading: &ReadingSpec) -> Fault {
        let one_of = |names: Vec<&str>, name: &str| {
            format!("{}choose one of {}", did_you_mean(name, names.iter().copied()), names.join(", "))
        };
        let quoted = |name: &Option<String>| name.clone().unwrap_or_default();
        match self {
            Self::Format => {
                let name = quoted(&reading.format);
                let remedy = one_of(Format::ALL.iter().map(|format| format.name()).collect(), &name);
                Fault::new("format", format!("`{name}` is not a trace format"), remedy)
            }
            Self::Columns => {
                let error = reading.columns.as_ref().and_then(|text| text.parse::<Columns>().err());
                let error = error.expect("they do not describe columns");
                Fault::new("columns", error.message(), error.remedy())
            }
            Self::Units => {
                let time =
                    reading.time_unit.as_ref().and_then(|text| Some(("time-unit", text.parse::<TimeUnit>().err()?)));
                let size = |key, text: &Option<String>| Some((key, text.as_ref()?.parse::<SizeUnit>().err()?));
                let wrong = time.or_else(|| size("size-unit", &reading.size_unit));
                let wrong = wrong.or_else(|| size("address-unit", &reading.address_unit));
                let (key, error) = wrong.expect("one of them is not a unit");
                Fault::new(key, error.message(), error.remedy())
            }
            Self::Event => {
                let name = quoted(&reading.event);
                let remedy = one_of(Event::ALL.iter().map(|event| event.name()).collect(), &name);
                Fault::new("event", format!("`{name}` is not an event of a block trace"), remedy)
            }
            Self::Extent => {
                let name = quoted(&reading.extent);
                let remedy = one_of(ExtentRule::ALL.iter().map(|rule| rule.name()).collect(), &name);
                Fault::new("extent", format!("`{name}` is not a rule for addresses of traces"), remedy)
            }
            Self::Volumes => {
                let name = quoted(&reading.volumes);
                let message = format!("`{name}` is not a rule for volumes of traces");
                Fault::new("volumes", message, "write single, overlay or stride:SIZE, e.g. stride:1GiB")
            }
        }
    }
}

impl ReadingSpec {
    /// The rule named by `extent`; `None` if the name is unknown.
    fn extent_rule(&self) -> Option<ExtentRule> {
        match &self.extent {
            None => Some(ExtentRule::default()),
            Some(name) => ExtentRule::ALL.into_iter().find(|rule| rule.name() == name),
        }
    }

    pub(crate) fn options(&self) -> Result<TraceOptions, UnknownRule> {
        let format = match self.format.as_deref().map(Format::from_name) {
            Some(None) => return Err(UnknownRule::Format),
            known => known.flatten(),
        };
        Ok(TraceOptions {
            format,
            columns: parsed(&self.columns).map_err(|()| UnknownRule::Columns)?,
            units: self.named_units().map_err(|()| UnknownRule::Units)?,
            event: match self.event.as_deref() {
                None => Event::default(),
                Some(name) => Event::from_name(name).ok_or(UnknownRule::Event)?,
            },
            skip: self.skip.unwrap_or(0),
            repeat: self.repeat.unwrap_or(1),
            strict: self.strict.unwrap_or(false),
            gap_limit: self.gap_limit,
            tolerance: self.tolerance.unwrap_or(TraceOptions::default().tolerance),
            extent: self.extent_rule().ok_or(UnknownRule::Extent)?,
            volume: self.volume.clone(),
            volumes: self.volume_rule().ok_or(UnknownRule::Volumes)?,
            ..TraceOptions::default()
        })
    }

    /// The given keys, and the keys of `other` for the rest.
    pub(super) fn or(&self, other: &Self) -> Self {
        let text = |own: &Option<String>, other: &Option<String>| own.clone().or_else(|| other.clone());
        Self {
            skip: self.skip.or(other.skip),
            repeat: self.repeat.or(other.repeat),
            event: text(&self.event, &other.event),
            extent: text(&self.extent, &other.extent),
            format: text(&self.format, &other.format),
            columns: text(&self.columns, &other.columns),
            time_unit: text(&self.time_unit, &other.time_unit),
            size_unit: text(&self.size_unit, &other.size_unit),
            address_unit: text(&self.address_unit, &other.address_unit),
            strict: self.strict.or(other.strict),
            gap_limit: self.gap_limit.or(other.gap_limit),
            tolerance: self.tolerance.or(other.tolerance),
            volume: text(&self.volume, &other.volume),
            volumes: text(&self.volumes, &other.volumes),
        }
    }

    /// The names of the keys that are given.
    ///
    /// # Panics
    /// Never: every reading has a form in TOML.
    pub(super) fn given(&self) -> Vec<String> {
        let table = toml::Table::try_from(self).expect("texts and numbers");
        table.into_iter().map(|(key, _)| key).collect()
    }

    fn named_units(&self) -> Result<NamedUnits, ()> {
        Ok(NamedUnits {
            time: parsed(&self.time_unit)?,
            address: parsed(&self.address_unit)?,
            size: parsed(&self.size_unit)?,
        })
    }

    /// The rule named by `volumes`; `None` if the text names none.
    fn volume_rule(&self) -> Option<VolumeRule> {
        self.volumes.as_ref().map_or_else(|| Some(VolumeRule::default()), |text| text.parse().ok())
    }
}

/// Parses an optional text; `Err` if its type refuses it.
fn parsed<T: FromStr>(text: &Option<String>) -> Result<Option<T>, ()> {
    text.as_deref().map(|text| text.parse().map_err(|_| ())).transpose()
}
