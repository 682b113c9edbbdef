//! A map unit of one's own, in the manner of LeaFTL (Sun et al., "LeaFTL: A Learning-Based Flash Translation Layer for
//! Solid-State Drives", ASPLOS 2023): RAM holds line segments that predict places, in place of entries. A wrong prediction costs
//! a read of the translation page. See "Your own FTL" in the guide.

use std::collections::{BTreeSet, VecDeque};

use flashloom::ftl::RegisterError;
use flashloom::ftl::map_unit::{
    Answer, Ask, Asker, Counters, Job, MapSetup, MapUnit, Output, SPAN, Ticket, decode, encode, register_map_unit,
};
use flashloom::nand::{Geometry, Image};
use flashloom::units::{Lpn, Psn, Time};

/// Bytes of a segment: its begin, length, slope and first place, as in the paper.
const SEGMENT: u64 = 8;
/// Bytes of an entry that is not on flash yet.
const ENTRY: u64 = 8;

/// Mapping units from `first` on, `length` of them, whose places lie on a line.
#[derive(Clone, Debug)]
struct Segment {
    first: u32,
    length: u32,
    slope: f64,
    place: f64,
}

#[derive(Clone, Debug, Default)]
struct TranslationPage {
    /// The true entries. The simulator keeps them to check predictions; a drive would read them from the spare area of the page.
    /// None until the page has been loaded once.
    truth: Option<Vec<u32>>,
    /// The segments that RAM holds of the page; none if there was no room.
    segments: Option<Vec<Segment>>,
    /// Entries that are newer than those on flash, and entries whose page is being written.
    dirty: BTreeSet<u32>,
    storing: Option<(Image, BTreeSet<u32>)>,
    loading: bool,
    /// True if the page was read from flash, so that its first question can be answered.
    loaded: bool,
    waiting: VecDeque<(Ticket, Ask)>,
    last_used: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct LearnedMap {
    pages: Vec<TranslationPage>,
    entries: u32,
    ram: u64,
    /// The largest error of a prediction that counts as right: the drive finds the mapping unit among the neighbours of the page.
    error: f64,
    geometry: Geometry,
    clock: u64,
    /// The numbers of entries not on flash, and of segments in RAM.
    dirty: u64,
    segments: u64,
    /// Pages whose questions can go on.
    ready: VecDeque<u32>,
    flushing: bool,
    counters: Counters,
}

impl LearnedMap {
    fn new(setup: &MapSetup<'_>) -> Self {
        Self {
            pages: vec![TranslationPage::default(); setup.units.div_ceil(setup.entries) as usize],
            entries: setup.entries,
            ram: setup.ram.get(),
            error: setup.option("error", 0.0),
            geometry: setup.geometry.clone(),
            clock: 0,
            dirty: 0,
            segments: 0,
            ready: VecDeque::new(),
            flushing: false,
            counters: Counters::default(),
        }
    }

    /// The place as a number that increases by one from die to die, as consecutive writes do.
    fn line(&self, psn: Psn) -> f64 {
        let (superblock, offset) = self.geometry.locate(psn);
        let dies = self.geometry.die_count();
        let (die, blocks) = (self.geometry.die_of(superblock).get(), self.geometry.superblock_count() / dies);
        let block = superblock.get() % blocks;
        f64::from((block * self.geometry.superblock_slots() + offset) * dies + die)
    }

    /// Fits segments to the places of a page: a segment goes on as long as all its places lie within the error of a line.
    fn learn(&self, truth: &[u32]) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut end = 0;
        for (x, place) in (0..).zip(truth).filter_map(|(x, word)| Some((x, self.line(decode(*word)?)))) {
            if let Some(last) = segments.last_mut() {
                let (run, rise) = (f64::from(x - last.first), place - last.place);
                let (least, most) = ((rise - self.error) / run, (rise + self.error) / run);
                if x == end && low.max(least) <= high.min(most) {
                    (low, high) = (low.max(least), high.min(most));
                    (last.slope, last.length, end) = ((low + high) / 2.0, last.length + 1, end + 1);
                    continue;
                }
            }
            segments.push(Segment { first: x, length: 1, slope: 0.0, place });
            (low, high, end) = (f64::NEG_INFINITY, f64::INFINITY, x + 1);
        }
        segments
    }

    /// True if RAM predicts an entry of a page rightly.
    fn is_predicted(&self, page: &TranslationPage, x: u32) -> bool {
        let (Some(truth), Some(segments)) = (&page.truth, &page.segments) else { return false };
        if page.dirty.contains(&x) || page.storing.as_ref().is_some_and(|(_, entries)| entries.contains(&x)) {
            return true;
        }
        let at = segments.partition_point(|segment| segment.first <= x);
        let segment = at.checked_sub(1).map(|at| &segments[at]).filter(|of| x < of.first + of.length);
        let predicted = segment.map(|of| of.place + of.slope * f64::from(x - of.first));
        match (predicted, decode(truth[x as usize])) {
            (Some(predicted), Some(psn)) => (predicted - self.line(psn)).abs() <= self.error + 1e-6,
            (predicted, psn) => predicted.is_none() && psn.is_none(),
        }
    }

    fn page_of(&self, ask: &Ask) -> (u32, u32, u32) {
        let (lpn, count) = match ask {
            Ask::Lookup { first, count } => (first.get(), *count),
            Ask::Update { lpn, .. } | Ask::CondUpdate { lpn, .. } => (lpn.get(), 1),
        };
        (lpn / self.entries, lpn % self.entries, count)
    }

    /// Answers a question from the true entries, and changes them.
    fn answer(&mut self, tvpn: u32, ask: &Ask, (x, count): (u32, u32)) -> Answer {
        let page = &mut self.pages[tvpn as usize];
        let truth = page.truth.as_mut().expect("a page whose entries are known");
        let entry = &mut truth[x as usize];
        let old = decode(*entry);
        let to = match *ask {
            Ask::Lookup { .. } => {
                let mut places = [None; SPAN as usize];
                (0..count as usize).for_each(|i| places[i] = decode(truth[x as usize + i]));
                return Answer::Places(places);
            }
            Ask::Update { to, .. } => to,
            Ask::CondUpdate { from, to, .. } if old == Some(from) => Some(to),
            Ask::CondUpdate { .. } => return Answer::Condition(false),
        };
        *entry = encode(to);
        self.dirty += u64::from(page.dirty.insert(x));
        if matches!(ask, Ask::Update { .. }) { Answer::Updated(old) } else { Answer::Condition(true) }
    }

    /// Answers the questions of a page, in order, until one needs its translation page.
    fn go_on(&mut self, tvpn: u32, out: &mut Output) {
        while let Some((ticket, ask)) = self.pages[tvpn as usize].waiting.front().copied() {
            let (_, x, count) = self.page_of(&ask);
            let page = &self.pages[tvpn as usize];
            if !page.loaded && !(x..x + count).all(|x| self.is_predicted(page, x)) {
                self.counters.cmt_misses += 1;
                self.counters.loads += 1;
                self.pages[tvpn as usize].loading = true;
                return out.jobs.push(Job::Load(tvpn));
            }
            self.counters.cmt_hits += u64::from(!page.loaded);
            self.close(tvpn, (ticket, ask), out);
        }
    }

    /// Gives the answer to the first question of a page.
    fn close(&mut self, tvpn: u32, (ticket, ask): (Ticket, Ask), out: &mut Output) {
        let (_, x, count) = self.page_of(&ask);
        let answer = self.answer(tvpn, &ask, (x, count));
        self.clock += 1;
        let page = &mut self.pages[tvpn as usize];
        (page.loaded, page.last_used) = (false, self.clock);
        page.waiting.pop_front();
        self.counters.questions += 1;
        out.answers.push((ticket, answer));
    }

    /// Learns the segments of a page anew.
    fn learn_page(&mut self, tvpn: u32) {
        let segments = self.pages[tvpn as usize].truth.as_ref().map(|truth| self.learn(truth));
        self.segments += segments.as_ref().map_or(0, Vec::len) as u64;
        let before = std::mem::replace(&mut self.pages[tvpn as usize].segments, segments);
        self.segments -= before.map_or(0, |before| before.len() as u64);
    }

    /// Writes back the pages with the most changes, and drops the least recently used segments, until the rest fits into RAM.
    fn fit(&mut self, out: &mut Output) {
        loop {
            let waits: usize = self.pages.iter().map(|page| page.dirty.len()).sum();
            let free = (0..).zip(&self.pages).filter(|(_, page)| page.storing.is_none() && !page.dirty.is_empty());
            let most = free.max_by_key(|(_, page)| page.dirty.len()).map(|(tvpn, _)| tvpn);
            let due = self.flushing || waits as u64 * ENTRY > self.ram / 2;
            let Some(tvpn) = most.filter(|_| due) else { break };
            self.learn_page(tvpn);
            let page = &mut self.pages[tvpn as usize];
            let truth = page.truth.clone().expect("a page that has been changed");
            page.storing = Some((Image::new(truth), std::mem::take(&mut page.dirty)));
            self.counters.stores += 1;
            out.jobs.push(Job::Store(tvpn));
        }
        self.flushing &= self.dirty > 0;
        while self.segments * SEGMENT + self.dirty * ENTRY > self.ram {
            let known = self.pages.iter_mut().filter(|page| page.segments.is_some());
            let Some(oldest) = known.min_by_key(|page| page.last_used) else { break };
            self.segments -= oldest.segments.take().map_or(0, |forgotten| forgotten.len() as u64);
        }
    }
}

impl MapUnit for LearnedMap {
    fn ask(&mut self, _: Time, _: Asker, ticket: Ticket, ask: Ask) {
        let (tvpn, ..) = self.page_of(&ask);
        let page = &mut self.pages[tvpn as usize];
        page.waiting.push_back((ticket, ask));
        if !page.loading {
            self.ready.push_back(tvpn);
        }
    }

    fn loaded(&mut self, _: Time, tvpn: u32, image: Option<&Image>) {
        let nowhere = vec![encode(None); self.entries as usize];
        let page = &mut self.pages[tvpn as usize];
        (page.loading, page.loaded) = (false, true);
        page.truth.get_or_insert_with(|| image.map_or(nowhere, |image| image.to_vec()));
        if page.segments.is_none() {
            self.learn_page(tvpn);
        }
        self.ready.push_back(tvpn);
    }

    fn stored(&mut self, _: Time, tvpn: u32) {
        let (_, entries) = self.pages[tvpn as usize].storing.take().expect("a page on its way");
        self.dirty -= entries.len() as u64;
    }

    fn advance(&mut self, _: Time, out: &mut Output) {
        while let Some(tvpn) = self.ready.pop_front() {
            if !self.pages[tvpn as usize].loading {
                self.go_on(tvpn, out);
            }
        }
        self.fit(out);
    }

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn image(&self, tvpn: u32) -> &Image {
        &self.pages[tvpn as usize].storing.as_ref().expect("a page on its way").0
    }

    fn flush(&mut self, _: Time) {
        self.flushing = true;
    }

    fn counters(&self, _: Time) -> Counters {
        self.counters.clone()
    }

    fn is_clean(&self) -> bool {
        let is_idle = |page: &TranslationPage| !page.loading && page.waiting.is_empty();
        self.dirty == 0 && self.pages.iter().all(is_idle)
    }

    fn peek<'a>(&'a self, lpn: Lpn, images: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        let (tvpn, x) = (lpn.get() / self.entries, (lpn.get() % self.entries) as usize);
        let known = self.pages[tvpn as usize].truth.as_deref().or_else(|| images(tvpn));
        known.and_then(|entries| decode(entries[x]))
    }
}

/// Makes the map unit known to this program. Change the version with it: it is in the key of each stored result.
pub fn register() -> Result<(), RegisterError> {
    register_map_unit("learned", "1", LearnedMap::new)
}

/// All commands of `flashloom`.
pub fn main() -> std::process::ExitCode {
    register().expect("a new name");
    flashloom::command(std::env::args_os()).into()
}
