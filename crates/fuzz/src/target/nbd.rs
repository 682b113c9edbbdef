//! A connection of an NBD client: its bytes get the same answers in one piece and in any pieces.

use base::engine::Rng;
use base::units::Sectors;
use serve::nbd::{BlockStatus, End, Protocol, ProtocolEvent, sample_exports, samples, samples_with_tls};
use serve::{AllocatedExtent, Allocation, Operation};

use crate::{Damage, Target, Verdict};

/// The server's end, with a drive that answers at once: every byte of a read is the low byte of the number of its first
/// sector.
struct ServerEnd {
    protocol: Protocol,
    sent: Vec<u8>,
    requests: u32,
    end: Option<End>,
}

impl ServerEnd {
    fn new(demands_tls: bool) -> Self {
        let exports = sample_exports().into();
        let mut protocol = if demands_tls { Protocol::requiring_tls(exports) } else { Protocol::new(exports) };
        let sent = protocol.take_output();
        Self { protocol, sent, requests: 0, end: None }
    }

    /// Takes as many bytes from the front as it can; returns their number.
    fn receive(&mut self, input: &[u8]) -> usize {
        let mut taken = 0;
        while self.end.is_none() {
            let (more, event) = self.protocol.receive(&input[taken..]);
            taken += more;
            self.sent.extend(self.protocol.take_output());
            match event {
                None if more == 0 => break,
                None | Some(ProtocolEvent::Payload(_) | ProtocolEvent::Ready(_)) => {}
                // The following bytes count as if they had come through TLS.
                Some(ProtocolEvent::StartTls) => self.protocol.upgraded(),
                Some(ProtocolEvent::End(end)) => self.end = Some(end),
                Some(ProtocolEvent::BlockStatus(BlockStatus { start, sectors, most, ticket })) => {
                    let (first, count) = (start.get(), sectors.get());
                    assert!(first + count <= 2048, "the range is within the drive");
                    // Extents of one sector each, with alternating states.
                    let extents = (first..first + count.min(most as u64)).map(|sector| AllocatedExtent {
                        sectors: Sectors::new(1),
                        allocation: if sector % 2 == 0 { Allocation::Mapped } else { Allocation::Deallocated },
                    });
                    ticket.reply_extents(Ok(extents.collect()), &mut self.sent);
                    self.requests += 1;
                }
                Some(ProtocolEvent::Request(request)) => {
                    let start = request.start.get();
                    assert!(start + request.sectors.get() <= 2048, "the range is within the drive");
                    let length = request.sectors.bytes().get() as usize;
                    let data = match &request.operation {
                        Operation::Read => vec![start as u8; length],
                        Operation::Write { data, .. } => {
                            assert_eq!(data.len(), length, "a write has all its bytes");
                            Vec::new()
                        }
                        Operation::Flush | Operation::Discard | Operation::WriteZeroes { .. } => Vec::new(),
                        operation => panic!("NBD has no {operation:?}"),
                    };
                    let data = request.ticket.reply(Ok(data), &mut self.sent);
                    self.sent.extend(data);
                    self.requests += 1;
                }
            }
        }
        taken
    }
}

fn connection(demands_tls: bool, input: &[u8], seed: u64) -> Verdict {
    let mut whole = ServerEnd::new(demands_tls);
    whole.receive(input);
    let (mut rng, mut split) = (Rng::stream(seed, "pieces"), ServerEnd::new(demands_tls));
    let longest = 1 << rng.below(10);
    let (mut taken, mut there) = (0, 0);
    while there < input.len() {
        there = input.len().min(there + 1 + rng.below(longest) as usize);
        taken += split.receive(&input[taken..there]);
    }
    assert_eq!((whole.requests, whole.end), (split.requests, split.end), "in pieces of up to {longest} bytes");
    assert!(whole.sent == split.sent, "in pieces of up to {longest} bytes");
    match whole.end {
        Some(End::Finished) => Verdict::Taken,
        Some(end) => Verdict::Refused(end.to_string()),
        None => Verdict::Refused("the client is not done".to_owned()),
    }
}

pub(super) fn targets() -> [Target; 2] {
    [("nbd", false, samples()), ("nbd-tls", true, samples_with_tls())].map(|(name, demands_tls, corpus)| Target {
        name: name.into(),
        corpus,
        damage: Damage::Bytes(&["IHAVEOPT", "\0\0\0\u{1}", "\0\0\u{2}\0", "base:allocation", "other"]),
        run: Box::new(move |input, seed, _| connection(demands_tls, input, seed)),
    })
}
