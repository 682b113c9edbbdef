//! Bookkeeping: counters of two components for one quantity (mapping units, bytes, commands or time, by cause) must
//! agree.

use base::io::Io;
use base::io::IoKind;
use base::units::Span;
use flash::backend::{Cause, Op, StopPoint, Tally};
use ftl::MappingSpec;
use ssd::{Counters, Drive, FlushPolicy, SlcMlcCounters};

use super::{Trial, Work, script};
use crate::Host;

pub(super) fn books(trial: &Trial<'_>) -> Work {
    let mut host = trial.host();
    script::play(&mut host, &script::without_discards(trial.seed, trial.capacity(), trial.effort.requests));
    host.run_until_idle();
    // The flush writes the rest of the buffer, so that every mapping unit is on flash.
    host.submit(Io::FLUSH);
    host.run_until_idle();
    let counters = host.ssd().counters();
    requests(&host, &counters);
    units(trial, &counters);
    commands(trial, &host, &counters);
    bytes(trial, &counters);
    times(trial, &counters);
    let work = Work::of(&host);
    wear(&mut host, &counters);
    work
}

/// Checks that an FTL still knows the wear of its superblocks after a power cut in which nothing was under way.
fn wear(host: &mut Host, before: &Counters) {
    host.cut();
    let spread = |counters: &Counters| counters.merges.as_ref().map(|merges| merges.erase_spread);
    assert_eq!(spread(&host.ssd().counters()), spread(before), "erases from the least to the most after a power cut");
}

/// The causes for which mapping units are moved without a request of the host.
const MOVES: [Cause; 6] = [Cause::Gc, Cause::Wear, Cause::Merge, Cause::Recovery, Cause::Fold, Cause::Refresh];

fn requests(host: &Host, counters: &Counters) {
    let answered: [u64; IoKind::COUNT] = std::array::from_fn(|kind| counters.requests[kind] + counters.failed[kind]);
    assert_eq!(host.requests(), answered, "requests as seen by the host and by the device");
    assert_eq!(host.sectors(), counters.sectors, "sectors that succeeded, as seen by the host and by the device");
}

/// Checks that every mapping unit of the host was either absorbed or programmed once for the host, and that every moved
/// one was read once and programmed once for the same cause.
fn units(trial: &Trial<'_>, counters: &Counters) {
    let flash = &counters.flash;
    // Hydra's FTL writes a partial row as a copy-back that merges the host's sectors.
    let host = flash.of(Op::Program, Cause::Host).slots + flash.of(Op::CopyBack, Cause::Host).slots;
    let taken = counters.host_slots - counters.refused_slots - counters.absorbed_slots;
    if let Some(slc_mlc) = &counters.slc_mlc {
        return units_of_two(trial, counters, slc_mlc);
    }
    match trial.resolved.buffer.filter(|buffer| buffer.flush != FlushPolicy::WriteBack) {
        // The final flush did nothing or wrote a log, so dirty mapping units may remain in the buffer.
        Some(buffer) => {
            let room = u64::from(buffer.units * trial.resolved.geometry.sectors);
            assert!(
                (taken.saturating_sub(room)..=taken).contains(&host),
                "{host} of {taken} mapping units were programmed"
            );
        }
        None => assert_eq!(host, taken, "mapping units programmed for the host and taken from it"),
    }
    for cause in MOVES {
        let patrol_reads =
            counters.refresh.filter(|_| cause == Cause::Refresh).map_or(0, |refresh| refresh.patrol_reads);
        let (read, programmed) = (flash.of(Op::Read, cause).slots - patrol_reads, flash.of(Op::Program, cause).slots);
        assert_eq!(read, programmed, "mapping units read and programmed for {}", cause.name());
    }
    // Programs cover mapping units and padding, nothing else.
    let (slots, whole) = (u64::from(trial.resolved.geometry.slots), whole_rows(trial));
    let pad = flash.of(Op::Program, Cause::Pad);
    let all = flash.op(Op::Program);
    let units = all.slots - pad.slots;
    assert_eq!(pad.commands + pad.pages, 0, "padding is no command of its own");
    // A program in SLC mode covers one row.
    let rows = counters.slc_cache.map_or(0, |cache| cache.programs) * u64::from(trial.resolved.geometry.row_slots());
    let in_slc_mode = counters.slc_cache.map_or(0, |cache| cache.programs);
    let room = if whole == 0 { all.pages * slots } else { (all.commands - in_slc_mode) * whole + rows };
    assert_eq!(room, units + pad.slots, "slots of all pages programmed, and mapping units and padding in them");
    let copied = flash.op(Op::CopyBack);
    assert_eq!(copied.pages * slots, copied.slots, "copy-back moves whole pages");
}

/// Checks the mapping units of an SSD with SLC and MLC flash. Host sectors go to one of the arrays. An MLC page is
/// written once, for the host or for sectors that the SLC array evicts, and a fold reads what it programs.
fn units_of_two(trial: &Trial<'_>, counters: &Counters, slc_mlc: &SlcMlcCounters) {
    let flash = &counters.flash;
    let written: u64 = [Cause::Host, Cause::Merge].into_iter().map(|cause| flash.of(Op::Program, cause).slots).sum();
    assert_eq!(written, slc_mlc.mlc_pages, "pages written to the MLC flash");
    for cause in [Cause::Gc, Cause::Wear] {
        let (read, programmed) = (flash.of(Op::Read, cause).slots, flash.of(Op::Program, cause).slots);
        assert_eq!(read, programmed, "pages read and programmed for {}", cause.name());
    }
    assert_eq!(flash.of(Op::Read, Cause::Map).pages, slc_mlc.scanned, "pages looked at");
    let folded = flash.of(Op::Erase, Cause::Gc).commands;
    assert_eq!(folded, slc_mlc.fold_erases, "blocks erased by folds");
    let taken = counters.host_slots - counters.refused_slots - counters.absorbed_slots;
    let Some(second) = &counters.slc_array else {
        assert_eq!(
            flash.of(Op::Program, Cause::Host).slots,
            taken,
            "mapping units programmed for the host and taken from it"
        );
        return;
    };
    let small = &second.flash;
    assert_eq!(small.of(Op::Program, Cause::Host).slots, slc_mlc.slc_sectors, "sectors written to the SLC flash");
    let read: u64 = [Cause::Gc, Cause::Wear].into_iter().map(|cause| small.of(Op::Read, cause).slots).sum();
    let programmed = small.of(Op::Program, Cause::Gc).slots;
    assert_eq!(programmed + slc_mlc.assisted, read, "sectors read by cleaning and folding, and where they went");
    assert_eq!(small.of(Op::Program, Cause::Gc).pages, slc_mlc.copied_back, "pages copied to the head");
    assert_eq!(small.op(Op::Erase).commands, slc_mlc.cleaned, "tail blocks cleaned");
    let slots = u64::from(trial.resolved.slc_array.as_ref().expect("two arrays").geometry.slots);
    let all = small.op(Op::Program);
    let pad = small.of(Op::Program, Cause::Pad).slots;
    assert_eq!(all.pages * slots, all.slots, "slots of all pages programmed, padding of {pad} among them");
}

/// The number of slots of a program that always covers whole rows; zero if programs may cover a part of a row.
fn whole_rows(trial: &Trial<'_>) -> u64 {
    let flash::backend::Timing { one_shot, paired, .. } = trial.resolved.backend.timing;
    let whole = trial.resolved.gang > 1 || one_shot > 1 || paired > 1;
    u64::from(trial.resolved.geometry.row_slots() * one_shot) * u64::from(whole)
}

fn commands(trial: &Trial<'_>, host: &Host, counters: &Counters) {
    if let Some(second) = &counters.slc_array {
        let worn: u64 = host.ssd().slc_erase_counts().into_iter().map(u64::from).sum();
        assert_eq!(second.flash.op(Op::Erase).pages, worn, "blocks of the second array erased, and their erase counts");
        assert_eq!(second.bad_blocks, 0, "nothing failed");
    }
    let erases = counters.flash.op(Op::Erase);
    let worn: u64 = host.ssd().erase_counts().into_iter().map(u64::from).sum();
    assert_eq!(erases.pages, worn, "blocks erased, and the erase counts of all blocks");
    assert_eq!(erases.pages, erases.commands * u64::from(trial.resolved.geometry.stripe), "blocks of an erase");
    assert_eq!(counters.flash.of(Op::Erase, Cause::Host).commands, 0, "the host erases nothing");
    assert_eq!(counters.bad_blocks, 0, "nothing failed");
}

/// Checks the bytes on the channels: reads and programs move whole mapping units with their share of the spare area.
/// Two exceptions: a host read of a unit on several planes, and Hydra's FTL, which moves only the requested sectors,
/// the same number on every bus.
fn bytes(trial: &Trial<'_>, counters: &Counters) {
    let unit = trial.resolved.backend.timing.slot_bytes;
    if trial.resolved.family.downcast_ref::<ftl::HydraConfig>().is_some() {
        let least = trial.resolved.backend.timing.bytes_of(trial.resolved.gang);
        for (op, cause, tally) in counters.flash.rows().filter(|(_, cause, _)| *cause != Cause::Pad) {
            let (bytes, name) = (tally.bytes.get(), format!("bytes that {} for {} sent", op.name(), cause.name()));
            let none = op == Op::Erase || (op == Op::CopyBack && cause != Cause::Host);
            let (from, to) = if none { (0, 0) } else { (least.get() * tally.slots, unit.get() * tally.slots) };
            assert!((from..=to).contains(&bytes), "{name}: {bytes}, of {} slots", tally.slots);
            assert_eq!(bytes % least.get(), 0, "{name} are whole sectors on every bus");
        }
        return;
    }
    for (op, cause, tally) in counters.flash.rows().filter(|(_, cause, _)| *cause != Cause::Pad) {
        let slots = if matches!(op, Op::Read | Op::Program) { tally.slots } else { 0 };
        let name = format!("bytes that {} for {} sent", op.name(), cause.name());
        if trial.resolved.geometry.planes_per_unit > 1 && (op, cause) == (Op::Read, Cause::Host) {
            // A host read of a unit on several planes moves only the requested codewords, in each attempt.
            let least = trial.resolved.backend.timing.bytes_of(trial.resolved.geometry.sectors.min(8));
            let times = least * slots..=unit * (slots + tally.retries * u64::from(trial.resolved.geometry.row_slots()));
            assert!(times.contains(&tally.bytes), "{name}: {}, of {slots} slots", tally.bytes);
            continue;
        }
        if tally.retries > 0 {
            // Each retry sends at least one mapping unit of its command again.
            assert!(tally.bytes >= unit * (slots + tally.retries), "{name}: {}, of {slots} slots", tally.bytes);
            assert_eq!(tally.bytes.get() % unit.get(), 0, "{name} are whole mapping units");
            continue;
        }
        assert_eq!(tally.bytes, unit * slots, "{name}");
    }
}

/// The longest time of work that one suspension of an operation throws away, if the operation takes so long.
fn lost_step(trial: &Trial<'_>, op: Op, most: Span) -> Span {
    let rules = trial.resolved.backend.suspend.filter(|rules| rules.stop == StopPoint::Cancel);
    rules.map_or(Span::ZERO, |rules| match op {
        Op::Erase => most / u64::from(rules.erase_steps) + Span::from_ns(1),
        _ => most / u64::from(rules.program_steps) + Span::from_ns(1),
    })
}

/// The factors on the time of an operation in the fastest and in the slowest block; both 1 if blocks do not differ.
fn factors(trial: &Trial<'_>, op: Op) -> [f64; 2] {
    let Some(spec) = trial.resolved.backend.variation else { return [1.0; 2] };
    let (spread, worn) = match op {
        Op::Read => (spec.read.get(), 1.0),
        Op::Erase => (spec.erase.get(), 1.0 + spec.erase_wear.get()),
        Op::Program | Op::CopyBack => (spec.program.get(), 1.0 - spec.program_wear.get()),
    };
    [(1.0 - spread) * worn.min(1.0), (1.0 + spread) * worn.max(1.0)]
}

fn times(trial: &Trial<'_>, counters: &Counters) {
    let all = Op::ALL.into_iter().fold(Tally::default(), |mut sum, op| {
        sum += counters.flash.op(op);
        sum
    });
    let sum = |busy: &[Span]| busy.iter().copied().sum::<Span>();
    let of_die = trial.resolved.geometry.planes as usize;
    let planes = sum(&counters.plane_busy);
    let in_dies = counters.plane_busy.chunks(of_die).map(|planes| sum(planes) / of_die as u64).sum::<Span>();
    let arrays = sum(&counters.die_busy) - in_dies + planes;
    assert_eq!(arrays, all.array, "time of all dies and planes, and array time of all commands");
    assert_eq!(sum(&counters.channel_busy), all.bus, "time of all channels, and bus time of all commands");
    assert_eq!(sum(&counters.decoder_busy), all.decode, "time of all decoders, and decoding time of all commands");
    if let Some(power) = &counters.power {
        let states: Span = power.states.iter().map(|state| state.residency).sum();
        let all = power.active + power.idle + power.transition + states;
        assert_eq!(all, counters.at - base::units::Time::ZERO, "time of the drive in all conditions and power states");
        let longest =
            trial.resolved.spec.power.iter().flat_map(|power| &power.states).map(|state| state.entry + state.exit);
        let most = longest.max().unwrap_or_default() * power.wakes;
        let cap = trial.resolved.backend.supply.and_then(|supply| supply.cap());
        let peak = cap.and_then(|cap| cap.peak);
        if let Some((cap, peak)) = power.cap.zip(peak) {
            assert!(cap.highest <= peak, "arrays that draw {} above a cap of {peak}", cap.highest);
        }
        assert!(power.wake_time <= most, "exits that take longer than one entry and exit each");
    }
    if let Some(second) = &counters.slc_array {
        let both = |of: fn(&Tally) -> Span| Op::ALL.into_iter().map(|op| of(&second.flash.op(op))).sum::<Span>();
        assert_eq!(sum(&second.die_busy), both(|tally| tally.array), "time of the second array, and of its commands");
        assert_eq!(sum(&second.channel_busy), both(|tally| tally.bus), "time of its bus, and of its commands there");
        // Without a page map, only one array works at a time, and only one of its dies.
        let chang = trial.resolved.ftl.chang.clone().unwrap_or_default();
        let large = match chang.mapping {
            MappingSpec::Chains => sum(&counters.die_busy) + sum(&counters.channel_busy),
            MappingSpec::Pages => counters.die_busy.iter().copied().max().unwrap_or_default(),
        };
        let all = sum(&second.die_busy) + sum(&second.channel_busy) + large;
        assert!(all <= counters.at - base::units::Time::ZERO, "two things worked at once");
    }
    let timing = &trial.resolved.backend.timing;
    for (op, cause, tally) in counters.flash.rows().filter(|(_, cause, _)| *cause != Cause::Pad) {
        let of = |times: &[Span]| (times.iter().copied().min(), times.iter().copied().max());
        let (least, most) = match op {
            Op::Read => of(&timing.read),
            Op::Program => of(&timing.program),
            Op::Erase => (Some(timing.erase), Some(timing.erase)),
            // A copy-back is counted as a read and a program.
            Op::CopyBack => continue,
        };
        let copies = [timing.cache_read, timing.cache_program].into_iter().flatten().max().unwrap_or(Span::ZERO);
        // A page in SLC mode takes less time.
        let slc_mode = timing.slc_mode.and_then(|times| match op {
            Op::Read => Some(times.read),
            Op::Program => Some(times.program),
            Op::Erase | Op::CopyBack => None,
        });
        let busy = timing.cycles.busy;
        let (least, most) = (slc_mode.or(least).expect("a time"), most.expect("a time"));
        let [fastest, slowest] = factors(trial, op);
        let scaled = |time: Span, factor: f64| Span::from_ps((time.as_ps() as f64 * factor).round() as u64);
        let (least, most) = (scaled(least, fastest) + busy, scaled(most, slowest) + copies + busy);
        // Stopping and resuming counts as time of the array; the time while suspended does not. A cancelled step is
        // done twice.
        let worked = tally.array - tally.suspend_overhead;
        let repeated = lost_step(trial, op, most) * tally.suspensions;
        // The steps of a retry table take at most 3 us in these settings.
        let (attempts, longer) =
            (tally.commands + tally.retries, Span::from_us(3) * u64::from(trial.resolved.backend.errors.is_some()));
        let within = least * attempts <= worked && worked <= (most + longer) * attempts + repeated;
        assert!(within, "{} commands {} for {} worked {worked}", tally.commands, op.name(), cause.name());
    }
    if let (Some(times), Some(slc_mlc)) = (timing.slc_mode, &counters.slc_mlc) {
        let programs = counters.flash.op(Op::Program);
        let others = timing.program[0] * (programs.pages - slc_mlc.slc_mode_pages);
        assert!(slc_mlc.slc_mode_pages > 0, "density control had nothing to do");
        assert_eq!(programs.array, others + times.program * slc_mlc.slc_mode_pages, "programs in either mode");
    }
    let elapsed = counters.at - base::units::Time::ZERO;
    let dies = u64::from(trial.resolved.geometry.die_count());
    assert!(all.suspended <= elapsed * dies, "operations stood still longer than there was time");
    assert!(all.suspensions > 0 || (all.suspended + all.suspend_overhead + all.suspend_gain).is_zero(), "{all:?}");
    let map = counters.map.iter().flat_map(|map| &map.busy);
    let busy = counters.die_busy.iter().chain(&counters.channel_busy).chain(&counters.controller_busy).chain(map);
    let busy = busy.chain(&counters.plane_busy).chain(&counters.decoder_busy).chain([&counters.processor_busy]);
    assert!(busy.copied().all(|busy| busy <= elapsed), "something worked longer than there was time");
}
