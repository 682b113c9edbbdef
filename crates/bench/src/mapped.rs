//! Reads behind a map unit in a bare loop, with only the work that every simulation of them must do.
//!
//! The reads are those of [`crate::reads`], but the map is on flash behind two caches of the sizes of FMMU (Woo and
//! Min, Sec. 5.1): 64 KiB of blocks of 16 entries, and 256 translation pages of 1,024. Each level is a machine that
//! carries out one step at a time, responses first, and never waits for a miss: a look-up waits in the block that it
//! misses, a block in the page. A miss in both levels takes four steps (the look-up, its request to the second level,
//! the page that arrives, the block that arrives), each of which is an event, and a read of the page from flash. After
//! that follows a read of [`crate::reads`]. No entry ever changes, the queue between the levels has no end, and nothing
//! is checked.

use std::collections::VecDeque;

use crate::DEPTH;
use crate::agenda::{self, Agenda, AgendaEvent};
use crate::histogram::Bins;
use crate::random::Random;
use crate::reads::{CHANNELS, CHIPS, LINK, READ, TRANSFER};
use crate::server::{Server, Waits};

const ALL_CHIPS: u32 = CHANNELS * CHIPS;
/// The number of entries of the map, of a block of the first level, and of a translation page.
const UNITS: u32 = 1 << 22;
const BLOCK: u32 = 16;
const PAGE: u32 = 1 << 10;
/// The number of blocks of the first level and of pages of the second.
const BLOCKS: u32 = 1 << 10;
const PAGES: u32 = 1 << 8;
const WAYS: u32 = 4;
/// Times of the steps of a miss at 400 MHz, in picoseconds.
const CYCLE: u64 = 2_500;
const ASK: u64 = 15 * CYCLE;
const REQUEST: u64 = 28 * CYCLE;
const LOADED: u64 = 24 * CYCLE;
const FILL: u64 = 21 * CYCLE;
const NOBODY: u32 = u32::MAX;

/// The end of a step of a read or of a map level.
#[derive(Clone, Copy, Debug)]
pub enum MapStep {
    /// The first level has ended a step.
    First,
    /// The second level has ended a step.
    Second,
    /// A page has been read in the array.
    Read,
    /// A page has crossed its channel.
    Transferred,
    /// The data of a read have crossed the host link.
    Arrived,
}

impl agenda::Step for MapStep {
    const ALL: &'static [Self] = &[Self::First, Self::Second, Self::Read, Self::Transferred, Self::Arrived];

    #[inline]
    fn ring(self) -> usize {
        self as usize
    }
}

/// A read of the host, or of a translation page into a place of the second level.
#[derive(Clone, Copy, Debug, Default)]
struct ReadOperation {
    start: u64,
    unit: u32,
    chip: u32,
    next: Option<u32>,
}

impl Waits for ReadOperation {
    #[inline]
    fn next(&mut self) -> &mut Option<u32> {
        &mut self.next
    }
}

/// The state of a place of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotState {
    Idle,
    Referenced,
    Loading,
}

/// The result of a search in a cache.
enum CacheLookup {
    Here(u32),
    /// The data is being loaded, or must be if the search has just allocated the place (`is_new`).
    Coming {
        place: u32,
        is_new: bool,
    },
    /// All places of the set wait for data.
    Full,
}

/// A set-associative cache with second-chance replacement, and the requests that wait in it.
#[derive(Clone, Debug)]
struct Cache {
    keys: Vec<u32>,
    places: Vec<SlotState>,
    hands: Vec<u32>,
    /// The latest waiter for the data of each place; the others are linked behind it.
    waits: Vec<u32>,
    /// The waiters for a place of each set.
    crowds: Vec<VecDeque<u32>>,
}

impl Cache {
    fn new(places: u32) -> Self {
        let sets = (places / WAYS) as usize;
        Self {
            keys: vec![NOBODY; places as usize],
            places: vec![SlotState::Idle; places as usize],
            hands: vec![0; sets],
            waits: vec![NOBODY; places as usize],
            crowds: vec![VecDeque::new(); sets],
        }
    }

    #[inline]
    fn set(&self, key: u32) -> u32 {
        key % self.hands.len() as u32
    }

    #[inline]
    fn find(&mut self, key: u32) -> CacheLookup {
        let set = self.set(key);
        let first = set * WAYS;
        for place in first..first + WAYS {
            if self.keys[place as usize] == key {
                if self.places[place as usize] == SlotState::Loading {
                    return CacheLookup::Coming { place, is_new: false };
                }
                self.places[place as usize] = SlotState::Referenced;
                return CacheLookup::Here(place);
            }
        }
        // A second round finds the places whose reference bits the first one cleared.
        for _ in 0..2 * WAYS {
            let hand = &mut self.hands[set as usize];
            let place = first + *hand;
            *hand = (*hand + 1) % WAYS;
            match self.places[place as usize] {
                SlotState::Loading => {}
                SlotState::Referenced => self.places[place as usize] = SlotState::Idle,
                SlotState::Idle => {
                    self.keys[place as usize] = key;
                    self.places[place as usize] = SlotState::Loading;
                    return CacheLookup::Coming { place, is_new: true };
                }
            }
        }
        CacheLookup::Full
    }

    /// Marks the data of a place as loaded. Returns the latest waiter for it.
    #[inline]
    fn fill(&mut self, place: u32) -> u32 {
        self.places[place as usize] = SlotState::Referenced;
        std::mem::replace(&mut self.waits[place as usize], NOBODY)
    }
}

/// A level of the map unit, and the effect of its current step.
#[derive(Clone, Debug)]
struct MapLevel<E> {
    cache: Cache,
    asks: VecDeque<u32>,
    /// Places whose data has arrived, and whose waiters are not served yet.
    arrived: VecDeque<u32>,
    effect: Option<E>,
}

impl<E> MapLevel<E> {
    fn new(places: u32) -> Self {
        Self { cache: Cache::new(places), asks: VecDeque::new(), arrived: VecDeque::new(), effect: None }
    }

    /// Lets the first waiter for a place of this set try again.
    #[inline]
    fn retry(&mut self, set: u32) {
        if let Some(first) = self.cache.crowds[set as usize].pop_front() {
            self.asks.push_front(first);
        }
    }
}

/// The effect at the end of a step of the first level.
#[derive(Clone, Copy, Debug)]
enum First {
    Nothing,
    Answer(u32),
    Request(u32),
    /// Answer all waiters of a block, from the latest on.
    Serve {
        block: u32,
        waits: u32,
    },
}

/// The effect at the end of a step of the second level.
#[derive(Clone, Copy, Debug)]
enum Second {
    Nothing,
    Respond(u32),
    Load(u32),
    /// Respond to all blocks that waited for a page, from the latest on.
    Serve {
        waits: u32,
    },
}

/// A bare loop of mapped reads, which runs in slices.
#[derive(Debug)]
pub struct MappedReads<A> {
    map: Vec<u32>,
    /// The map entries in the blocks of the first level.
    entries: Vec<u32>,
    first: MapLevel<First>,
    second: MapLevel<Second>,
    /// For each block, the next block that waits for the same page.
    next: Vec<u32>,
    operations: Vec<ReadOperation>,
    chips: Vec<Server>,
    channels: Vec<Server>,
    link_free: u64,
    agenda: A,
    random: Random,
    bins: Bins,
    now: u64,
    /// The numbers of requests, loads of translation pages and events in the latest slice.
    slice: [u64; 3],
}

impl<A: Agenda<MapStep>> Default for MappedReads<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Agenda<MapStep>> MappedReads<A> {
    /// Creates the loop with its first requests submitted.
    #[must_use]
    pub fn new() -> Self {
        let mut random = Random::new(0x243F_6A88_85A3_08D3);
        let mut reads = Self {
            map: (0..UNITS).map(|_| (random.draw() >> 20) as u32 % UNITS).collect(),
            entries: vec![0; (BLOCKS * BLOCK) as usize],
            first: MapLevel::new(BLOCKS),
            second: MapLevel::new(PAGES),
            next: vec![NOBODY; BLOCKS as usize],
            operations: vec![ReadOperation::default(); (DEPTH + PAGES) as usize],
            chips: vec![Server::default(); ALL_CHIPS as usize],
            channels: vec![Server::default(); CHANNELS as usize],
            link_free: 0,
            agenda: A::default(),
            random,
            bins: Bins::default(),
            now: 0,
            slice: [0; 3],
        };
        (0..DEPTH).for_each(|request| reads.submit(request));
        reads
    }

    #[inline]
    fn submit(&mut self, request: u32) {
        let unit = (self.random.draw() >> 20) as u32 % UNITS;
        let operation = &mut self.operations[request as usize];
        (operation.start, operation.unit) = (self.now, unit);
        self.first.asks.push_back(request);
        self.begin_first();
    }

    /// Begins a step of the first level if it is idle.
    #[inline]
    fn begin_first(&mut self) {
        if self.first.effect.is_some() {
            return;
        }
        let (effect, cost) = if let Some(block) = self.first.arrived.pop_front() {
            let waits = self.first.cache.fill(block);
            let set = block / WAYS;
            self.first.retry(set);
            (First::Serve { block, waits }, FILL)
        } else if let Some(request) = self.first.asks.pop_front() {
            (self.ask(request), ASK)
        } else {
            return;
        };
        self.first.effect = Some(effect);
        self.agenda.push(self.now + cost, MapStep::First, 0);
    }

    /// Looks up the unit of a request in the first level.
    #[inline]
    fn ask(&mut self, request: u32) -> First {
        let key = self.operations[request as usize].unit / BLOCK;
        let set = self.first.cache.set(key);
        let effect = match self.first.cache.find(key) {
            CacheLookup::Here(block) => {
                self.answer(request, block);
                First::Answer(request)
            }
            CacheLookup::Coming { place, is_new } => {
                let latest = std::mem::replace(&mut self.first.cache.waits[place as usize], request);
                self.operations[request as usize].next = (latest != NOBODY).then_some(latest);
                if is_new {
                    return First::Request(place);
                }
                First::Nothing
            }
            CacheLookup::Full => {
                self.first.cache.crowds[set as usize].push_back(request);
                return First::Nothing;
            }
        };
        // The request has not taken a place, so the next waiter may try.
        self.first.retry(set);
        effect
    }

    /// Stores the chip of a request's data, which the map entry gives.
    #[inline]
    fn answer(&mut self, request: u32, block: u32) {
        let operation = &mut self.operations[request as usize];
        operation.chip = self.entries[(block * BLOCK + operation.unit % BLOCK) as usize] % ALL_CHIPS;
    }

    /// Begins a step of the second level if it is idle.
    #[inline]
    fn begin_second(&mut self) {
        if self.second.effect.is_some() {
            return;
        }
        let (effect, cost) = if let Some(page) = self.second.arrived.pop_front() {
            let waits = self.second.cache.fill(page);
            self.second.retry(page / WAYS);
            (Second::Serve { waits }, LOADED)
        } else if let Some(block) = self.second.asks.pop_front() {
            (self.request(block), REQUEST)
        } else {
            return;
        };
        self.second.effect = Some(effect);
        self.agenda.push(self.now + cost, MapStep::Second, 0);
    }

    /// Looks up the page of a block in the second level.
    #[inline]
    fn request(&mut self, block: u32) -> Second {
        let key = self.first.cache.keys[block as usize] / (PAGE / BLOCK);
        let set = self.second.cache.set(key);
        let effect = match self.second.cache.find(key) {
            CacheLookup::Here(_) => Second::Respond(block),
            CacheLookup::Coming { place, is_new } => {
                self.next[block as usize] = std::mem::replace(&mut self.second.cache.waits[place as usize], block);
                if is_new {
                    return Second::Load(place);
                }
                Second::Nothing
            }
            CacheLookup::Full => {
                self.second.cache.crowds[set as usize].push_back(block);
                return Second::Nothing;
            }
        };
        // The block has not taken a place, so the next waiter may try.
        self.second.retry(set);
        effect
    }

    /// Copies the entries of a block from the second level to the first.
    #[inline]
    fn respond(&mut self, block: u32) {
        let from = (self.first.cache.keys[block as usize] * BLOCK) as usize;
        let to = (block * BLOCK) as usize;
        let entries = &self.map[from..from + BLOCK as usize];
        self.entries[to..to + BLOCK as usize].copy_from_slice(entries);
        self.first.arrived.push_back(block);
    }

    /// Reads a translation page into a place of the second level.
    #[inline]
    fn load(&mut self, place: u32) {
        self.slice[1] += 1;
        let load = DEPTH + place;
        // Translation pages are scattered over the chips.
        let page = self.second.cache.keys[place as usize];
        self.operations[load as usize].chip = page.wrapping_mul(0x9E37_79B9) >> 25;
        self.read(load);
    }

    /// Starts an operation, or queues it if its chip is busy.
    #[inline]
    fn read(&mut self, operation: u32) {
        let chip = self.operations[operation as usize].chip;
        if self.chips[chip as usize].enter(&mut self.operations, operation) {
            self.agenda.push(self.now + READ, MapStep::Read, operation);
        }
    }

    /// Runs until `requests` more requests have completed.
    pub fn run(&mut self, requests: u64) {
        self.slice = [requests, 0, 0];
        let mut left = requests;
        while left > 0 {
            let Some(AgendaEvent { at, step, request }) = self.agenda.pop() else { break };
            self.now = at;
            self.slice[2] += 1;
            match step {
                MapStep::First => self.first_ended(),
                MapStep::Second => self.second_ended(),
                MapStep::Read => {
                    let channel = self.operations[request as usize].chip / CHIPS;
                    if self.channels[channel as usize].enter(&mut self.operations, request) {
                        self.agenda.push(at + TRANSFER, MapStep::Transferred, request);
                    }
                }
                MapStep::Transferred => self.transferred(request),
                MapStep::Arrived => {
                    self.bins.count(at - self.operations[request as usize].start);
                    self.submit(request);
                    left -= 1;
                }
            }
        }
    }

    #[inline]
    fn first_ended(&mut self) {
        match self.first.effect.take().expect("a step that ends has begun") {
            First::Nothing => {}
            First::Answer(request) => self.read(request),
            First::Request(block) => {
                self.second.asks.push_back(block);
                self.begin_second();
            }
            First::Serve { block, waits } => {
                let mut next = Some(waits);
                while let Some(request) = next {
                    next = self.operations[request as usize].next;
                    self.answer(request, block);
                    self.read(request);
                }
            }
        }
        self.begin_first();
    }

    #[inline]
    fn second_ended(&mut self) {
        match self.second.effect.take().expect("a step that ends has begun") {
            Second::Nothing => {}
            Second::Respond(block) => self.respond(block),
            Second::Load(place) => self.load(place),
            Second::Serve { mut waits } => {
                while waits != NOBODY {
                    self.respond(waits);
                    waits = self.next[waits as usize];
                }
            }
        }
        self.begin_second();
        self.begin_first();
    }

    /// Frees the channel and the chip for the next operations. The data goes to the host, a translation page to the
    /// second level.
    #[inline]
    fn transferred(&mut self, operation: u32) {
        let chip = self.operations[operation as usize].chip;
        if let Some(next) = self.channels[(chip / CHIPS) as usize].leave(&mut self.operations) {
            self.agenda.push(self.now + TRANSFER, MapStep::Transferred, next);
        }
        if let Some(next) = self.chips[chip as usize].leave(&mut self.operations) {
            self.agenda.push(self.now + READ, MapStep::Read, next);
        }
        if operation < DEPTH {
            self.link_free = self.link_free.max(self.now) + LINK;
            return self.agenda.push(self.link_free, MapStep::Arrived, operation);
        }
        self.second.arrived.push_back(operation - DEPTH);
        self.begin_second();
    }

    /// The number of simulated requests per simulated second so far.
    #[must_use]
    pub fn simulated_rate(&self) -> f64 {
        self.bins.total() as f64 / (self.now as f64 * 1e-12)
    }

    /// The numbers of loads of translation pages and of events per read in the latest slice.
    #[must_use]
    pub fn per_read(&self) -> [f64; 2] {
        let [requests, loads, events] = self.slice;
        [loads, events].map(|count| count as f64 / requests as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::{Heap, Rings};

    #[test]
    fn both_agendas_simulate_the_same_drive() {
        let (mut heap, mut rings) = (MappedReads::<Heap<MapStep>>::new(), MappedReads::<Rings<5>>::new());
        heap.run(200_000);
        rings.run(200_000);
        for (heap, rings) in heap.per_read().into_iter().zip(rings.per_read()) {
            assert!((heap / rings - 1.0).abs() < 1e-2, "{heap} and {rings} for each read");
        }
        let (heap, rings) = (heap.simulated_rate(), rings.simulated_rate());
        assert!((heap / rings - 1.0).abs() < 1e-2, "{heap} and {rings} requests per simulated second");
    }

    #[test]
    fn the_second_level_holds_a_sixteenth_of_the_map() {
        let mut reads = MappedReads::<Rings<5>>::new();
        reads.run(400_000);
        // The level holds 256 of 4,096 pages, and a load under way also serves later look-ups.
        let [loads, events] = reads.per_read();
        assert!((0.88..0.94).contains(&loads), "{loads} loads for each read");
        // A load has two events and a read three; a miss has four steps, one less if the page is there, and one more if
        // the set of the page is full: that happens for every second read, because two hundred of the 256 pages are
        // being loaded.
        let counted = 2.0 * loads + 3.0 + 3.0 + loads;
        assert!((0.4..0.7).contains(&(events - counted)), "{events} events for each read, and {counted} without waits");
        // A miss takes two transfers of 6.717 us, on 16 channels.
        let most = f64::from(CHANNELS) / (TRANSFER as f64 * 1e-12 * (1.0 + loads));
        let rate = reads.simulated_rate();
        assert!(rate > 0.9 * most && rate < most, "{rate} requests per second of {most}");
    }

    #[test]
    fn every_read_gets_the_entry_of_its_unit() {
        let mut reads = MappedReads::<Rings<5>>::new();
        reads.run(50_000);
        for (block, key) in reads.first.cache.keys.iter().enumerate() {
            if reads.first.cache.places[block] != SlotState::Loading && *key != NOBODY {
                let (to, from) = (block * BLOCK as usize, (*key * BLOCK) as usize);
                assert_eq!(reads.entries[to..to + 16], reads.map[from..from + 16], "block {block}");
            }
        }
        let under_way = reads.operations[..DEPTH as usize].iter().filter(|read| read.start > 0).count();
        assert_eq!(under_way, DEPTH as usize, "a read was lost");
    }
}
