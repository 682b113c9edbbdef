//! The message queue of a drive's thread: any thread adds messages, the drive's thread takes all of them at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Messages in the order of their arrival, each with its time.
pub(super) struct Inbox<T> {
    waiting: Mutex<InboxState<T>>,
    /// True while messages wait; a hint that costs no lock.
    any: AtomicBool,
    came: Condvar,
}

struct InboxState<T> {
    messages: Vec<(Instant, T)>,
    is_asleep: bool,
    is_closed: bool,
}

#[allow(clippy::disallowed_methods)] // A served drive keeps the time of the wall clock.
pub(super) fn now() -> Instant {
    Instant::now()
}

impl<T> Inbox<T> {
    pub(super) const fn new() -> Self {
        let waiting = InboxState { messages: Vec::new(), is_asleep: false, is_closed: false };
        Self { waiting: Mutex::new(waiting), any: AtomicBool::new(false), came: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, InboxState<T>> {
        // The list is consistent between any two operations, so a poisoned lock does no harm.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message. Returns the message if the inbox is closed.
    pub(super) fn put(&self, message: T) -> Result<(), T> {
        self.put_all(std::iter::once(message)).next().map_or(Ok(()), Err)
    }

    /// Adds messages, in this order and with one time. Returns them if the inbox is closed.
    pub(super) fn put_all<I: IntoIterator<Item = T>>(&self, messages: I) -> impl Iterator<Item = T> + use<I, T> {
        let mut messages = messages.into_iter();
        let mut waiting = self.lock();
        if waiting.is_closed {
            return messages;
        }
        // The time is taken under the lock, so that the times of messages are in order.
        let now = now();
        waiting.messages.extend(messages.by_ref().map(|message| (now, message)));
        self.any.store(true, Ordering::Release);
        let wake = std::mem::take(&mut waiting.is_asleep);
        drop(waiting);
        if wake {
            self.came.notify_one();
        }
        messages
    }

    /// True if messages wait.
    pub(super) fn has_any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Takes all messages, in exchange for an empty list.
    pub(super) fn take(&self, into: &mut Vec<(Instant, T)>) {
        if self.has_any() {
            let mut waiting = self.lock();
            self.any.store(false, Ordering::Release);
            std::mem::swap(into, &mut waiting.messages);
        }
    }

    /// Waits until a message comes, or until `deadline`; forever without a deadline. In the last `spin` before the deadline the
    /// thread polls the clock.
    pub(super) fn wait(&self, deadline: Option<Instant>, spin: Duration) {
        let asleep_until = deadline.map(|deadline| deadline.checked_sub(spin).unwrap_or(deadline));
        let mut waiting = self.lock();
        while waiting.messages.is_empty() {
            waiting.is_asleep = true;
            match asleep_until {
                None => waiting = self.came.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(now());
                    if left.is_zero() {
                        break;
                    }
                    waiting = self.came.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        waiting.is_asleep = false;
        drop(waiting);
        while deadline.is_some_and(|deadline| now() < deadline) && !self.has_any() {
            std::hint::spin_loop();
        }
    }

    /// Takes no more messages; returns those that wait.
    pub(super) fn close(&self) -> Vec<(Instant, T)> {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        self.any.store(false, Ordering::Release);
        std::mem::take(&mut waiting.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_order_and_none_after_the_end() {
        let inbox = Inbox::new();
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|n| inbox.put(n).expect("it is open")));
            while taken.len() < 100 {
                inbox.wait(None, Duration::ZERO);
                let mut some = Vec::new();
                inbox.take(&mut some);
                assert!(!some.is_empty() || inbox.has_any(), "it woke for nothing");
                taken.extend(some);
            }
        });
        assert!(taken.windows(2).all(|pair| pair[0].0 <= pair[1].0), "times go back");
        assert_eq!(taken.iter().map(|(_, n)| *n).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
        assert_eq!(inbox.put_all([1, 2]).count(), 0);
        let left = inbox.close();
        assert_eq!((left.len(), left[0].0, left[1].1), (2, left[1].0, 2));
        assert_eq!(inbox.put(2), Err(2));
        assert_eq!(inbox.put_all([3, 4]).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let inbox = Inbox::<u8>::new();
        for spin in [Duration::ZERO, Duration::from_millis(1), Duration::from_secs(9)] {
            let deadline = now() + Duration::from_millis(2);
            inbox.wait(Some(deadline), spin);
            assert!(now() >= deadline, "it woke too early");
        }
    }
}
