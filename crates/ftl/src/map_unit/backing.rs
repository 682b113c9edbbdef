//! The parameters of a core of a software map unit, and the storage behind its CMT.

use std::ops::Range;

use base::units::Span;
use flash::nand::Image;

use super::Counters;
use super::costs::Costs;
use super::evict::EvictSpec;
use super::layout::MapLayout;

/// The storage behind the CMT of a core: flash, or the second level.
pub(super) trait Backing {
    /// True if the backing keeps loaded pages. Otherwise only the access that loads a page has the page.
    const KEEPS_PAGES: bool;

    /// Keeps a loaded page, so that the access that asked for the page finds it. `None` stands for a page that was
    /// never written.
    fn keep_page(&mut self, _tvpn: u32, _image: Option<&Image>) {}

    /// Fills a block with the entries at `at` of a page. Changes nothing if the step is not done.
    fn load_block(&mut self, access: Access<'_>, at: usize, block: &mut [u32]) -> StepResult;

    /// Merges blocks into their page. Changes nothing if the step is not done.
    fn merge<'a>(&mut self, access: Access<'_>, blocks: impl Iterator<Item = (usize, &'a [u32])>) -> StepResult;

    /// Stores a dirty page, if some dirty page can be stored now.
    fn evict(&mut self, costs: &Costs) -> Option<StepResult>;

    /// A page has been programmed. Returns the sets of the second level that may have room now.
    fn stored(&mut self, tvpn: u32) -> Range<u32>;

    /// Takes the set of the second level in which the last step has made room: a page of the set has received its data,
    /// or is clean now.
    fn take_freed(&mut self) -> Option<u32> {
        None
    }

    /// The number of sets of the second level; 0 if there is no second level.
    fn sets(&self) -> u32 {
        0
    }

    /// True if some page of this set of the second level may leave for another page.
    fn has_room(&self, _set: u32) -> bool {
        false
    }

    /// True if flash has all content of the backing.
    fn is_clean(&self) -> bool;

    /// The content of a page, if the backing holds the page or a newer version than flash.
    fn page(&self, tvpn: u32) -> Option<&Image>;

    /// The content of a page that is being stored.
    fn image(&self, tvpn: u32) -> &Image;

    /// Takes back the memory of a page version that is no longer used.
    fn recycle(&mut self, image: Image);
}

pub(super) struct Access<'a> {
    pub(super) tvpn: u32,
    /// The page that has just been loaded for this access. Backings that keep pages ignore it.
    pub(super) loaded: Option<&'a Image>,
    pub(super) costs: &'a Costs,
    pub(super) counters: &'a mut Counters,
}

/// The result of a step: its outcome, its cost, and the page that it wants stored.
pub(super) struct StepResult {
    pub(super) cost: Span,
    /// A page that the caller is to store.
    pub(super) store: Option<u32>,
    pub(super) outcome: StepOutcome,
}

impl StepResult {
    pub(super) fn new(cost: Span, outcome: StepOutcome) -> Self {
        Self { cost, store: None, outcome }
    }

    /// A step that must wait for `cause`, and has changed nothing.
    pub(super) fn wait(cause: Cause) -> Self {
        Self::new(Span::ZERO, StepOutcome::Wait(cause))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Done,
    /// The page must be loaded first.
    Load,
    /// Work in progress must end first.
    Wait(Cause),
}

/// The reason why a step must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A page is being loaded.
    Load(u32),
    /// A page is being written back, loaded by another task or stored.
    Page(u32),
    /// All blocks of a set of the CMT wait for their data, or the wanted block does.
    Block(u32),
    /// No page of a set of the second level can leave: each page waits for its data, or must be stored first and cannot
    /// be stored now.
    Place(u32),
    /// All write buffers are in use: another store must end first.
    Buffer,
}

/// The parameters that the cores of DFTL and CDFTL have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) layout: MapLayout,
    pub(super) costs: Costs,
    pub(super) cores: u32,
    /// The most questions that a core works on at once.
    pub(super) outstanding: u32,
    /// True if one load of a page serves all questions that need the page meanwhile.
    pub(super) shared_loads: bool,
    /// Blocks of the CMT of each core, and their associativity.
    pub(super) blocks: u32,
    pub(super) ways: u32,
    /// Which block of a set leaves, in each level.
    pub(super) evict: EvictSpec,
}
