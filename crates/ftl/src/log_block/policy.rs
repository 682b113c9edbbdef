//! What one hybrid-mapped FTL does differently from another: which log block takes a page, and which is merged.
//!
//! A further one is a file beside [`bast`] and [`fast`], a variant here, and its kind.

use super::address::Lbn;
use super::bast;
use super::fast;
use super::logs::{LogId, Logs, Role};

/// Where a page that cannot be written in place goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// To this log block, which has room.
    Append(LogId),
    /// To a new one.
    Open(Role),
    /// Nowhere before this log block has been merged.
    Merge(LogId),
    /// Nowhere before a merge that is under way is over.
    Wait,
}

/// The FTLs with log blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// A log block for each logical block.
    Bast,
    /// Log blocks that take the writes of all.
    Fast,
}

impl Policy {
    /// Where a page at `offset` of a logical block goes.
    pub(super) fn place(self, logs: &Logs, pages: u32, lbn: Lbn, offset: u32) -> Choice {
        match self {
            Self::Bast => bast::place(logs, pages, lbn),
            Self::Fast => fast::place(logs, pages, lbn, offset),
        }
    }

    /// The log block to be merged when there are as many as there may be.
    pub(super) fn victim(self, logs: &Logs) -> Option<LogId> {
        match self {
            Self::Bast => bast::victim(logs),
            Self::Fast => fast::victim(logs),
        }
    }

    /// The roles that recovery gives to log blocks, which are handed in from the oldest on: for each the logical
    /// block whose pages alone it holds, if there is one, and whether it holds them from the first on in order.
    pub(super) fn roles(self, found: &[(Option<Lbn>, bool)]) -> Vec<Role> {
        let role = |(block, in_order): &(Option<Lbn>, bool)| match (self, block) {
            (Self::Bast, Some(lbn)) => Role::Of(*lbn),
            (Self::Fast, Some(lbn)) if *in_order => Role::Sequential(*lbn),
            _ => Role::Random,
        };
        let mut roles: Vec<Role> = found.iter().map(role).collect();
        // There is one log block for sequential writes: the youngest.
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
    fn recovery_gives_the_sequence_to_the_youngest_log_block_in_order() {
        let found = [(Some(1), true), (Some(2), true), (Some(3), false), (None, false)];
        let of = [Role::Of(1), Role::Of(2), Role::Of(3)];
        assert_eq!(Policy::Bast.roles(&found[..3]), of, "a log block has one data block, in order or not");
        assert_eq!(Policy::Fast.roles(&found), [Role::Random, Role::Sequential(2), Role::Random, Role::Random]);
    }
}
