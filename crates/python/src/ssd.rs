//! The class `Ssd`: a drive in the caller's time, for co-simulation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use base::io::{Io, IoKind, PlacementId};
use base::units::{Bytes, Lba, Sectors, Time};
use flash::nand::{Bytes512, Sector};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ssd::{Drive, QueueId, Request, Tag};
use study::output::Kind;
use study::session::Session;
use study::snapshot;

use crate::argument::Arguments;
use crate::detached::detached;
use crate::device::Device;
use crate::error::Failure;
use crate::outcome::write;
use crate::run::precondition_of;

/// The latest time of a caller. Simulated time ends at twice that, after 213 days, and no event may be scheduled
/// beyond.
const LAST: Time = Time::from_ps(1 << 63);

/// A drive, with or without the contents of its sectors.
enum Payload {
    None(Box<::ssd::Ssd<()>>),
    Bytes(Box<::ssd::Ssd<Bytes512>>),
}

/// Applies an expression to a drive of either kind.
macro_rules! with {
    ($payload:expr, $drive:ident => $does:expr) => {
        match $payload {
            Payload::None($drive) => $does,
            Payload::Bytes($drive) => $does,
        }
    };
}

/// A drive in the caller's time: submit requests, ask for the next event, advance.
///
/// All times are whole picoseconds since the drive was made (constants such as `flashloom.US` are factors), so that the
/// time of an event is exact. `data` keeps the contents of all sectors: a write then needs its bytes, and a read
/// returns them; without it only times are simulated, and memory is saved. `precondition` is as in `flashloom.run`, and
/// `load_snapshot` is a file that `save` wrote.
#[pyclass(module = "flashloom")]
pub(crate) struct Ssd {
    payload: Payload,
    is_on: bool,
    /// True after an invariant was broken: then every method raises an exception.
    is_broken: bool,
    next: Tag,
    format: ::ssd::ResolvedDevice,
}

/// A request that has completed. Times are in picoseconds.
#[pyclass(module = "flashloom", frozen, get_all)]
pub(crate) struct Completion {
    /// The number of the request, as `submit` returned it.
    tag: u64,
    /// `read`, `write`, `flush` or `discard`.
    op: &'static str,
    /// The address of the first byte.
    offset: u64,
    /// The length in bytes.
    size: u64,
    /// `done`, `uncorrectable`, `read_only` or `out_of_range`.
    status: &'static str,
    /// Time of submission, in picoseconds.
    arrival: u64,
    /// Time at which the request left its submission queue, in picoseconds.
    start: u64,
    /// Time of completion, in picoseconds.
    end: u64,
    /// Number of the submission queue, from 0.
    queue: u16,
    /// The bytes of a read; `None` unless the drive was made with `data`.
    data: Option<Py<PyBytes>>,
}

#[pymethods]
impl Completion {
    /// The response time in picoseconds: queue wait and service.
    #[getter]
    fn latency(&self) -> u64 {
        self.end - self.arrival
    }

    fn __repr__(&self) -> String {
        let Self { tag, op, offset, size, status, .. } = self;
        let us = self.latency() as f64 / 1e6;
        format!("flashloom.Completion({tag}: {op} of {size} bytes at {offset}, {status} after {us} us)")
    }
}

/// The findings of the drive when its power came back.
#[pyclass(module = "flashloom", frozen, get_all)]
pub(crate) struct Recovery {
    /// Picoseconds until the drive takes requests; requests submitted earlier wait.
    time: u64,
    /// The number of mapping units that the drive found.
    units: u32,
    /// The number of stale translation pages, which the drive writes first.
    translation_pages: u32,
}

#[pymethods]
impl Recovery {
    fn __repr__(&self) -> String {
        format!("flashloom.Recovery({} us, {} units)", self.time as f64 / 1e6, self.units)
    }
}

fn kind(name: &str) -> Result<IoKind, Failure> {
    IoKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let all = IoKind::ALL.map(IoKind::name).join(", ");
        Failure::argument("op", format!("`{name}` is no kind of request"), format!("choose one of {all}"))
    })
}

/// Converts an argument in bytes to whole sectors.
fn sectors(key: &str, bytes: u64) -> Result<Sectors, Failure> {
    let wrong = || Failure::argument(key, format!("{bytes} bytes are no whole sectors"), "use a multiple of 512");
    Bytes::new(bytes).sectors().ok_or_else(wrong)
}

/// Converts completions for Python; `bytes` gives the contents of a read.
fn completions<S>(
    py: Python<'_>,
    done: Vec<::ssd::Completion<S>>,
    bytes: impl Fn(&[S]) -> Option<Vec<u8>>,
) -> Vec<Completion> {
    let one = |of: ::ssd::Completion<S>| Completion {
        tag: of.tag,
        op: of.io.kind.name(),
        offset: of.io.start.get() * base::units::SECTOR.get(),
        size: of.io.sectors.bytes().get(),
        status: of.status.name(),
        arrival: of.arrival.as_ps(),
        start: of.start.as_ps(),
        end: of.end.as_ps(),
        queue: of.queue.get(),
        data: (of.io.kind == IoKind::Read)
            .then(|| bytes(&of.data))
            .flatten()
            .map(|data| PyBytes::new(py, &data).unbind()),
    };
    done.into_iter().map(one).collect()
}

fn joined(sectors: &[Bytes512]) -> Option<Vec<u8>> {
    Some(sectors.iter().flat_map(|sector| sector.0).collect())
}

impl Ssd {
    /// Applies `does` to the drive. A broken invariant becomes a failure, in this call and in all later calls.
    fn guarded<T>(&mut self, does: impl FnOnce(&mut Payload) -> T) -> Result<T, Failure> {
        if self.is_broken {
            return Err(Failure::Bug("the drive broke an invariant before, and says nothing since".to_owned()));
        }
        let Self { payload, is_broken, .. } = self;
        catch_unwind(AssertUnwindSafe(|| does(payload))).map_err(|panic| {
            *is_broken = true;
            Failure::panicked(&*panic)
        })
    }

    fn now_of(&self) -> Time {
        with!(&self.payload, drive => drive.now())
    }

    /// Converts a time of the caller, which must not be before the drive's.
    fn time(&self, now: u64) -> Result<Time, Failure> {
        let (time, at) = (Time::from_ps(now), self.now_of());
        if time >= at && time <= LAST {
            return Ok(time);
        }
        let message = format!(
            "{now} ps is no time from now on: the drive is at {} ps, and its time ends at {} ps",
            at.as_ps(),
            LAST.as_ps()
        );
        Err(Failure::argument("now", message, "pass whole picoseconds that do not go back"))
    }

    fn powered(&self, is_on: bool) -> Result<(), Failure> {
        let wrong = |message: &str, remedy: &str| Err(Failure::argument("power", message, remedy));
        match (self.is_on, is_on) {
            (false, true) => wrong("the power is off", "call power_on first"),
            (true, false) => wrong("the power is on already", "call cut_power or power_off first"),
            _ => Ok(()),
        }
    }

    fn build<S: Sector + Send>(
        py: Python<'_>,
        device: &Device,
        seed: u64,
        steps: Vec<::ssd::Precondition>,
        load: Option<PathBuf>,
    ) -> PyResult<(Box<::ssd::Ssd<S>>, ::ssd::ResolvedDevice)> {
        let found = device.found()?;
        let built = detached(py, |interrupt| {
            let mut session = Session::new(&found).seed(seed).precondition(steps).interrupt(interrupt);
            if let Some(limit) = flashloom::memory_limit() {
                session = session.memory_limit(limit);
            }
            if let Some(path) = load {
                session = session.load_snapshot(path);
            }
            Ok(Box::new(session.prepare::<S>()?))
        })?;
        Ok((built, found.resolved))
    }
}

#[pymethods]
impl Ssd {
    /// Creates a new drive, or one from a snapshot, and preconditions it.
    #[new]
    #[pyo3(signature = (device, *, seed=0, data=false, precondition=None, load_snapshot=None))]
    fn new(
        py: Python<'_>,
        device: &Bound<'_, PyAny>,
        seed: u64,
        data: bool,
        precondition: Option<&Bound<'_, PyAny>>,
        load_snapshot: Option<PathBuf>,
    ) -> PyResult<Self> {
        let device = Device::of(device)?;
        let mut run = Arguments::default();
        run.take_list("precondition", precondition)?;
        let steps = precondition_of(run)?;
        let (payload, format) = if data {
            let (drive, format) = Self::build(py, &device, seed, steps, load_snapshot)?;
            (Payload::Bytes(drive), format)
        } else {
            let (drive, format) = Self::build(py, &device, seed, steps, load_snapshot)?;
            (Payload::None(drive), format)
        };
        Ok(Self { payload, is_on: true, is_broken: false, next: 0, format })
    }

    /// Submits a request at the time `now` and returns its number. `offset` and `size` are bytes, multiples of 512; a
    /// flush has neither. A write to a drive with `data` needs its bytes. Only a write may have a `placement_id`, by
    /// which the host says which data belong together.
    #[pyo3(signature = (now, op, offset=0, size=0, data=None, *, queue=0, placement_id=0))]
    #[allow(clippy::too_many_arguments)] // Python passes them by name.
    fn submit(
        &mut self,
        now: u64,
        op: &str,
        offset: u64,
        size: u64,
        data: Option<&[u8]>,
        queue: u16,
        placement_id: u16,
    ) -> PyResult<u64> {
        self.powered(true)?;
        let (now, kind) = (self.time(now)?, kind(op)?);
        let queues = with!(&self.payload, drive => drive.queues());
        if usize::from(queue) >= queues {
            let message = format!("there is no queue {queue}: the drive has {queues}, counted from 0");
            return Err(Failure::argument("queue", message, "use a smaller number, or set host.queues").into());
        }
        let size = match data {
            Some(data) if size == 0 => data.len() as u64,
            _ => size,
        };
        let io = match kind {
            IoKind::Flush if offset == 0 && size == 0 => Io::FLUSH,
            IoKind::Flush => {
                return Err(Failure::argument("size", "a flush has neither offset nor size", "leave them out").into());
            }
            kind => Io {
                placement: PlacementId::new(placement_id),
                ..Io::new(kind, Lba::new(sectors("offset", offset)?.get()), sectors("size", size)?)
            },
        };
        if placement_id != 0 && !kind.names_handle() {
            let message = "only a write and the update of a handle carry a placement identifier";
            return Err(Failure::argument("placement_id", message, "leave it out").into());
        }
        if kind == IoKind::HandleUpdate && (offset, size) != (0, 0) {
            let message = "the update of a handle has neither offset nor size";
            return Err(Failure::argument("size", message, "leave them out").into());
        }
        if kind.is_zone_management() && !io.sectors.is_zero() {
            return Err(Failure::argument("size", "an action on a zone has no size", "leave it out").into());
        }
        if !kind.is_bare() && io.sectors.is_zero() {
            return Err(Failure::argument("size", "is zero", "use a multiple of 512").into());
        }
        let keeps = matches!(self.payload, Payload::Bytes(_));
        let wants = keeps && kind.brings_data();
        if wants && data.is_none_or(|data| data.len() as u64 != size) {
            let message = format!("a write of {size} bytes has {} bytes of data", data.map_or(0, <[u8]>::len));
            return Err(Failure::argument("data", message, "pass as many bytes as the request has").into());
        }
        if !wants && data.is_some() {
            let message = if keeps { "only a write has data" } else { "the drive keeps no data" };
            return Err(Failure::argument("data", message, "leave it out, or make the drive with data=True").into());
        }
        let (tag, queue) = (self.next, QueueId::new(queue));
        self.guarded(|payload| match payload {
            Payload::None(drive) => {
                let written = if kind.brings_data() { io.sectors.get() as usize } else { 0 };
                drive.submit(now, Request { tag, queue, io, data: vec![(); written] });
            }
            Payload::Bytes(drive) => {
                let (sectors, _) = data.unwrap_or_default().as_chunks::<512>();
                drive.submit(now, Request { tag, queue, io, data: sectors.iter().copied().map(Bytes512).collect() });
            }
        })?;
        self.next += 1;
        Ok(tag)
    }

    /// Returns the time of the next event; `None` if nothing is under way.
    fn next_event(&self) -> Option<u64> {
        with!(&self.payload, drive => drive.next_event()).map(Time::as_ps)
    }

    /// Handles all events up to the time `to`, or up to the first time at which a request completes, whichever is
    /// earlier; `now` is then that time. Returns the requests that completed.
    fn advance(&mut self, py: Python<'_>, to: u64) -> PyResult<Vec<Completion>> {
        let to = self.time(to)?;
        Ok(py.detach(|| self.guarded(|payload| advance(payload, to)))?.into_python(py))
    }

    /// Advances until nothing is under way, background work included, and returns all requests that completed.
    fn drain(&mut self, py: Python<'_>) -> PyResult<Vec<Completion>> {
        let mut all = Vec::new();
        while let Some(at) = self.next_event() {
            all.extend(self.advance(py, at)?);
            py.check_signals()?;
        }
        Ok(all)
    }

    /// Cuts the power at the current time. Data that had not reached the flash is lost, and flash operations under way
    /// are torn. Returns the numbers of the requests that will never complete.
    fn cut_power(&mut self) -> PyResult<Vec<u64>> {
        self.powered(true)?;
        let lost = self.guarded(|payload| with!(payload, drive => drive.cut_power()))?;
        self.is_on = false;
        Ok(lost)
    }

    /// Switches off in order: all requests complete, and the buffer is written back. Returns the requests that
    /// completed.
    fn power_off(&mut self, py: Python<'_>) -> PyResult<Vec<Completion>> {
        self.powered(true)?;
        let done = self.guarded(|payload| match payload {
            Payload::None(drive) => DriveCompletions::None(drive.power_off()),
            Payload::Bytes(drive) => DriveCompletions::Bytes(drive.power_off()),
        })?;
        self.is_on = false;
        Ok(done.into_python(py))
    }

    /// Switches on at the time `now`: the drive is rebuilt from its flash alone. Requests may be submitted at once;
    /// they wait until recovery is over.
    fn power_on(&mut self, now: u64) -> PyResult<Recovery> {
        self.powered(false)?;
        let now = self.time(now)?;
        let found = self.guarded(|payload| with!(payload, drive => drive.power_on(now)))?;
        self.is_on = true;
        let ::ssd::Recovery { time, translation_pages, units } = found;
        Ok(Recovery { time: time.as_ps(), translation_pages, units })
    }

    /// Writes the state that the drive keeps without power to a file, for `load_snapshot`.
    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, path: PathBuf, force: bool) -> PyResult<()> {
        Ok(write("save", &path, Kind::Snapshot, force, |mut out| {
            with!(&self.payload, drive => snapshot::save(drive, &mut out))?;
            out.flush()
        })?)
    }

    /// The current time of the drive, in picoseconds.
    #[getter]
    fn now(&self) -> u64 {
        self.now_of().as_ps()
    }

    /// The number of requests submitted and not yet completed.
    #[getter]
    fn outstanding(&self) -> usize {
        with!(&self.payload, drive => drive.outstanding())
    }

    /// True while the power is on.
    #[getter]
    const fn powered_on(&self) -> bool {
        self.is_on
    }

    /// The number of bytes that the host can address.
    #[getter]
    fn capacity(&self) -> u64 {
        self.format.capacity().bytes().get()
    }

    /// Returns the number of program/erase cycles of every block.
    #[getter]
    fn erase_counts(&self) -> Vec<u32> {
        with!(&self.payload, drive => drive.erase_counts())
    }

    fn __repr__(&self) -> String {
        format!(
            "flashloom.Ssd({} at {} us, {} outstanding)",
            self.format.spec.name,
            self.now() as f64 / 1e6,
            self.outstanding()
        )
    }
}

/// Completions of a drive of either kind.
enum DriveCompletions {
    None(Vec<::ssd::Completion<()>>),
    Bytes(Vec<::ssd::Completion<Bytes512>>),
}

impl DriveCompletions {
    fn into_python(self, py: Python<'_>) -> Vec<Completion> {
        match self {
            Self::None(done) => completions(py, done, |_| None),
            Self::Bytes(done) => completions(py, done, joined),
        }
    }
}

fn advance(payload: &mut Payload, to: Time) -> DriveCompletions {
    match payload {
        Payload::None(drive) => {
            let mut done = Vec::new();
            drive.advance(to, &mut done);
            DriveCompletions::None(done)
        }
        Payload::Bytes(drive) => {
            let mut done = Vec::new();
            drive.advance(to, &mut done);
            DriveCompletions::Bytes(done)
        }
    }
}
