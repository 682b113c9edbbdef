//! The source of a trace's requests.

use std::path::Path;

use base::io::{Io, IoKind};
use base::units::{Lba, Time};

use super::doubt::Doubt;
use super::extent::{Misfit, Placer};
use super::pass::{Pass, TimedRequest};
use super::record::Context;
use super::stored::TraceFile;
use super::units::Units;
use super::volume::{VolumeFault, VolumeRule, Volumes};
use super::{Format, TraceOptions, TraceStats};
use crate::{Arrival, Pacing, Source, SourceError};

/// A trace file, read as a [`Source`]. See the [module](super) for the layers.
pub struct TraceSource {
    file: TraceFile,
    options: TraceOptions,
    context: Context,
    pass: Pass,
    placer: Placer,
    scale: u64,
    /// The number of repetitions after this pass.
    repeats: u32,
    /// The time at which this pass started.
    base: Time,
    /// The number of requests of the first pass.
    read: u64,
    last: Time,
    /// The place of the latest request: its file and line.
    place: (u16, u64),
    /// The remainder of a request that compaction split.
    remaining: Option<(TimedRequest, Io)>,
    /// The end, or an error; it is returned by all further calls.
    finished: Option<Result<(), SourceError>>,
}

/// Opens a trace.
///
/// # Errors
/// If the file cannot be read, its format is unknown, or the options select no request.
pub fn open(path: &Path, options: &TraceOptions) -> Result<TraceSource, SourceError> {
    TraceSource::open(TraceFile::at(path), options)
}

/// The fixed-point value of a time scale of one: 2^32.
const SCALE_ONE: u64 = 1 << 32;

impl Context {
    pub(crate) fn new(options: &TraceOptions) -> Self {
        Self { stats: TraceStats::default(), volumes: Volumes::new(options.volume.as_deref()), doubts: Vec::new() }
    }
}

impl TraceSource {
    /// Opens a trace that was named before.
    ///
    /// # Errors
    /// See [`open`](fn@open).
    pub fn open(mut file: TraceFile, options: &TraceOptions) -> Result<Self, SourceError> {
        let refuse = |message: &str, remedy: &str| Err(SourceError::new(message, remedy));
        if options.limit == Some(0) {
            return refuse("a limit of 0 requests reads nothing", "ask for at least one with --limit");
        }
        if options.repeat == 0 {
            return refuse("to repeat a trace 0 times reads nothing", "ask for at least one with --repeat");
        }
        if matches!(options.pacing, Some(Pacing::Closed { depth: 0 })) {
            return refuse("a closed loop of depth 0 issues nothing", "ask for a depth of at least one");
        }
        if options.capacity.is_some_and(|capacity| capacity.is_zero()) {
            return refuse("a device of 0 sectors holds nothing", "give the capacity of the device");
        }
        let scale = (options.time_scale.get() * SCALE_ONE as f64).round();
        if scale < 0.0 || scale >= u64::MAX as f64 {
            return refuse("the time scale is beyond 2^32", "scale by less");
        }
        if options.repeat > 1 {
            file.keep()?;
        }
        let mut context = Context::new(options);
        let pass = Pass::open(&file, options, &mut context)?;
        Ok(Self {
            file,
            place: (0, 0),
            placer: Placer::new(options.extent, options.capacity),
            options: options.clone(),
            context,
            pass,
            scale: scale as u64,
            repeats: options.repeat - 1,
            base: Time::ZERO,
            read: 0,
            last: Time::ZERO,
            remaining: None,
            finished: None,
        })
    }

    /// The format of the trace, named or detected.
    #[must_use]
    pub fn format(&self) -> Format {
        self.pass.format()
    }

    /// Counts of skipped and corrected requests so far, over all repetitions.
    #[must_use]
    pub fn stats(&self) -> &TraceStats {
        &self.context.stats
    }

    /// Facts that the file does not state, with the assumptions made.
    #[must_use]
    pub fn doubts(&self) -> &[Doubt] {
        &self.context.doubts
    }

    /// The units of the trace's numbers, if they are a convention of its format.
    #[must_use]
    pub fn units(&self) -> Option<Units> {
        self.format().units().map(|own| self.options.units.over(own))
    }

    /// The names of the volumes so far, in order of appearance.
    #[must_use]
    pub fn volumes(&self) -> &[String] {
        self.context.volumes.names()
    }

    fn advance(&mut self) -> Result<Option<Arrival>, SourceError> {
        if let Some((timed, io)) = self.remaining.take() {
            return self.place(timed, io).map(Some);
        }
        loop {
            if let Some(timed) = self.pass.next(&mut self.context)? {
                self.read += 1;
                self.last = timed.at;
                self.place = (timed.part, timed.line);
                let start = self.start_of(&timed)?;
                return self.place(timed, Io { start, ..timed.io }).map(Some);
            }
            if self.repeats == 0 {
                return Ok(None);
            }
            self.repeats -= 1;
            // Two passes are separated by one mean gap, like two requests.
            let gap = self.last.as_ps() / self.read.saturating_sub(1).max(1);
            let end = self.last.as_ps().checked_add(gap).and_then(|end| self.base.as_ps().checked_add(end));
            let Some(base) = end else {
                return Err(self.too_long("repeat it less often"));
            };
            self.base = Time::from_ps(base);
            self.read = 0;
            self.pass = Pass::open(&self.file, &self.options, &mut self.context)?;
        }
    }

    fn start_of(&self, timed: &TimedRequest) -> Result<Lba, SourceError> {
        let io = &timed.io;
        // If one volume is selected, there is only one, with the index 0.
        let volume = if self.options.volume.is_some() { 0 } else { timed.volume };
        let apart = self.placer.keeps_volumes_apart();
        let placed = self.options.volumes.place(volume, io.start, io.sectors, apart);
        // A flush has no address, but its volume is checked.
        let placed = if io.kind == IoKind::Flush { placed.map(|_| io.start) } else { placed };
        placed.map_err(|fault| {
            let name = self.context.volumes.name(timed.volume);
            match (fault, self.options.volumes) {
                (VolumeFault::BeyondStride, VolumeRule::Stride(stride)) => self.pass.error(
                    (timed.part, timed.line),
                    format!("{} + {} of volume {name} ends beyond its stride of {stride}", io.start, io.sectors),
                    "give each volume more room, or keep them apart with --extent compact",
                ),
                _ => self.pass.error(
                    (timed.part, timed.line),
                    format!(
                        "a second volume appears, {name} after {}: each has its own sector zero, and the device has \
                         one address space",
                        self.context.volumes.name(0)
                    ),
                    "choose one with --volume NAME, keep them apart with --extent compact or --volumes stride:SIZE, \
                     or lay them over each other with --volumes overlay",
                ),
            }
        })
    }

    #[inline]
    fn place(&mut self, timed: TimedRequest, io: Io) -> Result<Arrival, SourceError> {
        let placed = self.placer.place(timed.volume, io, &mut self.context.stats);
        let (piece, left) = placed.map_err(|misfit| self.misfit(&timed, &io, misfit))?;
        if !left.is_zero() {
            if io.sectors == timed.io.sectors {
                self.context.stats.split_requests += 1;
            }
            self.remaining = Some((timed, Io { start: io.start + piece.sectors, sectors: left, ..io }));
        }
        Ok(Arrival { at: self.scaled(timed.at)?, io: piece, queue: timed.queue })
    }

    #[inline]
    fn scaled(&self, at: Time) -> Result<Time, SourceError> {
        let at = u128::from(self.base.as_ps()) + u128::from(at.as_ps());
        let at = if self.scale == SCALE_ONE { at } else { (at * u128::from(self.scale)) >> 32 };
        u64::try_from(at).map(Time::from_ps).map_err(|_| self.too_long("scale it by less or repeat it less often"))
    }

    #[cold]
    fn too_long(&self, remedy: &str) -> SourceError {
        self.fault("lasts longer than the 213 days of simulated time".to_owned(), remedy.to_owned())
    }

    #[cold]
    fn misfit(&self, timed: &TimedRequest, io: &Io, misfit: Misfit) -> SourceError {
        let capacity = self.options.capacity.map_or_else(String::new, |capacity| capacity.to_string());
        let (message, remedy) = match misfit {
            Misfit::Beyond => (
                format!("{} + {} is beyond the capacity of {capacity}", io.start, io.sectors),
                "use a larger device, or fit such addresses with --extent wrap or --extent compact",
            ),
            Misfit::TooLong => {
                (format!("a request of {} is longer than the device of {capacity}", io.sectors), "use a larger device")
            }
            Misfit::Full => (
                format!("even compacted, the addresses used exceed the capacity of {capacity}"),
                "use a larger device, read less of the trace with --limit, or use --extent wrap",
            ),
        };
        self.pass.error((timed.part, timed.line), message, remedy)
    }
}

impl Source for TraceSource {
    fn next(&mut self) -> Result<Option<Arrival>, SourceError> {
        if let Some(finished) = &self.finished {
            return finished.clone().map(|()| None);
        }
        let next = self.advance();
        match &next {
            Ok(Some(_)) => {}
            Ok(None) => self.finished = Some(Ok(())),
            Err(error) => self.finished = Some(Err(error.clone())),
        }
        next
    }

    fn pacing(&self) -> Pacing {
        self.options.pacing.unwrap_or_else(|| self.pass.pacing())
    }

    fn fault(&self, message: String, remedy: String) -> SourceError {
        self.pass.error(self.place, message, remedy)
    }

    fn notes(&self) -> Vec<String> {
        self.context.doubts.iter().map(Doubt::to_string).chain(self.context.stats.notes()).collect()
    }

    fn len_hint(&self) -> Option<u64> {
        // A filter or compaction changes the number of requests.
        if self.options.volume.is_some() || self.placer.keeps_volumes_apart() {
            return None;
        }
        let once = self.pass.len_hint()?.saturating_sub(self.options.skip);
        once.min(self.options.limit.unwrap_or(u64::MAX)).checked_mul(u64::from(self.options.repeat))
    }
}
