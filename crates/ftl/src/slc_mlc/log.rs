//! The SLC flash as a circular log of blocks (Chang, Sec. 3.3).
//!
//! Blocks follow each other by number, and the first follows the last. Data goes to the head. When more than k blocks
//! are in use the tail is erased, so all blocks wear alike.

use base::units::SuperblockId;

/// The head, the tail and the blocks between them, in the order of their numbers.
#[derive(Clone, Debug)]
pub(super) struct CircularLog {
    pages: u32,
    bad: Vec<bool>,
    /// For each block: true if a program failed there. Such a block is retired when it is the tail.
    failing: Vec<bool>,
    head: u32,
    /// The number of the head's next page.
    next: u32,
    tail: u32,
    /// Blocks from the tail to the head, including both.
    used: u32,
    usable: u32,
}

impl CircularLog {
    /// A log of unused blocks; `None` if all are bad. A log of a single block takes no data, but may hold data that a
    /// mount finds.
    pub(super) fn new(bad: Vec<bool>, pages: u32) -> Option<Self> {
        let usable = bad.iter().filter(|bad| !**bad).count() as u32;
        let first = bad.iter().position(|bad| !*bad)? as u32;
        let failing = vec![false; bad.len()];
        Some(Self { pages, bad, failing, head: first, next: 0, tail: first, used: 1, usable })
    }

    /// Restores the head and the tail after recovery. The head is programmed up to page `next`.
    pub(super) fn resume(&mut self, head: u32, next: u32, tail: u32) {
        (self.head, self.next, self.tail, self.used) = (head, next, tail, 1);
        let mut block = tail;
        while block != head {
            block = self.after(block);
            self.used += 1;
        }
    }

    pub(super) const fn blocks(&self) -> u32 {
        self.usable
    }

    pub(super) const fn used(&self) -> u32 {
        self.used
    }

    pub(super) const fn head(&self) -> SuperblockId {
        SuperblockId::new(self.head)
    }

    pub(super) const fn tail(&self) -> SuperblockId {
        SuperblockId::new(self.tail)
    }

    /// The number of the head's next page, and the number of pages left from it on.
    pub(super) fn room(&self) -> (u32, u32) {
        let left = if self.failing[self.head as usize] { 0 } else { self.pages - self.next };
        (self.next, left)
    }

    /// Takes the next `pages` pages of the head.
    pub(super) const fn take(&mut self, pages: u32) {
        self.next += pages;
    }

    /// The next good block behind another, in the order of the log.
    pub(super) fn after(&self, block: u32) -> u32 {
        let count = self.bad.len() as u32;
        let mut next = block;
        loop {
            next = (next + 1) % count;
            if !self.bad[next as usize] {
                return next;
            }
        }
    }

    /// Moves the head to the next block. Returns false if that block is not erased.
    pub(super) fn advance(&mut self) -> bool {
        if self.used == self.usable {
            return false;
        }
        self.head = self.after(self.head);
        (self.next, self.used) = (0, self.used + 1);
        true
    }

    /// Closes the head, in which a program has failed: it takes no more pages.
    pub(super) fn head_failed(&mut self) {
        self.failing[self.head as usize] = true;
    }

    pub(super) fn tail_is_failing(&self) -> bool {
        self.failing[self.tail as usize]
    }

    /// Makes the block behind the tail the tail. The old tail has been erased, or is bad.
    pub(super) fn tail_is_gone(&mut self, bad: bool) {
        debug_assert!(self.used > 1, "the head is not cleaned");
        let tail = self.tail;
        self.tail = self.after(tail);
        self.used -= 1;
        self.failing[tail as usize] = false;
        if bad {
            self.bad[tail as usize] = true;
            self.usable -= 1;
        }
    }

    pub(super) fn holds(&self, block: u32) -> bool {
        let mut at = self.tail;
        for _ in 0..self.used {
            if at == block {
                return true;
            }
            at = self.after(at);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_wraps_round_and_skips_bad_blocks() {
        let mut log = CircularLog::new(vec![false, true, false, false], 2).expect("three blocks");
        assert_eq!((log.blocks(), log.used(), log.room()), (3, 1, (0, 2)));
        assert!(log.advance() && log.advance() && !log.advance());
        assert_eq!((log.head().get(), log.tail().get()), (3, 0));
        log.tail_is_gone(false);
        assert!(log.advance());
        assert_eq!((log.head().get(), log.tail().get(), log.used()), (0, 2, 3));
        assert!(log.holds(0) && log.holds(2) && log.holds(3));
        log.tail_is_gone(true);
        assert_eq!((log.blocks(), log.tail().get(), log.used()), (2, 3, 2));
        assert!(!log.advance());
    }

    #[test]
    fn a_failing_head_has_no_room() {
        let mut log = CircularLog::new(vec![false; 3], 4).expect("three blocks");
        log.take(1);
        assert_eq!(log.room(), (1, 3));
        log.head_failed();
        assert_eq!(log.room(), (1, 0));
        assert!(log.advance());
        assert!(log.tail_is_failing());
    }

    #[test]
    fn a_resumed_log_continues_at_its_head() {
        let mut log = CircularLog::new(vec![false; 5], 4).expect("five blocks");
        log.resume(1, 3, 4);
        assert_eq!((log.used(), log.room(), log.head().get()), (3, (3, 1), 1));
    }

    #[test]
    fn a_log_of_one_block_cannot_advance() {
        let mut log = CircularLog::new(vec![false, true], 4).expect("a block");
        assert!(!log.advance());
        assert!(CircularLog::new(vec![true, true], 4).is_none());
    }
}
