//! Observes the drive several times a second, as long as it is served.
//!
//! Sampling goes on while there are no watchers, so that a page that is opened shows the minutes before, and incidents
//! are noted. An observation costs the drive microseconds.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::WatchedDrive;
use super::feed::Feed;
use super::frame::Frames;

/// The time between two observations.
const STEP: Duration = Duration::from_millis(250);
/// One observation in this many has the erase counts of all blocks.
const WEAR: u32 = 8;

/// The thread that observes a drive. It ends with the drive, or when the sampler is dropped.
pub(super) struct Sampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    pub(super) fn start(drive: Arc<WatchedDrive>, feed: Arc<Feed>) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let mut frames = Frames::default();
            for number in 0_u32.. {
                let Some(observation) = (drive.observe)(number.is_multiple_of(WEAR)) else { break };
                if let Some(frame) = frames.next(observation, &drive.incidents) {
                    feed.publish(&frame);
                }
                if stopped.recv_timeout(STEP) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            feed.end();
        });
        Ok(Self { stop: Some(stop), thread: Some(thread?) })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the thread.
            let _ = thread.join();
        }
    }
}
