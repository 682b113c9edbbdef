//! A connection of an NVMe/TCP host: its bytes get the same answers in one piece and in any pieces, within the limits of memory.

use std::time::Duration;

use base::engine::Rng;
use nvme::{End, MemoryDrives, Session, SessionRequest, Subsystem, sample_config, sample_subsystem, samples};

use crate::{Damage, Target, Verdict};

/// The controller's end, with a drive in memory. Another connection is the admin queue of controller 1, so that an I/O queue can
/// join it.
struct ControllerEnd {
    subsystem: Subsystem,
    drive: MemoryDrives,
    session: Session,
    sent: Vec<u8>,
    end: Option<End>,
}

impl ControllerEnd {
    fn new() -> Self {
        let (subsystem, _admin, drive) = sample_subsystem();
        let session = Session::new(&subsystem);
        Self { subsystem, drive, session, sent: Vec::new(), end: None }
    }

    /// Takes as many bytes from the front as it can; returns their number.
    fn receive(&mut self, input: &[u8]) -> usize {
        let mut taken = 0;
        while self.end.is_none() {
            let (more, request) =
                self.session.receive(&input[taken..], &mut self.subsystem, &self.drive, Duration::ZERO);
            taken += more;
            match request {
                None if more == 0 => break,
                None | Some(SessionRequest::Connected { .. }) => {}
                Some(SessionRequest::Io(request)) => {
                    let response = self.drive.run(&request);
                    self.session.complete(request.command_id, response, &mut self.subsystem);
                }
                Some(SessionRequest::Drive { command_id, command }) => {
                    let response = self.drive.administrate(&command);
                    self.session.complete(command_id, response, &mut self.subsystem);
                    self.subsystem.finish_sanitize(true);
                }
                Some(SessionRequest::Shutdown { controller }) => self.subsystem.finish_shutdown(controller),
                Some(SessionRequest::End(end)) => self.end = Some(end),
            }
            self.sent.extend(self.session.output().take().concat());
            assert!(self.session.connection().memory() <= sample_config().memory(), "more memory than the limit");
        }
        self.sent.extend(self.session.output().take().concat());
        taken
    }
}

fn connection(input: &[u8], seed: u64) -> Verdict {
    let mut whole = ControllerEnd::new();
    whole.receive(input);
    let (mut rng, mut split) = (Rng::stream(seed, "pieces"), ControllerEnd::new());
    let longest = 8 << rng.below(10);
    let (mut taken, mut there) = (0, 0);
    while there < input.len() {
        there = input.len().min(there + 1 + rng.below(longest) as usize);
        taken += split.receive(&input[taken..there]);
    }
    assert_eq!(
        (whole.drive.commands, whole.end),
        (split.drive.commands, split.end),
        "in pieces of up to {longest} bytes"
    );
    assert!(whole.sent == split.sent, "in pieces of up to {longest} bytes");
    match whole.end {
        Some(end) => Verdict::Refused(end.to_string()),
        None => Verdict::Taken,
    }
}

pub(super) fn target() -> Target {
    Target {
        name: "nvme".into(),
        corpus: samples(),
        damage: Damage::Bytes(&[
            "\u{4}\0H\0",
            "\u{6}\0\u{18}\0",
            "\0\0\u{10}\0",
            "\u{7f}@",
            "nqn.2014-08.org.nvmexpress",
        ]),
        run: Box::new(|input, seed, _| connection(input, seed)),
    }
}
