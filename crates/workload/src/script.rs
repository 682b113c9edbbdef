//! A workload as a list of requests, for closed forms, worked examples and small experiments.

use base::fault::Fault;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Bytes, Lba, Sectors, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Arrival, Pacing, Source, SourceError};

/// A list of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptSpec {
    /// The workload's name in reports.
    pub name: String,
    /// The load that the workload represents, and the source of its numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The number of requests outstanding, in place of their times of arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The number of times that the list is played.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeat: u32,
    /// The time from the start of one pass to the start of the next.
    #[serde(default)]
    pub every: Span,
    /// The requests in order of arrival.
    #[serde(rename = "request")]
    pub requests: Vec<ScriptRequest>,
}

/// A request at a time that the script gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptRequest {
    /// The time of arrival, counted from the start of the request's pass.
    #[serde(default)]
    pub at: Span,
    /// Read, write, flush or discard.
    pub kind: ScriptKind,
    /// The first byte, counted from the beginning of the drive.
    #[serde(default)]
    pub start: Bytes,
    /// The number of bytes, of which a flush has none.
    #[serde(default)]
    pub size: Bytes,
    /// The placement identifier of a write, by which the host tells the drive which data belong together, or of the reclaim unit handle
    /// that is updated. Default: no identifier, which is 0.
    #[serde(default, rename = "placement-id", skip_serializing_if = "is_zero")]
    pub placement: u16,
}

/// The kinds of requests that a script may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScriptKind {
    /// Reads the sectors of the request's extent.
    Read,
    /// Writes sectors.
    Write,
    /// Makes written data durable.
    Flush,
    /// Discards the data of the request's extent.
    Discard,
    /// Writes to the zone that begins at `start`; the drive chooses the place in it.
    Append,
    /// Opens the zone that begins at `start`.
    ZoneOpen,
    /// Closes the zone that begins at `start`.
    ZoneClose,
    /// Finishes the zone that begins at `start`: it takes no more data before a reset.
    ZoneFinish,
    /// Resets the zone that begins at `start`: it is empty afterwards.
    ZoneReset,
    /// Opens the empty zone that begins at `start` with a random write area (ZRWA).
    ZoneOpenZrwa,
    /// Moves the write pointer of a zone with a random write area behind the mapping unit that includes `start`.
    ZrwaFlush,
    /// Give the reclaim unit handle of `placement-id` a new reclaim unit (Flexible Data Placement).
    HandleUpdate,
}

impl ScriptKind {
    const fn io_kind(self) -> IoKind {
        match self {
            Self::Read => IoKind::Read,
            Self::Write => IoKind::Write,
            Self::Flush => IoKind::Flush,
            Self::Discard => IoKind::Discard,
            Self::Append => IoKind::Append,
            Self::ZoneOpen => IoKind::ZoneOpen,
            Self::ZoneClose => IoKind::ZoneClose,
            Self::ZoneFinish => IoKind::ZoneFinish,
            Self::ZoneReset => IoKind::ZoneReset,
            Self::ZoneOpenZrwa => IoKind::ZoneOpenZrwa,
            Self::ZrwaFlush => IoKind::ZrwaFlush,
            Self::HandleUpdate => IoKind::HandleUpdate,
        }
    }
}

const fn one() -> u32 {
    1
}

const fn is_zero(placement: &u16) -> bool {
    *placement == 0
}

const fn is_one(repeat: &u32) -> bool {
    *repeat == 1
}

/// The source of a script's requests for a drive.
#[derive(Clone, Debug)]
pub struct Script {
    requests: Vec<Arrival>,
    pacing: Pacing,
    repeat: u64,
    every: Span,
    /// The number of requests yielded so far.
    next: u64,
}

impl ScriptRequest {
    fn io(&self, path: &str, capacity: Sectors, faults: &mut Vec<Fault>) -> Io {
        if self.placement != 0 && !self.kind.io_kind().names_handle() {
            let message = "only a write and the update of a handle carry a placement identifier";
            faults.push(Fault::new(format!("{path}.placement-id"), message, "delete it"));
        }
        if matches!(self.kind, ScriptKind::Flush | ScriptKind::HandleUpdate) {
            if !self.size.is_zero() || !self.start.is_zero() {
                let message = format!("a {} has neither start nor size", self.kind.io_kind().name());
                faults.push(Fault::new(path, message, "leave them out"));
            }
            let placement = PlacementId::new(self.placement);
            return Io { placement, ..Io::new(self.kind.io_kind(), Lba::new(0), Sectors::new(0)) };
        }
        let kind = self.kind.io_kind();
        if kind.is_zone_management() {
            return self.zone_io(kind, path, capacity, faults);
        }
        let (Some(start), Some(size)) = (self.start.sectors(), self.size.sectors().filter(|size| !size.is_zero()))
        else {
            let message = format!("{} from {} are not whole sectors", self.size, self.start);
            faults.push(Fault::new(path, message, "use multiples of 512B, and a size above zero"));
            return Io::FLUSH;
        };
        let placement = PlacementId::new(self.placement);
        let io = Io { placement, ..Io::new(kind, Lba::new(start.get()), size) };
        if start.get().checked_add(size.get()).is_none_or(|end| end > capacity.get()) {
            let message = format!("{} from {} end beyond the drive's {}", self.size, self.start, capacity.bytes());
            faults.push(Fault::new(path, message, "use a lower address, or a larger drive"));
        }
        io
    }
}

impl ScriptRequest {
    fn zone_io(&self, kind: IoKind, path: &str, capacity: Sectors, faults: &mut Vec<Fault>) -> Io {
        if !self.size.is_zero() {
            faults.push(Fault::new(path, "an action on a zone has no size", "leave it out"));
        }
        match self.start.sectors() {
            Some(start) if start.get() < capacity.get() => Io::new(kind, Lba::new(start.get()), Sectors::new(0)),
            Some(_) => {
                let message = format!("{} is beyond the drive's {}", self.start, capacity.bytes());
                faults.push(Fault::new(path, message, "use a lower address, or a larger drive"));
                Io::FLUSH
            }
            None => {
                let message = format!("{} is no whole number of sectors", self.start);
                faults.push(Fault::new(path, message, "use the address at which the zone begins"));
                Io::FLUSH
            }
        }
    }
}

impl Script {
    /// Creates the source of a script's requests for a drive of `capacity`.
    ///
    /// # Errors
    ///
    /// All faults of the script.
    pub fn new(spec: &ScriptSpec, capacity: Sectors) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut requests = Vec::with_capacity(spec.requests.len());
        let mut last = Span::ZERO;
        for (i, request) in spec.requests.iter().enumerate() {
            let path = format!("request[{i}]");
            if request.at < last {
                let message = format!("arrives at {}, after one of {last}", request.at);
                faults.push(Fault::new(path.clone() + ".at", message, "list the requests in the order of arrival"));
            }
            last = last.max(request.at);
            requests.push(Arrival::new(Time::ZERO + request.at, request.io(&path, capacity, &mut faults)));
        }
        if requests.is_empty() {
            faults.push(Fault::new("request", "the script issues no request", "list a request"));
        }
        if spec.repeat == 0 {
            faults.push(Fault::new(
                "repeat",
                "is zero: the script issues no request",
                "use 1 or more, or leave it out",
            ));
        }
        if spec.depth == Some(0) {
            faults.push(Fault::new("depth", "a closed loop of depth 0 never issues a request", "use 1 or more"));
        }
        if spec.repeat > 1 && spec.every < last {
            let message = format!("a pass begins {} after another, which takes {last}", spec.every);
            faults.push(Fault::new("every", message, "start the passes further apart"));
        }
        let passes = u64::from(spec.repeat.saturating_sub(1));
        let end = spec.every.as_ps().checked_mul(passes).and_then(|begin| begin.checked_add(last.as_ps()));
        if end.is_none() {
            let message =
                format!("{} passes, {} apart, end after simulated time does (213 days)", spec.repeat, spec.every);
            faults.push(Fault::new("repeat", message, "repeat it less often, or start the passes closer together"));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let pacing = spec.depth.map_or(Pacing::Open, |depth| Pacing::Closed { depth });
        Ok(Self { requests, pacing, repeat: u64::from(spec.repeat), every: spec.every, next: 0 })
    }
}

impl Source for Script {
    fn next(&mut self) -> Result<Option<Arrival>, SourceError> {
        let (pass, index) = (self.next / self.requests.len() as u64, self.next % self.requests.len() as u64);
        if pass == self.repeat {
            return Ok(None);
        }
        self.next += 1;
        let Arrival { at, io, .. } = self.requests[index as usize];
        Ok(Some(Arrival::new(at + self.every * pass, io)))
    }

    fn pacing(&self) -> Pacing {
        self.pacing
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.repeat * self.requests.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Result<Script, Vec<Fault>> {
        Script::new(&toml::from_str(text).expect("TOML"), Sectors::new(16))
    }

    #[test]
    fn a_script_repeats_its_requests_in_order() {
        let text = r#"name = "s"
repeat = 2
every = "1ms"
[[request]]
kind = "write"
size = "2KiB"
[[request]]
at = "5us"
kind = "read"
start = "4KiB"
size = "4KiB"
[[request]]
at = "5us"
kind = "flush"
"#;
        let mut script = script(text).expect("sound");
        let mut all = Vec::new();
        while let Some(Arrival { at, io, .. }) = script.next().expect("no file") {
            all.push((at.as_ps() / 1_000_000, io.kind, io.start.get(), io.sectors.get()));
        }
        let pass = [(0, IoKind::Write, 0, 4), (5, IoKind::Read, 8, 8), (5, IoKind::Flush, 0, 0)];
        let again = pass.map(|(at, kind, start, sectors)| (at + 1_000, kind, start, sectors));
        assert_eq!(all, [pass, again].concat());
        assert_eq!((script.len_hint(), script.pacing()), (Some(6), Pacing::Open));
    }

    #[test]
    fn a_write_carries_its_placement_identifier_and_no_other_request_may() {
        let text = |kind: &str| {
            let size = if kind == "flush" { "0B" } else { "2KiB" };
            format!("name = \"s\"\n[[request]]\nkind = \"{kind}\"\nsize = \"{size}\"\nplacement-id = 7\n")
        };
        let first = script(&text("write")).expect("sound").next().expect("no file").expect("a request");
        assert_eq!(first.io.placement, PlacementId::new(7));
        for kind in ["read", "flush", "discard"] {
            let faults = script(&text(kind)).expect_err("it has no effect");
            assert_eq!(faults.iter().map(|fault| &*fault.path).collect::<Vec<_>>(), ["request[0].placement-id"]);
        }
    }

    #[test]
    fn a_script_without_requests_is_refused_at_its_key() {
        let request = "[[request]]\nkind = \"flush\"\n";
        for (text, key) in [
            (format!("name = \"s\"\nrepeat = 0\n{request}"), "repeat"),
            ("name = \"s\"\nrequest = []\n".into(), "request"),
        ] {
            let faults = script(&text).expect_err("nothing is asked");
            assert_eq!(faults.iter().map(|fault| &*fault.path).collect::<Vec<_>>(), [key]);
        }
    }

    #[test]
    fn every_builtin_script_is_valid() {
        let scripts = crate::generate::builtin().iter().filter(|(_, text)| text.contains("\n[[request]]"));
        let mut count = 0;
        for (name, text) in scripts {
            let spec: ScriptSpec = toml::from_str(text).expect(name);
            assert_eq!(spec.name, *name);
            assert!(text.contains("# Source: ") && !spec.description.is_empty(), "{name}");
            assert!(Script::new(&spec, Sectors::new(1 << 21)).is_ok(), "{name}");
            count += 1;
        }
        assert!(count >= 1);
    }

    #[test]
    fn a_script_beyond_the_end_of_time_is_refused() {
        let text = |repeat: u64| {
            format!(
                "name = \"s\"\nrepeat = {repeat}\nevery = \"1000s\"\n[[request]]\nkind = \"write\"\nsize = \"2KiB\"\n"
            )
        };
        assert!(script(&text(18_446)).is_ok());
        let faults = script(&text(18_448)).expect_err("too long");
        assert!(
            faults.len() == 1 && faults[0].path == "repeat" && faults[0].message.contains("213 days"),
            "{faults:?}"
        );
    }

    #[test]
    fn every_fault_of_a_script_is_found() {
        let text = r#"name = "s"
depth = 0
repeat = 2
[[request]]
at = "9us"
kind = "write"
size = "1000B"
[[request]]
kind = "read"
start = "8KiB"
size = "512B"
[[request]]
kind = "flush"
size = "1KiB"
"#;
        let paths: Vec<_> = script(text).expect_err("faulty").into_iter().map(|fault| fault.path).collect();
        let wanted = ["request[0]", "request[1].at", "request[1]", "request[2].at", "request[2]", "depth", "every"];
        assert_eq!(paths, wanted);
    }
}
