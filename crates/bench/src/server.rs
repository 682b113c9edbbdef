//! A server with a queue whose links are inside the requests.

/// A request that waits in at most one queue at a time.
pub(crate) trait Waits {
    /// Returns the link to the next request in the same queue.
    fn next(&mut self) -> &mut Option<u32>;
}

/// A server for one request at a time, first come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    busy: bool,
    ends: Option<(u32, u32)>,
}

impl Server {
    /// Serves the request at once and returns true, or queues it.
    #[inline]
    pub(crate) fn enter(&mut self, requests: &mut [impl Waits], request: u32) -> bool {
        if !self.busy {
            self.busy = true;
            return true;
        }
        *requests[request as usize].next() = None;
        self.ends = Some(match self.ends {
            None => (request, request),
            Some((head, tail)) => {
                *requests[tail as usize].next() = Some(request);
                (head, request)
            }
        });
        false
    }

    /// Ends the service of a request. Returns the request that is served next.
    #[inline]
    pub(crate) fn leave(&mut self, requests: &mut [impl Waits]) -> Option<u32> {
        let Some((head, tail)) = self.ends else {
            self.busy = false;
            return None;
        };
        self.ends = requests[head as usize].next().map(|next| (next, tail));
        Some(head)
    }
}
