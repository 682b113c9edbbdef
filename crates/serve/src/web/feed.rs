//! The watchers of the live page, and the events that they are sent.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use serde::Serialize;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use super::frame::{CAUSES, Frame};
use crate::engine::Incident;
use crate::http::Events;

/// The points of the past that a new watcher gets: two minutes.
pub(super) const PAST: usize = 480;
/// The most events that wait for a watcher. Further events are left out, because each event is complete by itself.
const WAITING: usize = 8;
/// A watcher that has taken none of this many events in a row is gone: a minute.
const PATIENCE: u32 = 240;

/// The watchers of a drive.
#[derive(Default)]
pub(super) struct Feed(Mutex<FeedState>);

#[derive(Default)]
struct FeedState {
    watchers: Vec<Watcher>,
    /// The points of the past, in JSON.
    past: VecDeque<String>,
    /// The last wear, in JSON.
    wear: Option<String>,
    /// The last zones, in JSON.
    zones: Option<String>,
    is_over: bool,
}

struct Watcher {
    to: mpsc::Sender<Bytes>,
    missed: u32,
    _keep: oneshot::Sender<Infallible>,
}

/// The first event of a new watcher: facts about the drive.
#[derive(Serialize)]
pub(super) struct Hello<'a> {
    pub(super) device: &'a str,
    pub(super) capacity_bytes: u64,
    pub(super) version: &'static str,
    pub(super) causes: [&'static str; CAUSES.len()],
    pub(super) incidents: Vec<Incident>,
}

/// A server-sent event with data in one line.
fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

impl Feed {
    fn state(&self) -> MutexGuard<'_, FeedState> {
        // The state is consistent between any two operations, so a poisoned lock does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a watcher; none once the drive has ended.
    pub(super) fn subscribe(&self, hello: &Hello) -> Option<Events> {
        let mut state = self.state();
        if state.is_over {
            return None;
        }
        let ((to, events), (keep, kept)) = (mpsc::channel(WAITING), oneshot::channel());
        let mut first = format!("retry: 1000\n\n{}", event("hello", &json(hello)));
        let past: Vec<_> = state.past.iter().map(String::as_str).collect();
        first += &event("past", &format!("[{}]", past.join(",")));
        first.extend(state.wear.as_deref().map(|wear| event("wear", wear)));
        first.extend(state.zones.as_deref().map(|zones| event("zones", zones)));
        to.try_send(Bytes::from(first)).expect("there is room for the first one");
        state.watchers.push(Watcher { to, missed: 0, _keep: keep });
        Some(Events { events, kept })
    }

    /// Sends a frame to all watchers, and keeps its points for later watchers.
    pub(super) fn publish(&self, frame: &Frame) {
        let mut state = self.state();
        if state.past.len() == PAST {
            state.past.pop_front();
        }
        state.past.push_back(json(&frame.point));
        let mut events = event("frame", &json(frame));
        if let Some(wear) = &frame.wear {
            let wear = json(wear);
            events += &event("wear", &wear);
            state.wear = Some(wear);
        }
        if let Some(zones) = &frame.zones {
            let zones = json(zones);
            events += &event("zones", &zones);
            state.zones = Some(zones);
        }
        let events = Bytes::from(events);
        state.watchers.retain_mut(|watcher| match watcher.to.try_send(events.clone()) {
            Ok(()) => {
                watcher.missed = 0;
                true
            }
            Err(TrySendError::Full(_)) => {
                watcher.missed += 1;
                watcher.missed < PATIENCE
            }
            Err(TrySendError::Closed(_)) => false,
        });
    }

    /// Ends all streams: the drive is not served any more.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.watchers.clear();
    }
}

/// JSON without line breaks.
fn json(of: &impl Serialize) -> String {
    serde_json::to_string(of).expect("texts and numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: Hello<'_> =
        Hello { device: "demo", capacity_bytes: 1, version: "1", causes: CAUSES, incidents: Vec::new() };

    fn taken(events: &mut Events) -> String {
        String::from_utf8(events.events.try_recv().expect("an event").to_vec()).expect("text")
    }

    #[test]
    fn a_new_watcher_hears_of_the_past_and_a_stalled_one_is_left() {
        let feed = Feed::default();
        let frame = Frame::default();
        (0..PAST + 3).for_each(|_| feed.publish(&frame));
        let mut events = feed.subscribe(&HELLO).expect("it goes on");
        let first = taken(&mut events);
        assert!(first.starts_with("retry: 1000\n\nevent: hello\ndata: {\"device\":\"demo\""), "{first}");
        let past = first.split("event: past\ndata: ").nth(1).and_then(|rest| rest.lines().next()).expect("the past");
        let past: serde_json::Value = serde_json::from_str(past).expect("JSON");
        assert_eq!(past.as_array().map(Vec::len), Some(PAST));
        feed.publish(&frame);
        assert!(taken(&mut events).starts_with("event: frame\ndata: {"));
        // A watcher that takes nothing: some events wait, further ones are left out, and at last the watcher is
        // dropped.
        (0..WAITING as u32 + PATIENCE - 1).for_each(|_| feed.publish(&frame));
        assert!(events.kept.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        feed.publish(&frame);
        assert!(events.kept.try_recv() == Err(oneshot::error::TryRecvError::Closed));
        feed.end();
        assert!(feed.subscribe(&HELLO).is_none());
    }
}
