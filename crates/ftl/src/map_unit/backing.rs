//! The parts of a core of a software map unit: its plan, and the storage behind its CMT.

use std::ops::Range;

use base::units::Span;
use flash::nand::Image;

use super::Counters;
use super::costs::Costs;
use super::evict::EvictSpec;
use super::layout::Layout;

/// The storage behind the CMT of a core: flash, or the second level.
pub(super) trait Backing {
    /// True if it keeps loaded pages. Otherwise the access that loads a page has it.
    const KEEPS_PAGES: bool;

    /// A page has been loaded: puts it into its place, where the access that asked for it will find it. `None` stands
    /// for a page that was never written.
    fn keep_page(&mut self, _tvpn: u32, _image: Option<&Image>) {}

    /// Fills a block from the entries at `at` of a page.
    fn fetch(&mut self, access: Access<'_>, at: usize, block: &mut [u32]) -> Step;

    /// Merges blocks into their page. Changes nothing if the step is not done.
    fn merge<'a>(&mut self, access: Access<'_>, blocks: impl Iterator<Item = (usize, &'a [u32])>) -> Step;

    /// Stores a dirty page, if there is one that can be stored.
    fn evict(&mut self, costs: &Costs) -> Option<Step>;

    /// A page has been programmed. Returns the sets of the second level that may have room now.
    fn stored(&mut self, tvpn: u32) -> Range<u32>;

    /// The set of the second level in which the last step has made room: a page there has got its data, or is clean now.
    fn take_freed(&mut self) -> Option<u32> {
        None
    }

    /// The sets of the second level.
    fn sets(&self) -> u32 {
        0
    }

    /// True if a page in this set of the second level can give its place to another.
    fn has_room(&self, _set: u32) -> bool {
        false
    }

    /// True if flash has all its content.
    fn is_clean(&self) -> bool;

    /// The content of a page, if it is newer than in flash or already here.
    fn page(&self, tvpn: u32) -> Option<&Image>;

    /// The content of a page that is being stored.
    fn image(&self, tvpn: u32) -> &Image;

    /// Takes the memory of a page that has been replaced everywhere.
    fn recycle(&mut self, image: Image);
}

/// An access to a page.
pub(super) struct Access<'a> {
    pub(super) tvpn: u32,
    /// The page that has just been loaded for this access. Its content is of no use if the backing keeps pages.
    pub(super) loaded: Option<&'a Image>,
    pub(super) costs: &'a Costs,
    pub(super) counters: &'a mut Counters,
}

/// The result of a step.
pub(super) struct Step {
    pub(super) cost: Span,
    /// A page to be stored.
    pub(super) store: Option<u32>,
    pub(super) outcome: Outcome,
}

impl Step {
    pub(super) fn new(cost: Span, outcome: Outcome) -> Self {
        Self { cost, store: None, outcome }
    }

    /// A step that has to wait; nothing was done.
    pub(super) fn wait(cause: Cause) -> Self {
        Self::new(Span::ZERO, Outcome::Wait(cause))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The step is done.
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
    /// All blocks of a set of the CMT wait for their data, or the one that is wanted does.
    Block(u32),
    /// No page of a set of the second level can leave: each waits for its data, or is to be stored and cannot be now.
    Place(u32),
    /// No page can be stored before another has been.
    Buffer,
}

/// The common parameters of a scheme's cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) layout: Layout,
    pub(super) costs: Costs,
    pub(super) cores: u32,
    /// The most questions that a core works on at once.
    pub(super) outstanding: u32,
    /// True if one load of a page serves all questions that need it meanwhile.
    pub(super) shared_loads: bool,
    /// Blocks of the CMT of each core, and their associativity.
    pub(super) blocks: u32,
    pub(super) ways: u32,
    /// Which block of a set leaves, in each level.
    pub(super) evict: EvictSpec,
}
