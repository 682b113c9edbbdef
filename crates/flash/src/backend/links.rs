//! The link from a waiting item to the next.

use base::engine::Handle;

/// An item that waits in at most one queue.
pub(super) trait Links: Sized {
    fn next(&self) -> Option<Handle<Self>>;
    fn set_next(&mut self, next: Option<Handle<Self>>);
}
