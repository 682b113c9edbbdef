//! Error correction: data that has been read passes a decoder, codeword by codeword, before its command is done.
//!
//! A decoder is a pipeline: it takes one codeword after another at its rate, and each comes out a fixed time after the
//! decoder has taken all of it. Codewords come while the data crosses the channel, and wait for their decoder in the
//! order of their arrival. So codewords of several channels mix at a decoder that these channels share. Copy-backs stay
//! inside the die and pass no decoder.

use std::collections::VecDeque;

use super::command_table::CommandTable;
use super::meter::Meter;
use super::planted::{Bug, PlantedBug};
use super::{Account, Backend, Cause, Command, Config, Decoders, Ecc, Event, Phase, Primitive, Resource, Timing};
use crate::nand::Geometry;
use base::engine::{EventHash, EventQueue, Handle};
use base::units::{Span, Time};

/// A bit that tells the numbers of decoder events from others in the event hash.
const DECODER: u64 = 1 << 40;

impl Ecc {
    /// The number of codewords with `sectors` sectors. A part of a codeword is decoded like a whole one.
    pub(super) const fn codewords(&self, sectors: u32) -> u32 {
        sectors.div_ceil(self.codeword)
    }

    /// The number of codewords of a read, and the time between two of them on the channel.
    fn codewords_of(&self, command: &Command, timing: &Timing, geometry: &Geometry) -> (u32, Span) {
        let (sectors, data) = match command.sectors {
            0 => (command.count * geometry.sectors, timing.transfer[command.count as usize]),
            part => (part, timing.sectors[part as usize]),
        };
        let codewords = self.codewords(sectors);
        (codewords, gap(data, codewords))
    }

    /// Time that a decoder works on `codewords` codewords.
    pub(super) fn time_of(&self, codewords: u32) -> Span {
        self.codeword_time * u64::from(codewords)
    }

    /// Time between the end of a transfer of `data` with `codewords` codewords and the end of their decoding, if the
    /// decoder has no other work. The decoder finishes the last codeword after that codeword has come and all others
    /// are done.
    pub(super) fn behind(&self, data: Span, codewords: u32) -> Span {
        let first = gap(data, codewords) * u64::from(codewords - 1);
        self.time_of(codewords).saturating_sub(first).max(self.codeword_time) + self.latency
    }
}

/// The time between two codewords of a transfer.
fn gap(data: Span, codewords: u32) -> Span {
    Span::from_ps(data.as_ps() / u64::from(codewords))
}

#[derive(Clone, Debug, Default)]
struct Decoder {
    /// The command whose codeword the decoder takes now.
    current: Option<Handle<Command>>,
    last: Option<Cause>,
    meter: Meter,
}

/// The decoders of a backend, and the commands that wait for them.
#[derive(Clone, Debug)]
pub(super) struct DecoderPool {
    pub(super) ecc: Ecc,
    decoders: Vec<Decoder>,
    /// For each decoder, the commands with a waiting codeword, once for each codeword; one queue for all shared
    /// decoders.
    queues: Vec<VecDeque<Handle<Command>>>,
    /// Commands whose last codeword is in a pipeline. All pipelines are equally long, so the first command in is the
    /// first out.
    piped: VecDeque<Handle<Command>>,
    /// The number of power cuts so far, by which the event of a lost codeword is recognised.
    cuts: u16,
}

fn count(config: &Config, ecc: &Ecc, geometry: &Geometry, links: u32) -> u32 {
    match ecc.decoders {
        Decoders::PerChannel => links,
        Decoders::PerController => config.controllers.count(geometry),
        Decoders::Shared(count) => count,
    }
}

impl DecoderPool {
    /// Decoders behind `links` channels.
    pub(super) fn new(config: &Config, geometry: &Geometry, links: u32) -> Option<Box<Self>> {
        let ecc = config.ecc?;
        let decoders = vec![Decoder::default(); count(config, &ecc, geometry, links) as usize];
        let queues = if matches!(ecc.decoders, Decoders::Shared(_)) { 1 } else { decoders.len() };
        Some(Box::new(Self { ecc, decoders, queues: vec![VecDeque::new(); queues], piped: VecDeque::new(), cuts: 0 }))
    }

    /// Bytes that the decoders take.
    pub(super) fn memory(config: &Config, geometry: &Geometry, links: u32) -> u64 {
        let decoders = config.ecc.map_or(0, |ecc| u64::from(count(config, &ecc, geometry, links)));
        decoders * (size_of::<Decoder>() + size_of::<VecDeque<Handle<Command>>>()) as u64
    }

    pub(super) fn cut(&mut self, now: Time, planted: PlantedBug) {
        for decoder in &mut self.decoders {
            decoder.meter.end(now);
            (decoder.current, decoder.last) = (None, None);
        }
        self.queues.iter_mut().for_each(VecDeque::clear);
        if planted.is(Bug::CodewordsOutlivePower) {
            return;
        }
        self.piped.clear();
        self.cuts = self.cuts.wrapping_add(1);
    }

    pub(super) fn reset(&mut self) {
        self.decoders.iter_mut().for_each(|decoder| decoder.meter.reset());
    }

    /// The commands that decoders work on, each with the time so far.
    pub(super) fn under_way(&self, now: Time) -> impl Iterator<Item = (Handle<Command>, Span)> + '_ {
        self.decoders.iter().filter_map(move |decoder| Some((decoder.current?, decoder.meter.worked(now))))
    }

    fn awaits(&self, decoder: u32, generation: u16) -> bool {
        self.decoders[decoder as usize].meter.awaits(generation)
    }

    const fn is_since(&self, cuts: u16) -> bool {
        self.cuts == cuts
    }

    /// Charges the decoding time of a serial list whose data crosses a channel. Only one serial list runs at a time, so
    /// the first of shared decoders takes all the time.
    pub(super) fn charge(&mut self, channel: u32, time: Span) {
        let decoder = if self.ecc.decoders == Decoders::PerChannel { channel } else { 0 };
        self.decoders[decoder as usize].meter.add(time);
    }

    /// Time that each decoder worked until `now`.
    pub(super) fn busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        self.decoders.iter().map(move |decoder| decoder.meter.busy(now))
    }

    /// Schedules the codewords of data that begins to cross a channel: the last codeword comes at the end of the
    /// transfer, the others before.
    #[cold]
    #[inline(never)]
    pub(super) fn expect_codewords<E: From<Event> + Copy>(
        &self,
        (channel, (from, until), generation): (u32, (Time, Time), u16),
        (command, timing, geometry): (&mut Command, &Timing, &Geometry),
        events: &mut EventQueue<E>,
    ) {
        let (codewords, gap) = self.ecc.codewords_of(command, timing, geometry);
        (command.undecoded, command.coming) = (codewords, codewords - 1);
        if codewords > 1 {
            let first = (until - from) - gap * u64::from(codewords - 1);
            events.push(from + first, Event::Codeword { channel, generation }.into());
        }
    }

    /// Gives a codeword to its decoder, or queues it. Returns the number of the phase that begins.
    pub(super) fn take<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        (channel, handle): (u32, Handle<Command>),
        table: &mut CommandTable,
        events: &mut EventQueue<E>,
    ) -> Option<Phase> {
        let (free, queue) = match self.ecc.decoders {
            Decoders::Shared(_) => (self.decoders.iter().position(|decoder| decoder.current.is_none()), 0),
            Decoders::PerChannel | Decoders::PerController => {
                let own = match self.ecc.decoders {
                    Decoders::PerController => table.lists[table.commands[handle].list].controller(),
                    _ => Some(channel),
                };
                let own = own.expect("a command under way has a controller") as usize;
                (Some(own).filter(|own| self.decoders[*own].current.is_none()), own)
            }
        };
        let Some(decoder) = free else {
            self.queues[queue].push_back(handle);
            return None;
        };
        Some(self.begin(now, (decoder as u32, handle), table, events))
    }

    fn begin<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        (number, handle): (u32, Handle<Command>),
        table: &mut CommandTable,
        events: &mut EventQueue<E>,
    ) -> Phase {
        let decoder = &mut self.decoders[number as usize];
        let command = &mut table.commands[handle];
        let soft = if table.attempts.of(handle).is_soft() { self.ecc.soft } else { Span::ZERO };
        let until = now + self.ecc.codeword_time + soft;
        let last = command.undecoded == 1;
        if last && now > command.ready {
            command.wait += now - command.ready;
            if let Some(cause) = decoder.last {
                table.lists[command.list].waited_for.insert(cause);
            }
        }
        (decoder.current, decoder.last) = (Some(handle), Some(command.cause));
        let generation = decoder.meter.begin(now, until);
        events.push(until, Event::Decoder { decoder: number, generation }.into());
        let ready = if last { command.ready } else { now };
        Phase::of((handle, command), (Resource::Decoder(number), Primitive::Decode), [ready, now, until])
    }

    /// Ends the phase of a decoder, which has taken a codeword, and begins the next. Returns the number of the phase
    /// that begins.
    fn end<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        (table, account): (&mut CommandTable, &mut Account),
        events: &mut EventQueue<E>,
    ) -> Option<Phase> {
        let decoder = &mut self.decoders[number as usize];
        let handle = decoder.current.take().expect("a decoder that works has a command");
        let command = &mut table.commands[handle];
        account.at(command.op, command.cause).decode += decoder.meter.end(now);
        command.undecoded -= 1;
        if command.undecoded == 0 {
            self.piped.push_back(handle);
            events.push(now + self.ecc.latency, Event::Decoded { cuts: self.cuts }.into());
        }
        let queue = if self.queues.len() == 1 { 0 } else { number as usize };
        let next = self.queues[queue].pop_front()?;
        Some(self.begin(now, (number, next), table, events))
    }
}

impl Backend {
    /// Handles an event of the error correction. Drops the event of an interrupted phase.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_decoding<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        event: Event,
        events: &mut EventQueue<E>,
        hash: &mut EventHash,
    ) {
        let Self { decoders: Some(decoders), channels, table, account, rules, media, .. } = self else { return };
        let begun = match event {
            Event::Codeword { channel, generation } if channels[channel as usize].meter.awaits(generation) => {
                hash.add(now, DECODER | u64::from(channel) << 2 | 1);
                let handle = channels[channel as usize].current.expect("a channel that works has a command");
                let command = &mut table.commands[handle];
                let (_, gap) = decoders.ecc.codewords_of(command, &rules.timing, media.geometry());
                command.coming -= 1;
                if command.coming > 0 {
                    events.push(now + gap, Event::Codeword { channel, generation }.into());
                }
                decoders.take(now, (channel, handle), table, events)
            }
            Event::Decoder { decoder, generation } if decoders.awaits(decoder, generation) => {
                hash.add(now, DECODER | u64::from(decoder) << 2);
                decoders.end(now, decoder, (table, account), events)
            }
            Event::Decoded { cuts } if decoders.is_since(cuts) => {
                hash.add(now, DECODER | 2);
                let handle = decoders.piped.pop_front().expect("a command in a pipeline");
                let unit = table.commands[handle].unit;
                if self.rules.errors.is_some() && self.retry(now, handle, events) {
                    return;
                }
                self.finish(now, handle, events);
                return self.next_command(now, unit, events);
            }
            _ => None,
        };
        if let (Some(phase), Some(observer)) = (begun, &mut self.observer) {
            observer.phase(phase);
        }
    }
}
