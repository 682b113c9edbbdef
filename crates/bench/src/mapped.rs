//! The firmware of a drive whose map is on flash, behind two caches of the sizes of FMMU (Woo and Min, Sec. 5.1): 64 KiB of
//! blocks of 16 entries, and 256 translation pages of 1,024.
//!
//! The load is that of [`crate::reads`]. Each level of the map unit is a machine that carries out one step at a time,
//! responses first, and never waits for a miss: a look-up waits in the block that it misses, a block in the page. A miss in
//! both levels takes four steps (the look-up, its request to the second level, the page that arrives, the block that
//! arrives), each of which is an event, and a read of the page from flash. After that follows the read of the data. No entry
//! ever changes, the queue between the levels has no end, and nothing is checked.

use std::collections::VecDeque;

use crate::DEPTH;
use crate::agenda::{Agenda, Step};
use crate::random::Random;
use crate::reads::{UNITS, draw_unit};
use crate::simulator::{ALL_CHIPS, Firmware, Hardware, Operation};

/// The number of entries of a block of the first level, and of a translation page.
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

/// The firmware of mapped reads. After the operations of the requests there is one for each place of the second level,
/// which reads the translation page.
#[derive(Debug)]
pub struct MappedReads {
    map: Vec<u32>,
    /// The map entries in the blocks of the first level.
    entries: Vec<u32>,
    first: MapLevel<First>,
    second: MapLevel<Second>,
    /// For each block, the next block that waits for the same page.
    next: Vec<u32>,
}

impl MappedReads {
    /// Begins a step of the first level if it is idle.
    #[inline]
    fn begin_first<A: Agenda>(&mut self, hardware: &mut Hardware<A, u32>) {
        if self.first.effect.is_some() {
            return;
        }
        let (effect, cost) = if let Some(block) = self.first.arrived.pop_front() {
            let waits = self.first.cache.fill(block);
            let set = block / WAYS;
            self.first.retry(set);
            (First::Serve { block, waits }, FILL)
        } else if let Some(request) = self.first.asks.pop_front() {
            (self.ask(hardware, request), ASK)
        } else {
            return;
        };
        self.first.effect = Some(effect);
        hardware.schedule(cost, Step::FirstLevel, 0);
    }

    /// Looks up the unit of a request in the first level.
    #[inline]
    fn ask<A: Agenda>(&mut self, hardware: &mut Hardware<A, u32>, request: u32) -> First {
        let Operation { data: unit, .. } = *hardware.operation(request);
        let key = unit / BLOCK;
        let set = self.first.cache.set(key);
        let effect = match self.first.cache.find(key) {
            CacheLookup::Here(block) => {
                self.answer(hardware, request, block);
                First::Answer(request)
            }
            CacheLookup::Coming { place, is_new } => {
                let latest = std::mem::replace(&mut self.first.cache.waits[place as usize], request);
                hardware.operation(request).next = (latest != NOBODY).then_some(latest);
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
    fn answer<A: Agenda>(&self, hardware: &mut Hardware<A, u32>, request: u32, block: u32) {
        let Operation { data: unit, chip, .. } = hardware.operation(request);
        *chip = self.entries[(block * BLOCK + *unit % BLOCK) as usize] % ALL_CHIPS;
    }

    /// Begins a step of the second level if it is idle.
    #[inline]
    fn begin_second<A: Agenda>(&mut self, hardware: &mut Hardware<A, u32>) {
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
        hardware.schedule(cost, Step::SecondLevel, 0);
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
    fn load<A: Agenda>(&self, hardware: &mut Hardware<A, u32>, place: u32) {
        hardware.count(1);
        let load = DEPTH + place;
        // Translation pages are scattered over the chips.
        let page = self.second.cache.keys[place as usize];
        hardware.operation(load).chip = page.wrapping_mul(0x9E37_79B9) >> 25;
        hardware.start(load);
    }
}

impl Firmware for MappedReads {
    /// The mapping unit of the read.
    type Data = u32;

    const OPERATIONS: u32 = DEPTH + PAGES;

    fn new(random: &mut Random) -> Self {
        Self {
            map: (0..UNITS).map(|_| draw_unit(random)).collect(),
            entries: vec![0; (BLOCKS * BLOCK) as usize],
            first: MapLevel::new(BLOCKS),
            second: MapLevel::new(PAGES),
            next: vec![NOBODY; BLOCKS as usize],
        }
    }

    #[inline]
    fn submit<A: Agenda>(&mut self, hardware: &mut Hardware<A, u32>, request: u32) {
        let unit = draw_unit(&mut hardware.random);
        hardware.operation(request).data = unit;
        self.first.asks.push_back(request);
        self.begin_first(hardware);
    }

    #[inline]
    fn first_level_ended<A: Agenda>(&mut self, hardware: &mut Hardware<A, u32>) {
        match self.first.effect.take().expect("a step that ends has begun") {
            First::Nothing => {}
            First::Answer(request) => hardware.start(request),
            First::Request(block) => {
                self.second.asks.push_back(block);
                self.begin_second(hardware);
            }
            First::Serve { block, waits } => {
                let mut next = Some(waits);
                while let Some(request) = next {
                    next = hardware.operation(request).next;
                    self.answer(hardware, request, block);
                    hardware.start(request);
                }
            }
        }
        self.begin_first(hardware);
    }

    #[inline]
    fn second_level_ended<A: Agenda>(&mut self, hardware: &mut Hardware<A, u32>) {
        match self.second.effect.take().expect("a step that ends has begun") {
            Second::Nothing => {}
            Second::Respond(block) => self.respond(block),
            Second::Load(place) => self.load(hardware, place),
            Second::Serve { mut waits } => {
                while waits != NOBODY {
                    self.respond(waits);
                    waits = self.next[waits as usize];
                }
            }
        }
        self.begin_second(hardware);
        self.begin_first(hardware);
    }

    /// Sends data to the host, and a translation page to the second level.
    #[inline]
    fn read<A: Agenda>(&mut self, hardware: &mut Hardware<A, u32>, operation: u32) {
        if operation < DEPTH {
            return hardware.cross_link(operation);
        }
        self.second.arrived.push_back(operation - DEPTH);
        self.begin_second(hardware);
    }

    #[inline]
    fn linked<A: Agenda>(&mut self, hardware: &mut Hardware<A, u32>, request: u32) {
        hardware.complete(request);
        self.submit(hardware, request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::{Heap, Rings};
    use crate::simulator::{CHANNELS, Simulator, TRANSFER};

    #[test]
    fn both_agendas_simulate_the_same_drive() {
        let (mut heap, mut rings) = (Simulator::<Heap, MappedReads>::new(), Simulator::<Rings<5>, MappedReads>::new());
        heap.run(200_000);
        rings.run(200_000);
        for (heap, rings) in heap.per_request().into_iter().zip(rings.per_request()) {
            assert!((heap / rings - 1.0).abs() < 1e-2, "{heap} and {rings} for each read");
        }
        let (heap, rings) = (heap.simulated_rate(), rings.simulated_rate());
        assert!((heap / rings - 1.0).abs() < 1e-2, "{heap} and {rings} requests per simulated second");
    }

    #[test]
    fn the_second_level_holds_a_sixteenth_of_the_map() {
        let mut reads = Simulator::<Rings<5>, MappedReads>::new();
        reads.run(400_000);
        // The level holds 256 of 4,096 pages, and a load under way also serves later look-ups.
        let [loads, events] = reads.per_request();
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
        let mut reads = Simulator::<Rings<5>, MappedReads>::new();
        reads.run(50_000);
        let Simulator { hardware, firmware: reads } = reads;
        for (block, key) in reads.first.cache.keys.iter().enumerate() {
            if reads.first.cache.places[block] != SlotState::Loading && *key != NOBODY {
                let (to, from) = (block * BLOCK as usize, (*key * BLOCK) as usize);
                assert_eq!(reads.entries[to..to + 16], reads.map[from..from + 16], "block {block}");
            }
        }
        let under_way = hardware.starts.iter().filter(|start| **start > 0).count();
        assert_eq!(under_way, DEPTH as usize, "a read was lost");
    }
}
