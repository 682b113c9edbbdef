//! A server with a queue whose links are inside the operations.

/// An operation that waits in at most one queue at a time.
pub(crate) trait Waits {
    /// Returns the link to the next operation in the same queue.
    fn next(&mut self) -> &mut Option<u32>;
}

/// A server for one operation at a time, first come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    busy: bool,
    ends: Option<(u32, u32)>,
}

impl Server {
    /// Serves the operation at once and returns true, or queues it.
    #[inline]
    pub(crate) fn enter(&mut self, operations: &mut [impl Waits], operation: u32) -> bool {
        if !self.busy {
            self.busy = true;
            return true;
        }
        *operations[operation as usize].next() = None;
        self.ends = Some(match self.ends {
            None => (operation, operation),
            Some((head, tail)) => {
                *operations[tail as usize].next() = Some(operation);
                (head, operation)
            }
        });
        false
    }

    /// Ends the service of an operation. Returns the operation that is served next.
    #[inline]
    pub(crate) fn leave(&mut self, operations: &mut [impl Waits]) -> Option<u32> {
        let Some((head, tail)) = self.ends else {
            self.busy = false;
            return None;
        };
        self.ends = operations[head as usize].next().map(|next| (next, tail));
        Some(head)
    }
}
