//! The server answers any bytes of a client alike, however they are cut into pieces, and never panics.

use base::engine::Rng;
use proptest::prelude::*;

use super::conversation::Conversation;
use crate::nbd::{End, LARGEST, samples, samples_with_tls};

fn whole(input: &[u8]) -> Conversation {
    let mut conversation = Conversation::new();
    conversation.send(input);
    conversation
}

/// Sends the input in pieces.
fn split(input: &[u8], seed: u64, longest: u64) -> Conversation {
    let mut rng = Rng::stream(seed, "pieces");
    let mut conversation = Conversation::new();
    let mut left = input;
    while !left.is_empty() {
        let (piece, behind) = left.split_at(left.len().min(rng.below(longest + 1) as usize));
        conversation.send(piece);
        left = behind;
    }
    conversation
}

fn assert_equal(input: &[u8], seed: u64, longest: u64) {
    let (whole, split) = (whole(input), split(input, seed, longest));
    assert_eq!(whole.sent, split.sent, "seed {seed}");
    assert_eq!((whole.asked, whole.end), (split.asked, split.end), "seed {seed}");
}

#[test]
fn samples_are_answered_alike_byte_by_byte() {
    for (i, sample) in samples().iter().enumerate() {
        assert!(whole(sample).end.is_some(), "sample {i} is a whole connection");
        assert_equal(sample, i as u64, 1);
    }
}

#[test]
fn samples_that_start_tls_and_go_on_in_plain_are_refused_alike_byte_by_byte() {
    for sample in samples_with_tls() {
        let (mut whole, mut split) = (Conversation::secure(), Conversation::secure());
        whole.send(&sample);
        sample.iter().for_each(|byte| split.send(&[*byte]));
        assert_eq!((&whole.sent, whole.end), (&split.sent, split.end));
        assert!(matches!(whole.end, Some(End::PlainBehindTls | End::NoTls)), "{:?}", whole.end);
    }
}

/// A sample with some bytes replaced, removed or repeated.
fn damaged(seed: u64) -> Vec<u8> {
    let mut rng = Rng::stream(seed, "damage");
    let all = samples();
    let mut input = all[rng.below(all.len() as u64) as usize].clone();
    for _ in 0..=rng.below(4) {
        let at = rng.below(input.len() as u64) as usize;
        match rng.below(4) {
            0 => input[at] = rng.bits() as u8,
            1 => input[at] ^= 1 << rng.below(8),
            2 => drop(input.drain(at..(at + rng.below(40) as usize).min(input.len()))),
            _ => {
                let copy = input[at..(at + 28).min(input.len())].to_vec();
                input.splice(at..at, copy);
            }
        }
        if input.is_empty() {
            break;
        }
    }
    input
}

proptest! {
    #[test]
    fn damaged_samples_are_answered_alike_in_any_pieces(seed: u64, longest in 1..200u64) {
        assert_equal(&damaged(seed), seed, longest);
    }

    #[test]
    fn arbitrary_requests_get_one_reply_each(
        requests in prop::collection::vec((0..9u16, 0..64u16, any::<u64>(), 0..3000u64, 0..5u32), 1..40),
        structured: bool,
    ) {
        let mut input = Vec::from(3_u32.to_be_bytes());
        let mut option = |number: u32, data: &[u8]| {
            input.extend(b"IHAVEOPT");
            input.extend(number.to_be_bytes());
            input.extend((data.len() as u32).to_be_bytes());
            input.extend(data);
        };
        if structured {
            option(8, &[]);
        }
        option(7, &[0; 6]);
        let mut conversation = Conversation::new();
        conversation.send(&input);
        prop_assert_eq!(conversation.asked.as_str(), "[0]");
        for (command, flags, cookie, sector, length) in requests {
            // Not DISC, which ends the connection, and no long payload.
            let command = if command == 2 { 9 } else { command };
            let length = [0, 512, 4096, 100, if command == 1 { 8192 } else { LARGEST + 512 }][length as usize];
            let mut request = Vec::from(0x2560_9513_u32.to_be_bytes());
            request.extend(flags.to_be_bytes());
            request.extend(command.to_be_bytes());
            request.extend(cookie.to_be_bytes());
            request.extend((sector * 512).to_be_bytes());
            request.extend(length.to_be_bytes());
            if command == 1 {
                request.resize(request.len() + length as usize, 7);
            }
            conversation.sent.clear();
            conversation.send(&request);
            let sent = &conversation.sent;
            prop_assert!(conversation.end.is_none());
            // The cookie is in the bytes 8 to 15 of simple and of structured replies.
            prop_assert_eq!(&sent[8..16], &cookie.to_be_bytes());
            let expected = if structured {
                prop_assert_eq!(&sent[..6], &[0x66, 0x8e, 0x33, 0xef, 0, 1]);
                20 + u32::from_be_bytes(sent[16..20].try_into().expect("four bytes")) as usize
            } else {
                let data = command == 0 && sent[4..8] == [0; 4];
                16 + if data { length as usize } else { 0 }
            };
            prop_assert_eq!(sent.len(), expected);
        }
    }
}
