//! What a core of a map unit in software is built from: its plan, and what lies behind its CMT.

use base::units::Span;

use super::Counters;
use super::costs::Costs;
use super::layout::Layout;

/// What lies behind the CMT of a core: flash, or the second level.
pub(super) trait Backing {
    /// Fills a block that begins at `at` in a page.
    fn fetch(&mut self, access: Access<'_>, at: usize, block: &mut [u32]) -> Step;

    /// Takes blocks over into their page. They are changed in nothing if the step is not done.
    fn merge<'a>(&mut self, access: Access<'_>, blocks: impl Iterator<Item = (usize, &'a [u32])>) -> Step;

    /// Stores some dirty page, if there is one that can be stored.
    fn evict(&mut self) -> Option<Step>;

    /// A page has been programmed.
    fn stored(&mut self, tvpn: u32);

    /// True if flash has all that is here.
    fn is_clean(&self) -> bool;

    /// The content of a page, if flash has an older one or none is needed from there.
    fn page(&self, tvpn: u32) -> Option<&[u32]>;

    /// The content of a page that is being stored.
    fn image(&self, tvpn: u32) -> &[u32];
}

/// Which page is wanted.
pub(super) struct Access<'a> {
    pub(super) tvpn: u32,
    /// Its content, if it has just been loaded for this.
    pub(super) loaded: Option<&'a [u32]>,
    pub(super) costs: &'a Costs,
    pub(super) counters: &'a mut Counters,
}

/// What came of a step.
pub(super) struct Step {
    pub(super) cost: Span,
    /// A page that is to be stored.
    pub(super) store: Option<u32>,
    pub(super) outcome: Outcome,
}

impl Step {
    pub(super) fn new(cost: Span, outcome: Outcome) -> Self {
        Self { cost, store: None, outcome }
    }

    /// It cannot be taken now, and nothing was done.
    pub(super) fn wait() -> Self {
        Self::new(Span::ZERO, Outcome::Wait)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is done.
    Done,
    /// The page must be loaded first.
    Load,
    /// Something that is under way must end first.
    Wait,
}

/// What the cores of a scheme have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) layout: Layout,
    pub(super) costs: Costs,
    pub(super) cores: u32,
    /// Questions that a core works on at once.
    pub(super) outstanding: u32,
    /// Blocks of the CMT of each core, and their associativity.
    pub(super) blocks: u32,
    pub(super) ways: u32,
}
