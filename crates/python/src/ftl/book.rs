//! The state of each block and page by the commands of an FTL in Python; the rules are checked against it before a
//! command is given.

use flash::nand::Spare;
use flashloom::ftl::simple::SimpleDrive;
use flashloom::units::{Psn, SuperblockId};

use super::rule::Rule;

/// Mapping unit of a page without data.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
struct BlockState {
    /// The first page behind all programmed pages, including programs that have not ended.
    next: u32,
    /// The number of programs that have not ended.
    programs: u32,
    erases: u32,
    is_broken: bool,
    is_failing: bool,
    is_erasing: bool,
}

/// The state of the flash by the commands that the FTL has given.
#[derive(Clone, Debug)]
pub(super) struct Book {
    pages: u32,
    blocks: Vec<BlockState>,
    /// The mapping unit that each page holds; [`NONE`] for a page without data.
    units: Vec<u32>,
    /// The number of programs and erases that have not ended.
    under_way: u32,
}

impl Book {
    pub(super) fn of(drive: &SimpleDrive<'_>) -> Self {
        let (pages, count) = (drive.geometry.superblock_slots(), drive.geometry.superblock_count());
        let mut blocks = vec![BlockState { is_broken: true, ..BlockState::default() }; count as usize];
        for id in drive.blocks() {
            let (next, is_failing) = (drive.next_page(id).unwrap_or(pages), drive.is_failing(id));
            blocks[id.index()] = BlockState { next, is_failing, erases: drive.erases(id), ..BlockState::default() };
        }
        let mut units = vec![NONE; drive.geometry.slot_count() as usize];
        for psn in drive.blocks().flat_map(|block| drive.geometry.slots_of(block)).map(Psn::new) {
            if let Spare::Data { lpn, .. } = drive.spare(psn) {
                units[psn.index()] = lpn.get();
            }
        }
        Self { pages, blocks, units, under_way: 0 }
    }

    pub(super) fn block_of(&self, page: u32) -> Result<u32, Rule> {
        match (page as usize) < self.units.len() {
            true => Ok(page / self.pages),
            false => Err(Rule::NoPage { page, count: self.units.len() as u32 }),
        }
    }

    fn block(&self, block: u32) -> Result<&BlockState, Rule> {
        self.blocks.get(block as usize).ok_or(Rule::NoBlock { block, count: self.blocks.len() as u32 })
    }

    /// Lists the blocks that are not broken.
    pub(super) fn blocks(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().zip(0..).filter(|(block, _)| !block.is_broken).map(|(_, number)| number)
    }

    pub(super) fn is_erased(&self, block: u32) -> Result<bool, Rule> {
        self.block(block).map(|block| block.next == 0 && !block.is_erasing)
    }

    /// Returns the first page that can be programmed, counted in its block; `None` if the block takes no more.
    pub(super) fn next_page(&self, block: u32) -> Result<Option<u32>, Rule> {
        let block = self.block(block)?;
        let takes = !block.is_broken && !block.is_failing && !block.is_erasing;
        Ok(Some(block.next).filter(|next| takes && *next < self.pages))
    }

    pub(super) fn erases(&self, block: u32) -> Result<u32, Rule> {
        self.block(block).map(|block| block.erases)
    }

    pub(super) fn programs(&self, block: u32) -> Result<u32, Rule> {
        self.block(block).map(|block| block.programs)
    }

    pub(super) const fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Returns the mapping unit that a page holds; `None` if the page holds no data.
    pub(super) fn unit(&self, page: u32) -> Result<Option<u32>, Rule> {
        self.block_of(page)?;
        Ok(Some(self.units[page as usize]).filter(|unit| *unit != NONE))
    }

    /// Lists the pages of a block that hold data, each with its mapping unit.
    pub(super) fn held(&self, block: u32) -> Result<Vec<(u32, u32)>, Rule> {
        self.block(block)?;
        let pages = block * self.pages..(block + 1) * self.pages;
        let held = pages.map(|page| (page, self.units[page as usize])).filter(|(_, unit)| *unit != NONE);
        Ok(held.collect())
    }

    /// Checks that the page holds the mapping unit.
    pub(super) fn check_place(&self, unit: u32, page: u32) -> Result<(), Rule> {
        let holds = self.unit(page)?;
        if holds == Some(unit) { Ok(()) } else { Err(Rule::Place { unit, page, holds }) }
    }

    /// Notes the start of a program, or returns the rule that it breaks.
    pub(super) fn program(&mut self, page: u32) -> Result<(), Rule> {
        let number = self.block_of(page)?;
        let (offset, block) = (page % self.pages, &mut self.blocks[number as usize]);
        match block {
            BlockState { is_broken: true, .. } => return Err(Rule::Broken { block: number }),
            BlockState { is_failing: true, .. } => return Err(Rule::Failing { block: number }),
            BlockState { is_erasing: true, .. } => return Err(Rule::Erasing { block: number }),
            BlockState { next, .. } if offset < *next => {
                return Err(Rule::Order { page, block: number, next: number * self.pages + *next });
            }
            _ => (),
        }
        (block.next, block.programs) = (offset + 1, block.programs + 1);
        self.under_way += 1;
        Ok(())
    }

    /// Checks that a block can be erased.
    pub(super) fn check_erase(&self, block: u32) -> Result<(), Rule> {
        match *self.block(block)? {
            BlockState { is_broken: true, .. } => Err(Rule::Broken { block }),
            BlockState { is_erasing: true, .. } => Err(Rule::Erasing { block }),
            BlockState { programs, .. } if programs > 0 => Err(Rule::Programming { block, programs }),
            _ => Ok(()),
        }
    }

    /// Notes the start of an erase: the pages of the block hold nothing from now on.
    pub(super) fn erase(&mut self, block: u32) {
        self.blocks[block as usize].is_erasing = true;
        self.empty(block);
        self.under_way += 1;
    }

    fn empty(&mut self, block: u32) {
        let pages = (block * self.pages) as usize;
        self.units[pages..pages + self.pages as usize].fill(NONE);
    }

    /// Notes a program that has succeeded.
    pub(super) fn programmed(&mut self, page: Psn, unit: u32) {
        self.units[page.index()] = unit;
        self.end_program(page.get() / self.pages);
    }

    /// Notes a program that has failed.
    pub(super) fn failed(&mut self, block: SuperblockId) {
        self.blocks[block.index()].is_failing = true;
        self.end_program(block.get());
    }

    fn end_program(&mut self, block: u32) {
        self.blocks[block as usize].programs -= 1;
        self.under_way -= 1;
    }

    /// Notes the end of an erase, after which the block is erased or broken.
    pub(super) fn erased(&mut self, block: SuperblockId, is_broken: bool) {
        let erases = self.blocks[block.index()].erases + 1;
        self.blocks[block.index()] = BlockState { erases, is_broken, ..BlockState::default() };
        self.empty(block.get());
        self.under_way -= 1;
    }
}
