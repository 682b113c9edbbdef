//! Conversations byte by byte, with the numbers of the protocol's document.
//!
//! A line says what the client (`C`) or the server (`S`) sends: hexadecimal digits, text in quotes, `N*HH` for N equal
//! bytes. `T` turns TLS on. `#` begins a comment. The drive has 1 MiB, and the bytes of sector n are n.

use super::conversation::Conversation;
use crate::JobFailure;
use crate::nbd::End;

/// The greeting, and a client that asks to leave the zeros of the export reply out.
const GREETING: &str = r#"
S "NBDMAGIC" "IHAVEOPT" 0003
C 00000003
"#;

/// Chooses the default export, with simple replies.
const GO: &str = r#"
S "NBDMAGIC" "IHAVEOPT" 0003
C 00000003
C "IHAVEOPT" 00000007 00000006  00000000 0000
S 0003e889045565a9 00000007 00000003 0000000c  0000 0000000000100000 0d6d
S 0003e889045565a9 00000007 00000003 0000000e  0003 00000200 00001000 02000000
S 0003e889045565a9 00000007 00000001 00000000
"#;

/// Chooses the default export, with structured replies and block status.
const STRUCTURED: &str = r#"
S "NBDMAGIC" "IHAVEOPT" 0003
C 00000003
C "IHAVEOPT" 00000008 00000000
S 0003e889045565a9 00000008 00000001 00000000
C "IHAVEOPT" 0000000a 0000001b  00000000 00000001 0000000f "base:allocation"
S 0003e889045565a9 0000000a 00000004 00000013  00000001 "base:allocation"
S 0003e889045565a9 0000000a 00000001 00000000
C "IHAVEOPT" 00000007 00000006  00000000 0000
S 0003e889045565a9 00000007 00000003 0000000c  0000 0000000000100000 0ded
S 0003e889045565a9 00000007 00000003 0000000e  0003 00000200 00001000 02000000
S 0003e889045565a9 00000007 00000001 00000000
"#;

fn bytes(line: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, part) in line.split('"').enumerate() {
        if i % 2 == 1 {
            out.extend(part.as_bytes());
            continue;
        }
        for word in part.split_whitespace() {
            let (times, digits) = word.split_once('*').map_or((1, word), |(n, of)| (n.parse().expect("a number"), of));
            let hex = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
            let one: Vec<u8> = (0..digits.len()).step_by(2).map(hex).collect();
            out.extend(one.repeat(times));
        }
    }
    out
}

/// Plays a transcript: after each line of the client the server must have sent exactly the lines that follow.
#[track_caller]
fn play_with(failure: Option<JobFailure>, transcript: &str) -> Conversation {
    let mut conversation = Conversation::new();
    conversation.failure = failure;
    play_in(conversation, transcript)
}

#[track_caller]
fn play_in(mut conversation: Conversation, transcript: &str) -> Conversation {
    let (mut said, mut line) = (Vec::new(), "");
    for next in transcript.lines().map(|line| line.split('#').next().unwrap_or("").trim()) {
        match next.split_at_checked(2) {
            Some(("C ", text)) => {
                assert_eq!(conversation.sent, said, "before `{line}`");
                (conversation.sent, said) = (Vec::new(), Vec::new());
                conversation.send(&bytes(text));
            }
            Some(("S ", text)) => said.extend(bytes(text)),
            None if next == "T" => conversation.upgrade(),
            _ => assert!(next.is_empty(), "`{next}`"),
        }
        line = next;
    }
    assert_eq!(conversation.sent, said, "at the end");
    conversation
}

#[track_caller]
fn play(parts: &[&str]) -> Conversation {
    play_with(None, &parts.concat())
}

#[test]
fn an_export_is_chosen_with_all_that_is_known_of_it() {
    let ended = play(&[
        GREETING,
        r#"
C "IHAVEOPT" 00000006 00000013  00000005 "other" 0004 0000 0001 0002 0003
S 0003e889045565a9 00000006 00000003 0000000c  0000 0000000000100000 0d6d
S 0003e889045565a9 00000006 00000003 00000007  0001 "other"
S 0003e889045565a9 00000006 00000003 0000000a  0002 "a sample"
S 0003e889045565a9 00000006 00000003 0000000e  0003 00000200 00001000 02000000
S 0003e889045565a9 00000006 00000001 00000000
# After INFO the negotiation goes on.
C "IHAVEOPT" 00000007 0000000b  00000005 "other" 0000
S 0003e889045565a9 00000007 00000003 0000000c  0000 0000000000100000 0d6d
S 0003e889045565a9 00000007 00000003 0000000e  0003 00000200 00001000 02000000
S 0003e889045565a9 00000007 00000001 00000000
C 25609513 0000 0002 0000000000000000 0000000000000000 00000000
"#,
    ]);
    assert_eq!((ended.asked.as_str(), ended.end), ("[1]", Some(End::Finished)));
}

#[test]
fn the_oldest_option_chooses_without_a_reply_header() {
    let zeroes = r#"
S "NBDMAGIC" "IHAVEOPT" 0003
C 00000000
C "IHAVEOPT" 00000001 00000005  "other"
S 0000000000100000 0d6d 124*00
"#;
    assert_eq!(play(&[zeroes]).asked, "[1]");
    let none = r#"
C "IHAVEOPT" 00000001 00000000
S 0000000000100000 0d6d
"#;
    assert_eq!(play(&[GREETING, none]).asked, "[0]");
    let unknown = r#"
C "IHAVEOPT" 00000001 00000004 "what"
"#;
    assert_eq!(play(&[GREETING, unknown]).end, Some(End::NoExport));
}

#[test]
fn exports_are_listed_and_the_negotiation_aborted() {
    let ended = play(&[
        GREETING,
        r#"
C "IHAVEOPT" 00000003 00000000
S 0003e889045565a9 00000003 00000002 0000000c  00000000 "a sample"
S 0003e889045565a9 00000003 00000002 00000011  00000005 "other" "a sample"
S 0003e889045565a9 00000003 00000001 00000000
C "IHAVEOPT" 00000002 00000000
S 0003e889045565a9 00000002 00000001 00000000
"#,
    ]);
    assert_eq!(ended.end, Some(End::Finished));
}

#[test]
fn options_that_are_unknown_malformed_or_long_get_errors_and_the_negotiation_goes_on() {
    play(&[
        GREETING,
        r#"
# STARTTLS, and one that is not known: NBD_REP_ERR_UNSUP
C "IHAVEOPT" 00000005 00000000
S 0003e889045565a9 00000005 80000001 00000016 "this server has no TLS"
C "IHAVEOPT" 0000004d 00000003 "abc"
S 0003e889045565a9 0000004d 80000001 0000000e "unknown option"
# Data where none belong, a name that is longer than the data, bytes behind the data: NBD_REP_ERR_INVALID
C "IHAVEOPT" 00000003 00000001 00
S 0003e889045565a9 00000003 80000003 0000001f "the option's data are malformed"
C "IHAVEOPT" 00000007 00000006  00000001 0000
S 0003e889045565a9 00000007 80000003 0000001f "the option's data are malformed"
C "IHAVEOPT" 00000007 00000007  00000000 0000 00
S 0003e889045565a9 00000007 80000003 0000001f "the option's data are malformed"
# An export that is not there: NBD_REP_ERR_UNKNOWN
C "IHAVEOPT" 00000007 0000000a  00000004 "what" 0000
S 0003e889045565a9 00000007 80000006 0000001f "there is no export of this name"
# 64 KiB of data: NBD_REP_ERR_TOO_BIG
C "IHAVEOPT" 00000007 00010000  65536*00
S 0003e889045565a9 00000007 80000009 00000016 "the option is too long"
# Contexts without structured replies
C "IHAVEOPT" 0000000a 00000008  00000000 00000000
S 0003e889045565a9 0000000a 80000003 00000020 "ask for structured replies first"
"#,
    ]);
}

#[test]
fn contexts_are_listed_and_chosen_for_one_export() {
    let questions = r#"
C "IHAVEOPT" 00000008 00000000
S 0003e889045565a9 00000008 00000001 00000000
# All, those of a namespace, and none that is known
C "IHAVEOPT" 00000009 00000008  00000000 00000000
S 0003e889045565a9 00000009 00000004 00000013  00000000 "base:allocation"
S 0003e889045565a9 00000009 00000001 00000000
C "IHAVEOPT" 00000009 00000011  00000000 00000001 00000005 "base:"
S 0003e889045565a9 00000009 00000004 00000013  00000000 "base:allocation"
S 0003e889045565a9 00000009 00000001 00000000
C "IHAVEOPT" 0000000a 00000010  00000000 00000001 00000004 "what"
S 0003e889045565a9 0000000a 00000001 00000000
# Chosen for the default export; the other one is used
C "IHAVEOPT" 0000000a 0000001b  00000000 00000001 0000000f "base:allocation"
S 0003e889045565a9 0000000a 00000004 00000013  00000001 "base:allocation"
S 0003e889045565a9 0000000a 00000001 00000000
C "IHAVEOPT" 00000001 00000005  "other"
S 0000000000100000 0ded
C 25609513 0000 0007 0000000000000009 0000000000000000 00000200
S 668e33ef 0001 8001 0000000000000009 00000024  00000016 001e "no metadata context was chosen"
"#;
    play(&[GREETING, questions]);
}

#[test]
fn simple_replies_carry_the_cookie_and_the_data() {
    let asked = play(&[
        GO,
        r#"
C 25609513 0000 0000 1122334455667788 0000000000000400 00000400
S 67446698 00000000 1122334455667788 512*02 512*03
# A write with FUA in two pieces, read back
C 25609513 0001 0001 0000000000000002 0000000000000200 00000200 200*ab
C 312*cd
S 67446698 00000000 0000000000000002
C 25609513 0000 0000 0000000000000003 0000000000000200 00000200
S 67446698 00000000 0000000000000003 200*ab 312*cd
# Flush, trim with FUA, zeros without a hole, cache
C 25609513 0000 0003 0000000000000004 0000000000000000 00000000
S 67446698 00000000 0000000000000004
C 25609513 0001 0004 0000000000000005 0000000000000000 00001000
S 67446698 00000000 0000000000000005
C 25609513 0002 0006 0000000000000006 0000000000000000 00000200
S 67446698 00000000 0000000000000006
C 25609513 0000 0005 0000000000000007 0000000000000000 00100000
S 67446698 00000000 0000000000000007
C 25609513 0000 0000 0000000000000008 0000000000000000 00000200
S 67446698 00000000 0000000000000008 512*00
C 25609513 0000 0002 0000000000000009 0000000000000000 00000000
"#,
    ]);
    assert_eq!((asked.asked.as_str(), asked.end), ("[0]rWrfdfzrr", Some(End::Finished)));
}

#[test]
fn structured_replies_are_one_chunk_each() {
    play(&[
        STRUCTURED,
        r#"
C 25609513 0004 0000 0000000000000001 0000000000000400 00000200  # one piece is asked for
S 668e33ef 0001 0001 0000000000000001 00000208  0000000000000400 512*02
C 25609513 0000 0001 0000000000000002 0000000000000000 00000200 512*ee
S 668e33ef 0001 0000 0000000000000002 00000000
"#,
    ]);
}

#[test]
fn block_status_is_of_data_and_of_holes_that_read_as_zeros() {
    let asked = play(&[
        STRUCTURED,
        r#"
# Sectors 0, 256, 512 ... 1792 are zeros. One extent is asked for; all of a range; a range within one extent
C 25609513 0008 0007 0000000000000001 0000000000000200 000ffe00
S 668e33ef 0001 0005 0000000000000001 0000000c  00000001 0001fe00 00000000
C 25609513 0000 0007 0000000000000002 000000000001fe00 00020600
S 668e33ef 0001 0005 0000000000000002 0000002c  00000001
S   00000200 00000000  00000200 00000003  0001fe00 00000000  00000200 00000003  00000200 00000000
C 25609513 0000 0007 0000000000000003 0000000000020000 00000200
S 668e33ef 0001 0005 0000000000000003 0000000c  00000001 00000200 00000003
# It follows writes.
C 25609513 0000 0001 0000000000000004 0000000000020000 00000200 512*ee
S 668e33ef 0001 0000 0000000000000004 00000000
C 25609513 0008 0007 0000000000000005 0000000000000200 00040000
S 668e33ef 0001 0005 0000000000000005 0000000c  00000001 0003fe00 00000000
# EINVAL
C 25609513 0000 0007 0000000000000006 00000000000ffe00 00000400
S 668e33ef 0001 8001 0000000000000006 00000025  00000016 001f "the range ends behind the drive"
"#,
    ]);
    assert_eq!(asked.asked, "[0]sssws");
    let request = "C 25609513 0000 0007 0000000000000001 0000000000000000 00000200\n";
    let lost = "S 668e33ef 0001 8001 0000000000000001 0000001c  0000006c 0016 \"the drive has no power\"\n";
    play_with(Some(JobFailure::NoPower), &[STRUCTURED, request, lost].concat());
}

#[test]
fn a_block_status_has_at_most_so_many_extents() {
    let mut conversation = play(&[STRUCTURED]);
    // Every other sector is zeros.
    for sector in (0..2048_u64).step_by(2) {
        let offset = format!("{:016x}", sector * 512);
        conversation.send(&bytes(&format!("25609513 0000 0006 0000000000000001 {offset} 00000200")));
    }
    conversation.sent.clear();
    conversation.send(&bytes("25609513 0000 0007 0000000000000002 0000000000000000 00100000"));
    let head = bytes("668e33ef 0001 0005 0000000000000002 00002004 00000001");
    let extents = bytes(&"00000200 00000003 00000200 00000000 ".repeat(512));
    assert!(conversation.sent == [head, extents].concat());
}

#[test]
fn requests_that_make_no_sense_get_the_protocols_errors() {
    let asked = play(&[
        GO,
        r#"
# EINVAL: unaligned, empty, unknown, a foreign flag, a flush with a range, block status without a context
C 25609513 0000 0000 0000000000000001 0000000000000001 00000200
S 67446698 00000016 0000000000000001
C 25609513 0000 0000 0000000000000002 0000000000000000 000001ff
S 67446698 00000016 0000000000000002
C 25609513 0000 0000 0000000000000003 0000000000000000 00000000
S 67446698 00000016 0000000000000003
C 25609513 0000 0008 0000000000000004 0000000000000000 00000200
S 67446698 00000016 0000000000000004
C 25609513 0004 0000 0000000000000005 0000000000000000 00000200
S 67446698 00000016 0000000000000005
C 25609513 0020 0000 0000000000000006 0000000000000000 00000200
S 67446698 00000016 0000000000000006
C 25609513 0000 0003 0000000000000007 0000000000000200 00000000
S 67446698 00000016 0000000000000007
C 25609513 0000 0007 0000000000000008 0000000000000000 00000200
S 67446698 00000016 0000000000000008
# Behind the end: EINVAL for a read and a trim, ENOSPC for a write and zeros; an offset near 2^64
C 25609513 0000 0000 0000000000000009 00000000000ffe00 00000400
S 67446698 00000016 0000000000000009
C 25609513 0000 0004 000000000000000a 00000000000ffe00 00000400
S 67446698 00000016 000000000000000a
C 25609513 0000 0001 000000000000000b 0000000000100000 00000200 512*01
S 67446698 0000001c 000000000000000b
C 25609513 0000 0006 000000000000000c 00000000000ffe00 00000400
S 67446698 0000001c 000000000000000c
C 25609513 0000 0000 000000000000000d fffffffffffffe00 00000400
S 67446698 00000016 000000000000000d
# ENOTSUP: zeros that are faster than data; EOVERFLOW: 4 GiB
C 25609513 0010 0006 000000000000000e 0000000000000000 00000200
S 67446698 0000005f 000000000000000e
C 25609513 0000 0000 000000000000000f 0000000000000000 fffffe00
S 67446698 0000004b 000000000000000f
# A refused write is skipped with its payload; without one there is nothing to skip
C 25609513 0000 0001 0000000000000010 0000000000000001 00000064 50*25
C 50*25
S 67446698 00000016 0000000000000010
C 25609513 0000 0001 0000000000000011 0000000000000000 00000000
S 67446698 00000016 0000000000000011
# The connection goes on
C 25609513 0000 0000 0000000000000012 0000000000000000 00000200
S 67446698 00000000 0000000000000012 512*00
"#,
    ]);
    assert_eq!((asked.asked.as_str(), asked.end), ("[0]r", None));
}

#[test]
fn a_write_of_more_than_32_mib_is_skipped() {
    let mut conversation = play(&[GO]);
    conversation.sent.clear();
    conversation.send(&bytes("25609513 0000 0001 0000000000000001 0000000000000000 02000200"));
    for _ in 0..0x0200_0200 / 512 - 1 {
        conversation.send(&[0x25; 512]);
    }
    assert!(conversation.sent.is_empty());
    conversation.send(&[0x25; 512]);
    assert_eq!(conversation.sent, bytes("67446698 0000004b 0000000000000001"));
    assert_eq!((conversation.asked.as_str(), conversation.end), ("[0]", None));
}

#[test]
fn what_the_drive_cannot_do_is_an_error_with_a_reason() {
    for (failure, code, text) in [
        (JobFailure::Drive(ssd::Status::Uncorrectable), "00000005", "the data cannot be read"),
        (JobFailure::Drive(ssd::Status::ReadOnly), "00000001", "the drive is worn out and takes no more writes"),
        (JobFailure::NoPower, "0000006c", "the drive has no power"),
        (JobFailure::Drive(ssd::Status::OutOfRange), "0000001c", "the extent ends behind the drive"),
    ] {
        let request = "C 25609513 0000 0001 0000000000000001 0000000000000000 00000200 512*01\n";
        let simple = format!("{GO}{request}S 67446698 {code} 0000000000000001\n");
        play_with(Some(failure), &simple);
        let lengths = (6 + text.len(), text.len());
        let chunk = format!("{:08x} {code} {:04x} \"{text}\"", lengths.0, lengths.1);
        play_with(Some(failure), &format!("{STRUCTURED}{request}S 668e33ef 0001 8001 0000000000000001 {chunk}\n"));
    }
    let read = "C 25609513 0000 0000 0000000000000001 0000000000000000 00000200\n";
    play_with(
        Some(JobFailure::Drive(ssd::Status::OutOfRange)),
        &format!("{GO}{read}S 67446698 00000016 0000000000000001\n"),
    );
}

#[test]
fn garbage_ends_the_connection() {
    for input in [
        // Unknown flags of the client, another magic, an option that needs the fixed newstyle.
        r#"C 00000004"#,
        r#"C 00000003 "IHAVEOPX" 00000003 00000000"#,
        r#"C 00000000 "IHAVEOPT" 00000003 00000000"#,
        r#"C "GET / HTTP/1.1""#,
    ] {
        let ended = play(&["S \"NBDMAGIC\" \"IHAVEOPT\" 0003\n", input, "\n"]);
        assert_eq!(ended.end, Some(End::Garbage), "{input}");
    }
    let ended = play(&[GO, "C 28*00\nC 25609513 0000 0000 0000000000000001 0000000000000000 00000200\n"]);
    assert_eq!((ended.asked.as_str(), ended.end), ("[0]", Some(End::Garbage)), "nothing is read after garbage");
}

/// Chooses the default export through TLS; only the greeting is plain.
const SECURE: &str = r#"
S "NBDMAGIC" "IHAVEOPT" 0003
C 00000003
C "IHAVEOPT" 00000005 00000000
S 0003e889045565a9 00000005 00000001 00000000
"#;

#[test]
fn a_server_with_tls_answers_nothing_else_before() {
    let ended = play_in(
        Conversation::secure(),
        r#"
S "NBDMAGIC" "IHAVEOPT" 0003
C 00000003
# Lists, structured replies, GO, and what is unknown: NBD_REP_ERR_TLS_REQD. Data behind STARTTLS: NBD_REP_ERR_INVALID
C "IHAVEOPT" 00000003 00000000
S 0003e889045565a9 00000003 80000005 0000000f "start TLS first"
C "IHAVEOPT" 00000008 00000000
S 0003e889045565a9 00000008 80000005 0000000f "start TLS first"
C "IHAVEOPT" 00000007 00000006  00000000 0000
S 0003e889045565a9 00000007 80000005 0000000f "start TLS first"
C "IHAVEOPT" 0000004d 00000000
S 0003e889045565a9 0000004d 80000005 0000000f "start TLS first"
C "IHAVEOPT" 00000005 00000001 00
S 0003e889045565a9 00000005 80000003 0000001f "the option's data are malformed"
C "IHAVEOPT" 00000005 00000000
S 0003e889045565a9 00000005 00000001 00000000
T
# Once is enough, and then everything is as without TLS.
C "IHAVEOPT" 00000005 00000000
S 0003e889045565a9 00000005 80000003 00000011 "TLS is on already"
C "IHAVEOPT" 00000001 00000000
S 0000000000100000 0d6d
C 25609513 0000 0003 0000000000000004 0000000000000000 00000000
S 67446698 00000000 0000000000000004
"#,
    );
    assert_eq!((ended.asked.as_str(), ended.end), ("[0]f", None));
    let abort = "S \"NBDMAGIC\" \"IHAVEOPT\" 0003\nC 00000003 \"IHAVEOPT\" 00000002 00000000\n\
                 S 0003e889045565a9 00000002 00000001 00000000\n";
    assert_eq!(play_in(Conversation::secure(), abort).end, Some(End::Finished));
    let named = "S \"NBDMAGIC\" \"IHAVEOPT\" 0003\nC 00000003 \"IHAVEOPT\" 00000001 00000000\n";
    assert_eq!(play_in(Conversation::secure(), named).end, Some(End::NoTls));
}

#[test]
fn what_comes_in_plain_behind_starttls_is_refused() {
    for injected in ["00", r#""IHAVEOPT" 00000008 00000000"#, r#""IHAVEOPT" 00000001 00000000"#] {
        let ended = play_in(Conversation::secure(), &[SECURE, "C ", injected].concat());
        assert_eq!((ended.asked.as_str(), ended.end), ("", Some(End::PlainBehindTls)), "{injected}");
        // The injected bytes arrive in one piece with the option, too.
        let joined = SECURE.replace("00000005 00000000\nS", &format!("00000005 00000000 {injected}\nS"));
        assert_ne!(joined, SECURE);
        let ended = play_in(Conversation::secure(), &joined);
        assert_eq!((ended.asked.as_str(), ended.end), ("", Some(End::PlainBehindTls)), "{injected}");
    }
}

#[test]
fn what_was_said_before_tls_is_forgotten() {
    play_in(
        Conversation::secure(),
        r#"
S "NBDMAGIC" "IHAVEOPT" 0003
C 00000003
C "IHAVEOPT" 00000008 00000000
S 0003e889045565a9 00000008 80000005 0000000f "start TLS first"
C "IHAVEOPT" 00000005 00000000
S 0003e889045565a9 00000005 00000001 00000000
T
C "IHAVEOPT" 0000000a 0000001b  00000000 00000001 0000000f "base:allocation"
S 0003e889045565a9 0000000a 80000003 00000020 "ask for structured replies first"
C "IHAVEOPT" 00000008 00000000
S 0003e889045565a9 00000008 00000001 00000000
C "IHAVEOPT" 0000000a 0000001b  00000000 00000001 0000000f "base:allocation"
S 0003e889045565a9 0000000a 00000004 00000013  00000001 "base:allocation"
S 0003e889045565a9 0000000a 00000001 00000000
"#,
    );
}
