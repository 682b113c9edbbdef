//! The device: assembles the parts and advances the clock.

use base::engine::{EventHash, EventQueue, Handle};
use base::io::{Io, IoKind};
use base::units::{Age, Bytes, DieId, Energy, Lpn, Sectors, Temperature, Time};
use flash::backend::{Backend, Observer};
use flash::nand::{Faults, Geometry, Media, Sector};
use ftl::{Event, Flash, Ftl, HostEvent, MergeCounters, Mount};

use crate::host::HostSide;
use crate::power_draw::{PowerDraw, array_energy};
use crate::power_manager::PowerManager;
use crate::{Completion, Counters, Drive, History, Request, ResolvedDevice, SlcArrayCounters};

/// A solid-state drive. `S` is the content of a sector: `()` for timing only, a [`Stamp`](flash::nand::Stamp) to
/// check integrity, bytes to serve.
#[derive(Clone, Debug)]
pub struct Ssd<S> {
    pub(crate) resolved: ResolvedDevice,
    pub(crate) seed: u64,
    /// The seed of the random writes of preconditioning. It differs from the drive's own seed in the drives of a
    /// mirror.
    pub(crate) history_seed: u64,
    pub(crate) now: Time,
    pub(crate) events: EventQueue<Event>,
    pub(crate) hash: EventHash,
    pub(crate) backend: Backend,
    /// The SLC array, if the device has two kinds of flash.
    pub(crate) slc_array: Option<Box<Backend>>,
    pub(crate) ftl: Box<dyn Ftl>,
    /// Power states, temperature and throttle, if the device has them.
    pub(crate) power: Option<Box<PowerManager>>,
    /// The requests and all that the host side has of them.
    pub(crate) host: HostSide<S>,
    /// The number of announced requests whose map entries are prefetched already.
    announced: usize,
    /// False while recovery is under way.
    pub(crate) ready: bool,
    /// False until the scan of recovery is over; from then on recovery writes translation pages.
    pub(crate) scanned: bool,
    pub(crate) powered: bool,
    /// True if an orderly power-off waits for its flush: all data goes to its place on flash, none to the log.
    pub(crate) powering_off: bool,
    /// The history of preconditioning; `None` if the device does not note it.
    pub(crate) history: Option<History>,
    /// True if the FTL is in the state that a mount of the media gives: the recovery that ended preconditioning wrote
    /// nothing.
    pub(crate) as_mounted: bool,
    /// The time of the next failure of a whole die, or of the next change of the host's memory.
    pub(crate) next_change: Option<Time>,
    /// The size of the host's memory, if a caller has set it in place of the description's.
    pub(crate) host_memory: Option<Bytes>,
}

impl<S: Sector> Ssd<S> {
    /// Creates a new device. All its randomness comes from `seed`.
    #[must_use]
    pub fn new(resolved: &ResolvedDevice, seed: u64) -> Self {
        let (media, slc_array) = Self::new_media(resolved, seed);
        Self::with_media(resolved, seed, media, slc_array)
    }

    /// The media of a new device: its main array, and its SLC array if it has one.
    #[must_use]
    pub fn new_media(resolved: &ResolvedDevice, seed: u64) -> (Media, Option<Media>) {
        let faults = |seed| Faults::new(&resolved.spec.flash.faults, seed);
        let timing = &resolved.backend.timing;
        let media = Media::new(resolved.geometry.clone(), resolved.part.endurance, timing.one_shot, faults(seed))
            .with_errors(resolved.backend.errors.as_ref(), seed)
            .with_endurance_spread(resolved.part.endurance_spread, seed);
        let slc_array = resolved.slc_array.as_ref().map(|part| {
            Media::new(part.geometry.clone(), part.part.endurance, 1, faults(slc_seed(seed))).with_content(S::KIND)
        });
        (timing.of_media(media).with_content(S::KIND), slc_array)
    }

    /// Creates a device over new or used flash. Its SLC array, if the device has one, is new if none is given.
    ///
    /// # Panics
    ///
    /// If the sectors of the flash have another kind of content than `S`.
    #[must_use]
    pub fn with_media(resolved: &ResolvedDevice, seed: u64, media: Media, slc_array: Option<Media>) -> Self {
        let slc_array = resolved.slc_array.as_ref().map(|part| {
            let media = slc_array.unwrap_or_else(|| {
                let faults = Faults::new(&resolved.spec.flash.faults, slc_seed(seed));
                Media::new(part.geometry.clone(), part.part.endurance, 1, faults).with_content(S::KIND)
            });
            Box::new(Backend::new(media, &part.backend))
        });
        for media in [Some(&media), slc_array.as_ref().map(|slc_array| slc_array.media())].into_iter().flatten() {
            assert_eq!(media.kind(), S::KIND, "flash with sectors of another kind than those of the drive");
        }
        let planted = resolved.planted;
        let slc_media = slc_array.as_ref().map(|slc_array| slc_array.media());
        let mut ftl = resolved.family.mount(&Mount { media: &media, slc_array: slc_media, seed, planted });
        #[cfg_attr(not(feature = "sabotage"), allow(unused_mut))] // A test plants its bug.
        let mut backend = Backend::new(media, &resolved.backend);
        #[cfg(feature = "sabotage")]
        backend.plant(planted.in_backend());
        let sectors = resolved.geometry.sectors;
        let ready = !ftl.power_cycle().is_some_and(|ftl| ftl.is_recovering());
        let mut events = EventQueue::default();
        if !ready {
            events.push(Time::ZERO, Event::Host(HostEvent::Ready));
        }
        let mut device = Self {
            backend,
            slc_array,
            ftl,
            power: resolved.spec.power.as_ref().map(|power| Box::new(PowerManager::new(power, Time::ZERO))),
            host: HostSide::new(resolved),
            announced: 0,
            ready,
            scanned: ready,
            powered: true,
            powering_off: false,
            history: S::KIND.is_present().then(|| History::new(sectors, Vec::new())),
            as_mounted: true,
            next_change: resolved.first_change(),
            host_memory: None,
            now: Time::ZERO,
            events,
            hash: EventHash::default(),
            seed,
            history_seed: seed,
            resolved: resolved.clone(),
        };
        device.restore_saved();
        device
    }

    /// Makes the device note the history of preconditioning: four bytes per mapping unit. A device with a payload
    /// always does. `history` is the history of the flash that it was given.
    #[must_use]
    pub fn noting(mut self, history: Option<History>) -> Self {
        self.history =
            history.or(self.history).or_else(|| Some(History::new(self.resolved.geometry.sectors, Vec::new())));
        self
    }

    /// Makes preconditioning use another seed for its random writes. The drives of a mirror get the same writes in this
    /// way, while the faults and choices of each drive follow its own seed.
    #[must_use]
    pub const fn written_as(mut self, seed: u64) -> Self {
        self.history_seed = seed;
        self
    }

    /// The history of preconditioning, if the device notes it; later host writes are not part of it.
    #[must_use]
    pub const fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// The resolved description.
    #[must_use]
    pub const fn resolved(&self) -> &ResolvedDevice {
        &self.resolved
    }

    /// The seed of the device's randomness.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The present time of the device: the time up to which it was advanced.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The media of the main array.
    #[must_use]
    pub const fn media(&self) -> &Media {
        self.backend.media()
    }

    /// The media of the main array, to plan faults.
    pub fn media_mut(&mut self) -> &mut Media {
        self.backend.interrupt_runs(self.now, &mut self.events);
        self.backend.media_mut()
    }

    /// Makes the dies fail whose time has come, and gives the drive the host memory that the description names for this
    /// time.
    #[cold]
    #[inline(never)]
    fn make_changes(&mut self) {
        // Preconditioning takes no time.
        if self.backend.is_timed() {
            let memory = self.give_described_memory();
            let (now, faults) = (self.now, &self.resolved.spec.flash.faults);
            let due: Vec<DieId> = faults.dies_due(now).collect();
            self.next_change = faults.next_die_failure(Some(now)).into_iter().chain(memory).min();
            due.into_iter().for_each(|die| self.media_mut().fail_die(die));
        }
    }

    /// Lets time pass without power: the data ages, which raises the bit errors of later reads.
    pub fn age(&mut self, age: Age, temperature: Temperature) {
        self.backend.media_mut().set_clock(self.now);
        self.backend.media_mut().age(age, temperature);
    }

    /// The media of the SLC array, if the device has one.
    #[must_use]
    pub fn slc_media(&self) -> Option<&Media> {
        self.slc_array.as_ref().map(|slc_array| slc_array.media())
    }

    /// The media of the SLC array, to plan faults.
    pub fn slc_media_mut(&mut self) -> Option<&mut Media> {
        self.slc_array.as_mut().map(|slc_array| slc_array.media_mut())
    }

    /// Makes an observer see every step from now on. Results do not change.
    ///
    /// # Panics
    ///
    /// If work is in progress.
    #[must_use]
    pub fn observed_by(mut self, observer: impl Observer) -> Self {
        self.backend.observe(Box::new(observer));
        self
    }

    /// Returns the attached observer; `None` if there is none, or its type is not `O`.
    #[must_use]
    pub fn observer<O: Observer>(&self) -> Option<&O> {
        self.backend.observer()?.downcast_ref()
    }

    /// The observer, if its type is `O`, to take its findings.
    pub fn observer_mut<O: Observer>(&mut self) -> Option<&mut O> {
        self.backend.observer_mut()?.downcast_mut()
    }

    /// The number of requests submitted and not yet completed.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.host.queues.waiting() + self.host.active.len()
    }

    /// Program/erase cycles of every block, without the blocks of an SLC array.
    #[must_use]
    pub fn erase_counts(&self) -> Vec<u32> {
        self.backend.media().all_erases().collect()
    }

    /// Program/erase cycles of every block of the SLC array; empty without one.
    #[must_use]
    pub fn slc_erase_counts(&self) -> Vec<u32> {
        self.slc_media().into_iter().flat_map(Media::all_erases).collect()
    }

    /// The energy of the flash commands in `account`: volts x amperes x array time, plus the bus energy of each byte.
    /// All chips of a gang take part. A copy-back counts with the program current.
    #[must_use]
    pub fn energy(&self, account: &flash::backend::Account) -> Energy {
        array_energy(&self.resolved.part, self.resolved.gang, account)
    }

    /// The energy of the SLC array's commands.
    #[must_use]
    pub fn slc_energy(&self, account: &flash::backend::Account) -> Energy {
        self.resolved
            .slc_array
            .as_ref()
            .map_or(Energy::default(), |slc_array| array_energy(&slc_array.part, 1, account))
    }

    /// The electrical figures of the flash, which turn counters into energy without the drive.
    #[must_use]
    pub fn power_draw(&self) -> PowerDraw {
        PowerDraw::new(&self.resolved)
    }

    /// The shape of the flash array, without an SLC array.
    #[must_use]
    pub const fn geometry(&self) -> &Geometry {
        &self.resolved.geometry
    }

    /// Checks all invariants that hold between two events. Slow: only tests call this function.
    ///
    /// # Panics
    ///
    /// If an invariant is broken.
    pub fn check(&self) {
        self.ftl.check(self.backend.media(), self.slc_media());
    }

    /// Borrows the FTL's view of the flash.
    pub(crate) fn flash<'a>(
        now: Time,
        backend: &'a mut Backend,
        slc_array: &'a mut Option<Box<Backend>>,
        events: &'a mut EventQueue<Event>,
    ) -> Flash<'a> {
        Flash { now, backend, slc_array: slc_array.as_deref_mut(), events }
    }

    /// Runs the FTL's recovery up to the pages that it has to write.
    pub(crate) fn recover(&mut self) {
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        if let Some(ftl) = self.ftl.power_cycle() {
            ftl.recover(&mut flash, &mut self.host);
        }
    }

    /// True if the map is asked for a request soon after its submission. A buffered write asks the map only when it
    /// leaves the buffer.
    #[inline]
    fn is_looked_up(&self, kind: IoKind) -> bool {
        kind == IoKind::Read || self.host.buffer.is_none()
    }

    /// Handles an event. Returns false if nothing else can follow now: most phases of the flash lead to another phase,
    /// and only the last one finishes a list. Steps of the FTL on which nothing else depends may advance the time up to
    /// `until`.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    fn handle(&mut self, event: Event, until: Time) -> bool {
        match event {
            Event::Flash(flash::backend::Event::Copies { set, generation }) => {
                let (events, hash) = (&mut self.events, &mut self.hash);
                self.now = self.backend.run_copies(self.now, (set, generation), until, events, hash);
                return self.backend.has_ready();
            }
            Event::Flash(event) => {
                self.backend.handle(self.now, event, &mut self.events, &mut self.hash);
                return self.backend.has_ready();
            }
            Event::Host(HostEvent::DataIn(number)) => {
                self.hash.add(self.now, u64::from(number.get()) << 2 | 2);
                self.execute(Handle::from_number(number));
                return !self.is_quiet();
            }
            Event::Host(HostEvent::DataOut(number)) => {
                self.hash.add(self.now, u64::from(number.get()) << 2 | 3);
                let unblocks = self.complete(Handle::from_number(number));
                return unblocks || self.host.queues.waiting() > 0 || self.host.active.is_empty();
            }
            Event::Host(HostEvent::Ram(number)) => {
                self.hash.add(self.now, RAM | u64::from(number.get()) << 2);
                self.ram_done(Handle::from_number(number));
                return !self.is_quiet();
            }
            Event::Host(HostEvent::Ready) => {
                self.scanned = true;
                self.recover();
            }
            Event::Host(HostEvent::Admission) => self.hash.add(self.now, ADMISSION),
            Event::SerialEnd => self.backend.end_serial(self.now, &mut self.hash),
            Event::SlcSerialEnd => {
                let slc_array = self.slc_array.as_mut().expect("the device has an SLC array");
                let first = (self.backend.geometry().die_count(), self.resolved.spec.flash.channels);
                if let Some(observer) = self.backend.observer_mut() {
                    slc_array.notify_serial(observer, first);
                }
                slc_array.end_serial(self.now, &mut self.hash);
            }
            Event::Ftl => {
                self.hash.add(self.now, u64::MAX);
                let background = self.ftl.background().expect("it asked for the event");
                background.wake(self.now);
                // Without a request under way the FTL may begin work of its own, so idleness is checked.
                if !self.host.active.is_empty() {
                    let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                    let hash = &mut self.hash;
                    let alone = background.work_alone(&mut flash, until, &mut |at| hash.add(at, u64::MAX));
                    self.now = flash.now;
                    return !alone;
                }
            }
        }
        true
    }
}

/// Set in the hashed number of an event of the RAM.
const RAM: u64 = 1 << 41;

/// The hashed number of the event that ends a delay of admission.
const ADMISSION: u64 = 1 << 42;

/// The seed of the SLC array's faults.
pub(crate) const fn slc_seed(seed: u64) -> u64 {
    seed.rotate_left(17) ^ 0x534C_4320
}

impl<S: Sector> Drive<S> for Ssd<S> {
    fn capacity(&self) -> Sectors {
        Sectors::new(u64::from(self.ftl.units()) * u64::from(self.resolved.geometry.sectors))
    }

    fn discard_granularity(&self) -> Sectors {
        Sectors::new(u64::from(self.resolved.geometry.sectors))
    }

    fn queues(&self) -> usize {
        self.host.queues.count()
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // A host submits from few places.
    fn submit(&mut self, now: Time, request: Request<S>) {
        assert!(now >= self.now, "a request of {now} comes when it is already {}", self.now);
        assert!(self.powered, "a request to a device without power");
        let (queue, queues) = (request.queue, self.host.queues.count());
        assert!(queue.index() < queues, "a request to {queue}, of {queues} queues");
        if S::KIND.is_present() && request.io.kind.brings_data() {
            assert_eq!(request.data.len() as u64, request.io.sectors.get(), "a write brings one item for each sector");
        }
        self.now = now;
        self.events.pass(now);
        if self.next_change.is_some_and(|at| at <= now) {
            self.make_changes();
        }
        if self.announced > 0 {
            self.announced -= 1;
        } else if self.is_looked_up(request.io.kind) {
            let unit = self.resolved.geometry.unit_of(request.io.start.get());
            self.ftl.prefetch(unit as usize, self.backend.media());
        }
        if self.power.is_some() {
            self.wake_for_request();
        }
        // A request that need not wait does not enter its queue, unless an observer is to see it there.
        if self.backend.observer().is_none() && self.may_admit() && self.host.queues.pass() {
            self.accept(now, request);
            if !self.is_quiet() {
                self.run_ready();
            }
            return;
        }
        self.host.queues.push(now, request);
        self.notify_levels();
        // Nothing but this request has changed since the device last had nothing to do.
        if self.admit() {
            self.run_ready();
        }
    }

    fn announce(&mut self, coming: &[Io]) {
        self.announced = coming.len();
        for io in coming {
            let unit = self.resolved.geometry.unit_of(io.start.get());
            if self.is_looked_up(io.kind) {
                self.ftl.prefetch(unit as usize, self.backend.media());
            }
            if io.kind != IoKind::Read && self.host.requests.is_large() {
                self.host.overlaps.prefetch(unit as u32);
            }
            if let Some(buffer) = &self.host.buffer {
                buffer.units.prefetch_chain(Lpn::new(unit as u32));
            }
        }
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        if self.host.completions.is_empty() { self.events.next_time() } else { Some(self.now) }
    }

    #[inline]
    fn advance(&mut self, to: Time, completions: &mut Vec<Completion<S>>) -> Time {
        assert!(to >= self.now, "time does not go back from {} to {to}", self.now);
        loop {
            // Completions are reported before time advances.
            let until = if self.host.completions.is_empty() { to } else { self.now };
            let Some((at, event)) = self.events.pop_due(until) else { break };
            self.now = at;
            if self.handle(event, until) {
                self.run_ready();
            }
        }
        if self.host.completions.is_empty() {
            self.now = to;
        } else {
            match completions.is_empty() {
                // Swapped, not copied: the caller's vector is used next.
                true => std::mem::swap(completions, &mut self.host.completions),
                false => completions.append(&mut self.host.completions),
            }
        }
        self.now
    }

    #[inline]
    fn events(&self) -> u64 {
        self.hash.events() + self.backend.quiet_events()
    }

    fn counters(&self) -> Counters {
        let ftl = self.ftl.counters(self.now);
        let hash = self.hash.with(self.backend.quiet_ends(self.now));
        Counters {
            at: self.now,
            requests: self.host.counts.requests,
            sectors: self.host.counts.sectors,
            failed: self.host.counts.failed,
            host_slots: self.host.counts.host_slots,
            refused_slots: self.host.counts.refused_slots,
            read_slots: self.host.counts.read_slots,
            unreadable_copies: self.media().unreadable_copies(),
            absorbed_slots: self.host.counts.absorbed_slots,
            unmapped_slots: self.host.counts.unmapped_slots,
            unmapped_flash_reads: self.host.counts.unmapped_flash_reads,
            flash: self.backend.account(self.now),
            errors: self.media().error_counters().cloned().map(Box::new),
            channel_busy: self.backend.channel_busy(self.now).collect(),
            die_busy: self.backend.die_busy(self.now).collect(),
            plane_busy: self.backend.plane_busy(self.now).collect(),
            controller_busy: self.backend.controller_busy(self.now).collect(),
            decoder_busy: self.backend.decoder_busy(self.now).collect(),
            processor_busy: self.backend.processor_busy(self.now),
            link_busy: self.host.link.busy(self.now),
            ram_busy: self.host.ram.busy(self.now),
            map: ftl.map,
            merges: ftl.merges.map(|merges| MergeCounters { recovery: self.recovery_time(), ..merges }),
            log_merges: ftl.log_merges,
            slc_array: self.slc_array.as_ref().map(|slc_array| Box::new(SlcArrayCounters::of(slc_array, self.now))),
            slc_mlc: ftl.slc_mlc,
            streams: ftl.streams,
            fdp: ftl.fdp,
            slc_cache: ftl.slc_cache,
            refresh: ftl.refresh,
            parity: ftl.parity,
            zones: ftl.zones,
            power: self.power_counters(),
            raid: None,
            translation: None,
            free_blocks: self.ftl.free_blocks(),
            bad_blocks: self.backend.media().bad_blocks(),
            event_hash: hash.value(),
            events: hash.events(),
        }
    }
}
