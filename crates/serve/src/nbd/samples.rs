//! Whole connections, as the bytes of a client: the tests and the fuzzer damage them.

use base::units::Sectors;

use super::ExportInfo;
use super::wire::{OPTION_MAGIC, Put, REQUEST_MAGIC, command, flag, option};

/// Exports that the samples ask for: the default and `other`, of 1 MiB each.
#[must_use]
pub fn sample_exports() -> Vec<ExportInfo> {
    let export = |name: &str| ExportInfo {
        name: name.to_owned(),
        description: "a sample".to_owned(),
        capacity: Sectors::new(2048),
        unit: Sectors::new(8),
    };
    vec![export(""), export("other")]
}

/// The bytes of clients on whole, valid connections to [`sample_exports`].
#[must_use]
pub fn samples() -> Vec<Vec<u8>> {
    vec![modern(), plain(), oldest(), questions(), sparse()]
}

/// The bytes of clients of a server that demands TLS; the bytes behind STARTTLS are those inside of TLS.
#[must_use]
pub fn samples_with_tls() -> Vec<Vec<u8>> {
    let starting = |sample: Vec<u8>| {
        let (flags, rest) = sample.split_at(4);
        let mut out = flags.to_vec();
        put_option(&mut out, option::LIST, &[]);
        put_option(&mut out, option::STARTTLS, &[]);
        out.extend(rest);
        out
    };
    // Clients of the oldest negotiation have no TLS.
    let mut samples = vec![modern(), plain(), questions(), sparse()];
    samples = samples.into_iter().map(starting).collect();
    samples.push(oldest());
    samples
}

fn put_option(out: &mut Vec<u8>, option: u32, data: &[u8]) {
    out.u64(OPTION_MAGIC);
    out.u32(option);
    out.u32(data.len() as u32);
    out.extend(data);
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.u32(name.len() as u32);
    out.extend(name.as_bytes());
}

/// The data of INFO and GO.
fn info(name: &str, asked: &[u16]) -> Vec<u8> {
    let mut data = Vec::new();
    put_name(&mut data, name);
    data.u16(asked.len() as u16);
    asked.iter().for_each(|kind| data.u16(*kind));
    data
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = Vec::new();
    put_name(&mut data, name);
    data.u32(queries.len() as u32);
    queries.iter().for_each(|query| put_name(&mut data, query));
    data
}

fn request(out: &mut Vec<u8>, (command, flags): (u16, u16), cookie: u64, (offset, length): (u64, u32)) {
    out.u32(REQUEST_MAGIC);
    out.u16(flags);
    out.u16(command);
    out.u64(cookie);
    out.u64(offset);
    out.u32(length);
    if command == command::WRITE {
        out.extend((0..length).map(|i| i as u8 ^ cookie as u8));
    }
}

/// A connection with every command and structured replies.
fn modern() -> Vec<u8> {
    let mut out = Vec::new();
    out.u32(3);
    put_option(&mut out, option::STRUCTURED_REPLY, &[]);
    put_option(&mut out, option::SET_META_CONTEXT, &contexts("", &["base:allocation"]));
    put_option(&mut out, option::GO, &info("", &[0, 1, 2, 3]));
    request(&mut out, (command::WRITE, flag::FUA), 1, (4096, 1024));
    request(&mut out, (command::READ, flag::DF), 2, (4096, 512));
    request(&mut out, (command::BLOCK_STATUS, flag::REQ_ONE), 3, (0, 1 << 20));
    request(&mut out, (command::TRIM, flag::FUA), 4, (0, 4096));
    request(&mut out, (command::WRITE_ZEROES, flag::NO_HOLE), 5, (512, 512));
    request(&mut out, (command::CACHE, 0), 6, (0, 65536));
    request(&mut out, (command::FLUSH, 0), 7, (0, 0));
    request(&mut out, (command::DISC, 0), 8, (0, 0));
    out
}

/// A connection to another export, with simple replies.
fn plain() -> Vec<u8> {
    let mut out = Vec::new();
    out.u32(3);
    put_option(&mut out, option::INFO, &info("other", &[]));
    put_option(&mut out, option::GO, &info("other", &[3]));
    request(&mut out, (command::READ, 0), 1, (512, 512));
    request(&mut out, (command::WRITE, 0), 2, ((1 << 20) - 512, 512));
    // A range behind the end, and a range that is too long.
    request(&mut out, (command::READ, 0), 3, (1 << 20, 512));
    request(&mut out, (command::WRITE, 0), 4, (1 << 20, 512));
    request(&mut out, (command::READ, 0), 5, (0, u32::MAX - 511));
    request(&mut out, (command::DISC, 0), 6, (0, 0));
    out
}

/// A connection with the only option of old clients.
fn oldest() -> Vec<u8> {
    let mut out = Vec::new();
    out.u32(0);
    put_option(&mut out, option::EXPORT_NAME, b"other");
    request(&mut out, (command::FLUSH, 0), 1, (0, 0));
    request(&mut out, (command::DISC, 0), 2, (0, 0));
    out
}

/// A connection with every option, and no request.
fn questions() -> Vec<u8> {
    let mut out = Vec::new();
    out.u32(1);
    put_option(&mut out, option::LIST, &[]);
    put_option(&mut out, option::STARTTLS, &[]);
    put_option(&mut out, 77, b"?");
    put_option(&mut out, option::STRUCTURED_REPLY, &[]);
    put_option(&mut out, option::LIST_META_CONTEXT, &contexts("other", &[]));
    put_option(&mut out, option::LIST_META_CONTEXT, &contexts("other", &["base:", "qemu:dirty"]));
    put_option(&mut out, option::INFO, &info("nowhere", &[]));
    put_option(&mut out, option::ABORT, &[]);
    out
}

/// A connection with several contexts, and queries for the allocation.
fn sparse() -> Vec<u8> {
    let mut out = Vec::new();
    out.u32(3);
    // SET_META_CONTEXT before structured replies is an error.
    put_option(&mut out, option::SET_META_CONTEXT, &contexts("other", &["base:allocation"]));
    put_option(&mut out, option::STRUCTURED_REPLY, &[]);
    put_option(&mut out, option::LIST_META_CONTEXT, &contexts("other", &["base:allocation", "base:"]));
    put_option(&mut out, option::SET_META_CONTEXT, &contexts("", &[]));
    put_option(&mut out, option::SET_META_CONTEXT, &contexts("other", &["base:", "x-y:z", "base:allocation"]));
    put_option(&mut out, option::GO, &info("other", &[]));
    request(&mut out, (command::WRITE_ZEROES, 0), 1, (8192, 4096));
    request(&mut out, (command::TRIM, 0), 2, (65536, 8192));
    request(&mut out, (command::BLOCK_STATUS, 0), 3, (0, 1 << 20));
    request(&mut out, (command::BLOCK_STATUS, flag::REQ_ONE), 4, (512, 512));
    request(&mut out, (command::BLOCK_STATUS, flag::DF), 5, (0, 512));
    request(&mut out, (command::BLOCK_STATUS, 0), 6, (1 << 20, 512));
    request(&mut out, (command::DISC, 0), 7, (0, 0));
    out
}
