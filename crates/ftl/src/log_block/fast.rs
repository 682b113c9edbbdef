//! FAST: one log block takes sequential updates, the others take the updates of all data blocks (Sung, Sec. 2.3).

use super::address::Lbn;
use super::awaited::AwaitedEvent;
use super::logs::{Log, LogId, Logs, Role};
use super::policy::Choice;

pub(super) fn place(logs: &Logs, pages: u32, lbn: Lbn, offset: u32) -> Choice {
    let sequential = logs.sequential.map(|id| (id, logs.log(id)));
    let merge = |(id, log): (LogId, &Log)| if log.closed { Choice::Wait } else { Choice::Merge(id) };
    match sequential {
        None if offset == 0 => return open(logs, Role::Sequential(lbn)),
        // A new sequence ends the sequence before it, and so does a gap.
        Some(found) if offset == 0 => return merge(found),
        Some((id, log)) if log.role.block() == Some(lbn) => {
            let follows = log.next == offset && log.next < pages && !log.closed;
            return if follows { Choice::Append(id) } else { merge((id, log)) };
        }
        _ => {}
    }
    match logs.random {
        Some(id) if logs.log(id).next < pages => Choice::Append(id),
        _ => open(logs, Role::Random),
    }
}

/// The event that a page without a place in the log waits for.
pub(super) fn awaited(logs: &Logs, lbn: Lbn, offset: u32) -> AwaitedEvent {
    let sequential = logs.sequential.and_then(|id| logs.log(id).role.block());
    match offset {
        0 => AwaitedEvent::Sequential,
        _ if sequential == Some(lbn) => AwaitedEvent::Merge,
        _ => AwaitedEvent::Log,
    }
}

/// FAST keeps room for the log block of sequential updates, even if none is open.
fn open(logs: &Logs, role: Role) -> Choice {
    let sequential = u32::from(logs.sequential.is_some());
    let room = match role {
        Role::Random => logs.count() - sequential < logs.limit - 1,
        _ => logs.count() < logs.limit,
    };
    match victim(logs) {
        _ if room => Choice::Open(role),
        Some(victim) if !logs.room_is_coming() => Choice::Merge(victim),
        _ => Choice::Wait,
    }
}

/// The oldest log block for random updates.
pub(super) fn victim(logs: &Logs) -> Option<LogId> {
    // Only one log block is not for random updates.
    logs.by_age().find(|(_, log)| log.role == Role::Random).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use base::units::SuperblockId;

    use super::*;

    #[test]
    fn sequential_writes_go_to_one_log_block_and_random_writes_to_the_others() {
        let mut logs = Logs::new(9, 4, 3, 1);
        let at = |logs: &Logs, lbn, offset| place(logs, 4, lbn, offset);
        assert_eq!(at(&logs, 3, 0), Choice::Open(Role::Sequential(3)));
        let sequential = logs.open(SuperblockId::new(0), Role::Sequential(3));
        logs.take_page(sequential, 3, 0);
        assert_eq!(at(&logs, 3, 1), Choice::Append(sequential));
        assert_eq!(at(&logs, 3, 2), Choice::Merge(sequential), "a gap");
        assert_eq!(at(&logs, 5, 0), Choice::Merge(sequential), "another sequence");
        assert_eq!(at(&logs, 5, 1), Choice::Open(Role::Random));
        let first = logs.open(SuperblockId::new(1), Role::Random);
        assert_eq!(at(&logs, 6, 2), Choice::Append(first), "for any data block");
        for offset in 0..4 {
            logs.take_page(first, 6, offset);
        }
        assert_eq!(at(&logs, 6, 2), Choice::Open(Role::Random));
        let second = logs.open(SuperblockId::new(2), Role::Random);
        for offset in 0..4 {
            logs.take_page(second, 7, offset);
        }
        assert_eq!(at(&logs, 6, 2), Choice::Merge(first), "the oldest");
        logs.close(first);
        assert_eq!(at(&logs, 6, 2), Choice::Wait, "one merge makes room");
        logs.log_mut(first).programs = 0;
        logs.remove(first);
        assert_eq!(at(&logs, 6, 2), Choice::Open(Role::Random));
    }
}
