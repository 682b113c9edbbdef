//! BAST: each updated data block has its own log block (Sung, Sec. 2.3).

use super::address::Lbn;
use super::awaited::AwaitedEvent;
use super::logs::{LogId, Logs, Role};
use super::policy::Choice;

pub(super) fn place(logs: &Logs, pages: u32, lbn: Lbn) -> Choice {
    match logs.own(lbn) {
        Some(id) if logs.log(id).closed => Choice::Wait,
        Some(id) if logs.log(id).next < pages => Choice::Append(id),
        Some(id) => Choice::Merge(id),
        None if logs.count() < logs.limit => Choice::Open(Role::Of(lbn)),
        None if logs.room_is_coming() => Choice::Wait,
        None => victim(logs).map_or(Choice::Wait, Choice::Merge),
    }
}

/// The event that a page without a place in the log waits for.
pub(super) fn awaited(logs: &Logs, lbn: Lbn) -> AwaitedEvent {
    if logs.own(lbn).is_some() { AwaitedEvent::Merge } else { AwaitedEvent::Log }
}

/// The least recently written log block. The thesis does not name the victim.
pub(super) fn victim(logs: &Logs) -> Option<LogId> {
    logs.least_recent()
}

#[cfg(test)]
mod tests {
    use base::units::SuperblockId;

    use super::*;

    #[test]
    fn each_data_block_has_its_own_log_block_and_the_least_recently_written_is_merged() {
        let mut logs = Logs::new(9, 4, 2, 1);
        assert_eq!(place(&logs, 4, 3), Choice::Open(Role::Of(3)));
        let first = logs.open(SuperblockId::new(0), Role::Of(3));
        let second = logs.open(SuperblockId::new(1), Role::Of(5));
        logs.take_page(first, 3, 1);
        assert_eq!((place(&logs, 4, 3), place(&logs, 4, 5)), (Choice::Append(first), Choice::Append(second)));
        assert_eq!(place(&logs, 4, 7), Choice::Merge(second), "block 3 was written to later");
        for offset in 0..3 {
            logs.take_page(first, 3, offset);
        }
        assert_eq!(place(&logs, 4, 3), Choice::Merge(first), "its log block is full");
        logs.close(first);
        assert_eq!((place(&logs, 4, 3), place(&logs, 4, 7)), (Choice::Wait, Choice::Wait), "one merge makes room");
        logs.log_mut(first).programs = 0;
        logs.remove(first);
        assert_eq!(place(&logs, 4, 7), Choice::Open(Role::Of(7)));
    }
}
