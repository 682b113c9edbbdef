//! The policies of the log-block FTLs: the choice of a log block for a page, and of the victim of a merge.
//!
//! Another policy is a file beside [`bast`] and [`fast`], a variant here, and its kind.

use super::address::Lbn;
use super::awaited::AwaitedEvent;
use super::bast;
use super::fast;
use super::logs::{LogId, Logs, Role};

/// The place in the log for a page that cannot go to its data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The next page of this log block, which has room.
    Append(LogId),
    /// The first page of a new log block.
    Open(Role),
    /// Nowhere, until this log block has been merged.
    Merge(LogId),
    /// Nowhere, until a merge under way has ended.
    Wait,
}

/// The policy of a log-block FTL, one for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Each logical block has its own log block.
    Bast,
    /// Log blocks are shared by all logical blocks.
    Fast,
}

impl Policy {
    /// Chooses the place of a page at `offset` of a logical block.
    pub(super) fn place(self, logs: &Logs, pages: u32, lbn: Lbn, offset: u32) -> Choice {
        match self {
            Self::Bast => bast::place(logs, pages, lbn),
            Self::Fast => fast::place(logs, pages, lbn, offset),
        }
    }

    /// The event that a page without a place in the log waits for. Until that event, [`place`](Self::place) makes the
    /// same choice for all pages that wait for it.
    pub(super) fn awaited(self, logs: &Logs, lbn: Lbn, offset: u32) -> AwaitedEvent {
        match self {
            Self::Bast => bast::awaited(logs, lbn),
            Self::Fast => fast::awaited(logs, lbn, offset),
        }
    }

    /// The log block to merge when no further log block may be opened.
    pub(super) fn victim(self, logs: &Logs) -> Option<LogId> {
        match self {
            Self::Bast => bast::victim(logs),
            Self::Fast => fast::victim(logs),
        }
    }

    /// The roles of the log blocks after recovery. `found` lists the log blocks from the oldest on: the logical block
    /// if all pages belong to one, and true if the pages are in order from the first page on.
    pub(super) fn roles(self, found: &[(Option<Lbn>, bool)]) -> Vec<Role> {
        let role = |(block, in_order): &(Option<Lbn>, bool)| match (self, block) {
            (Self::Bast, Some(lbn)) => Role::Of(*lbn),
            (Self::Fast, Some(lbn)) if *in_order => Role::Sequential(*lbn),
            _ => Role::Random,
        };
        let mut roles: Vec<Role> = found.iter().map(role).collect();
        // The youngest candidate is the log block for sequential writes.
        let mut taken = false;
        for role in roles.iter_mut().rev() {
            if matches!(role, Role::Sequential(_)) && std::mem::replace(&mut taken, true) {
                *role = Role::Random;
            }
        }
        roles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_makes_the_youngest_ordered_log_block_the_sequential_one() {
        let found = [(Some(1), true), (Some(2), true), (Some(3), false), (None, false)];
        let of = [Role::Of(1), Role::Of(2), Role::Of(3)];
        assert_eq!(Policy::Bast.roles(&found[..3]), of, "a log block has one data block, in order or not");
        assert_eq!(Policy::Fast.roles(&found), [Role::Random, Role::Sequential(2), Role::Random, Role::Random]);
    }
}
