//! The controller answers any bytes of a host alike, however they are cut into pieces. It never panics, and keeps
//! within its limits.

use proptest::prelude::*;

use crate::connection::End;
use crate::host::{Host, HostCommand, HostConfig, HostEvent};
use crate::samples::{ConnectionPair, Target, sample_config, samples};

/// The output of the controller's side for an input.
#[derive(Debug, PartialEq)]
struct ControllerOutput {
    said: Vec<u8>,
    commands: u64,
    end: Option<End>,
}

/// Sends the input in pieces whose lengths repeat.
fn receive(input: &[u8], lengths: &[usize]) -> ControllerOutput {
    let mut target = Target::new(sample_config());
    let _admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut link = ConnectionPair::new(&target, HostConfig::default());
    let (mut waiting, mut left, mut said) = (Vec::new(), input, Vec::new());
    for length in lengths.iter().cycle() {
        if left.is_empty() {
            break;
        }
        let (piece, behind) = left.split_at(left.len().min(*length));
        waiting.extend_from_slice(piece);
        left = behind;
        link.feed_controller(&mut target, &mut waiting);
        said.extend(link.session.output().take().concat());
        assert!(link.session.connection().memory() <= sample_config().memory());
        assert!(waiting.len() < 256 || link.end.is_some(), "{} bytes wait", waiting.len());
    }
    ControllerOutput { said, commands: target.drive.commands, end: link.end }
}

/// The bytes of a controller for a host that writes 20 KiB and reads 8 KiB.
fn controllers_bytes() -> Vec<u8> {
    let mut target = Target::new(sample_config());
    let _admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut link = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, false);
    link.run(&mut target, HostCommand::write(1, 0, 5, vec![1; 20480]));
    link.run(&mut target, HostCommand::read(1, 0, 2, 8192));
    link.heard
}

/// Passes bytes to a host that sends a Keep Alive, a write of 20 KiB and a read of 8 KiB. Returns the host's output,
/// the number of commands that ended, and whether the connection is over.
fn host_receives(input: &[u8], lengths: &[usize]) -> (Vec<u8>, usize, bool) {
    let mut host = Host::new(HostConfig::default());
    let (mut waiting, mut left, mut completed, mut over) = (Vec::new(), input, 0, false);
    for length in lengths.iter().cycle() {
        if left.is_empty() {
            break;
        }
        let (piece, behind) = left.split_at(left.len().min(*length));
        waiting.extend_from_slice(piece);
        left = behind;
        let mut taken = 0;
        while !over {
            let (more, event) = host.receive(&waiting[taken..]);
            taken += more;
            match event {
                None if more == 0 => break,
                None => {}
                Some(HostEvent::Ready) => {
                    host.submit(HostCommand::keep_alive());
                    host.submit(HostCommand::write(1, 0, 5, vec![1; 20480]));
                    host.submit(HostCommand::read(1, 0, 2, 8192));
                }
                Some(HostEvent::Completed(completion)) => {
                    completed += 1;
                    assert!(completion.data.len() <= 8192, "more data than the host asked for");
                }
                Some(HostEvent::Error(_)) => over = true,
            }
        }
        waiting.drain(..taken);
    }
    (host.output().take().concat(), completed, over)
}

#[test]
fn samples_are_whole_connections_and_answered_alike_byte_by_byte() {
    let all = samples();
    assert_eq!(all.len(), 9);
    for (i, sample) in all.iter().enumerate() {
        let whole = receive(sample, &[usize::MAX]);
        assert_eq!(whole.end, None, "sample {i}");
        assert!(whole.said.len() > 500, "sample {i}: {} bytes", whole.said.len());
        assert_eq!(whole.commands > 0, i % 3 == 2, "sample {i} of an I/O queue");
        assert!(receive(sample, &[1]) == whole, "sample {i}");
    }
}

/// A change of a sample: its position, its kind, and a byte.
type Damage = (prop::sample::Index, u8, u8);

fn damaged(sample: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut input = sample.to_vec();
    for (index, kind, byte) in damages {
        if input.is_empty() {
            break;
        }
        let at = index.index(input.len());
        let end = (at + usize::from(*byte)).min(input.len());
        match kind % 5 {
            0 => input[at] = *byte,
            1 => input[at] ^= 1 << (byte % 8),
            2 => drop(input.drain(at..end)),
            3 => input.truncate(at),
            _ => {
                let copy = input[at..end].to_vec();
                input.splice(at..at, copy);
            }
        }
    }
    input
}

proptest! {
    #[test]
    fn damaged_samples_are_answered_alike_in_any_pieces(
        number in 0..9_usize,
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<u8>()), 1..5),
        lengths in prop::collection::vec(1..3000_usize, 1..20),
    ) {
        let input = damaged(&samples()[number], &damages);
        prop_assert!(receive(&input, &[usize::MAX]) == receive(&input, &lengths));
    }

    #[test]
    fn a_host_takes_damaged_answers_alike_in_any_pieces(
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<u8>()), 0..4),
        lengths in prop::collection::vec(1..3000_usize, 1..20),
    ) {
        let bytes = controllers_bytes();
        prop_assert_eq!(host_receives(&bytes, &[usize::MAX]).1, 3);
        let input = damaged(&bytes, &damages);
        prop_assert!(host_receives(&input, &[usize::MAX]) == host_receives(&input, &lengths));
    }

    #[test]
    fn random_bytes_are_answered_alike_in_any_pieces(
        initialized: bool,
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        lengths in prop::collection::vec(1..100_usize, 1..20),
    ) {
        let mut input = if initialized { samples()[0][..128].to_vec() } else { Vec::new() };
        input.extend(bytes);
        prop_assert!(receive(&input, &[usize::MAX]) == receive(&input, &lengths));
    }
}
