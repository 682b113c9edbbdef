//! The negotiation: a greeting, then options, until the client chooses an export.

use base::units::Sectors;

use super::end::End;
use super::wire::{
    ALLOCATION_ID, Fields, LARGEST, LONGEST_OPTION, NBD_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC, Put, SECTOR, answer,
    greeting, info, option, transmission,
};

/// The only metadata context.
const ALLOCATION: &str = "base:allocation";

/// The bytes of an option before its data.
const OPTION_HEAD: usize = 16;

/// The transmission flags of every export.
const CAN: u16 = transmission::HAS_FLAGS
    | transmission::SEND_FLUSH
    | transmission::SEND_FUA
    | transmission::SEND_TRIM
    | transmission::SEND_WRITE_ZEROES
    | transmission::CAN_MULTI_CONN
    | transmission::SEND_CACHE
    | transmission::SEND_FAST_ZERO;

/// The facts about an export that a client may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// The name that the client asks for; empty for the default export.
    pub name: String,
    /// A text that describes the export to people.
    pub description: String,
    /// The size in sectors.
    pub capacity: Sectors,
    /// The mapping unit: the preferred size of requests.
    pub unit: Sectors,
}

impl ExportInfo {
    /// The preferred block size: a power of two, as the protocol demands, within its limits.
    fn preferred(&self) -> u32 {
        let unit = self.unit.bytes().get().clamp(u64::from(SECTOR), u64::from(LARGEST));
        unit.next_power_of_two() as u32
    }

    const fn flags(structured: bool) -> u16 {
        if structured { CAN | transmission::SEND_DF } else { CAN }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NegotiationResult {
    pub(super) export: usize,
    /// True if the client has asked for structured replies.
    pub(super) structured: bool,
    /// True if the client has chosen the context `base:allocation`.
    pub(super) allocation: bool,
}

/// The state of TLS on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tls {
    /// The server has no TLS.
    Absent,
    /// The client must ask for TLS before anything else.
    Required,
    /// The connection is encrypted.
    On,
}

pub(super) enum NegotiationStep {
    /// More bytes are needed.
    Incomplete,
    /// The negotiation took a number of bytes, and goes on.
    Taken(usize),
    /// The negotiation took a number of bytes, and TLS begins.
    StartTls(usize),
    /// The negotiation took a number of bytes, and is over.
    Over(usize, Result<NegotiationResult, End>),
}

#[derive(Debug)]
enum NegotiationPhase {
    /// The client's flags are due.
    Flags,
    /// The client sends options until one of them ends the negotiation.
    Options,
    /// The rest of the data of an option that is too long: `left` bytes.
    Skip { option: u32, left: u32 },
    /// TLS is beginning, so plain bytes come from an intruder.
    StartingTls,
}

#[derive(Debug)]
pub(super) struct Handshake {
    phase: NegotiationPhase,
    tls: Tls,
    fixed: bool,
    zeroes: bool,
    structured: bool,
    /// The export whose block status the client may ask for.
    context: Option<usize>,
}

impl Handshake {
    /// Begins a negotiation, and appends the greeting of the server to `out`.
    pub(super) fn new(out: &mut Vec<u8>) -> Self {
        out.u64(NBD_MAGIC);
        out.u64(OPTION_MAGIC);
        out.u16(greeting::FIXED_NEWSTYLE | greeting::NO_ZEROES);
        let tls = Tls::Absent;
        Self { phase: NegotiationPhase::Flags, tls, fixed: false, zeroes: true, structured: false, context: None }
    }

    /// Refuses all options but STARTTLS until TLS is on.
    pub(super) const fn require_tls(&mut self) {
        self.tls = Tls::Required;
    }

    /// Continues after the TLS handshake. Everything that the client sent before is forgotten, because an intruder may
    /// have sent it.
    ///
    /// # Panics
    /// If the client did not ask for TLS.
    pub(super) fn upgraded(&mut self) {
        assert!(matches!(self.phase, NegotiationPhase::StartingTls), "TLS that nobody asked for");
        self.tls = Tls::On;
        self.phase = NegotiationPhase::Options;
        (self.structured, self.context) = (false, None);
    }

    pub(super) fn receive(&mut self, input: &[u8], exports: &[ExportInfo], out: &mut Vec<u8>) -> NegotiationStep {
        match &mut self.phase {
            NegotiationPhase::Flags => {
                let Some(flags) = Fields(input).u32() else { return NegotiationStep::Incomplete };
                let known = u32::from(greeting::FIXED_NEWSTYLE | greeting::NO_ZEROES);
                if flags & !known != 0 {
                    return NegotiationStep::Over(4, Err(End::Garbage));
                }
                self.fixed = flags & u32::from(greeting::FIXED_NEWSTYLE) != 0;
                self.zeroes = flags & u32::from(greeting::NO_ZEROES) == 0;
                self.phase = NegotiationPhase::Options;
                NegotiationStep::Taken(4)
            }
            NegotiationPhase::Skip { option, left } => {
                let taken = input.len().min(*left as usize);
                *left -= taken as u32;
                if *left == 0 {
                    refuse(*option, answer::TOO_BIG, "the option is too long", out);
                    self.phase = NegotiationPhase::Options;
                } else if taken == 0 {
                    return NegotiationStep::Incomplete;
                }
                NegotiationStep::Taken(taken)
            }
            NegotiationPhase::StartingTls if input.is_empty() => NegotiationStep::Incomplete,
            NegotiationPhase::StartingTls => NegotiationStep::Over(input.len(), Err(End::PlainBehindTls)),
            NegotiationPhase::Options => {
                let mut fields = Fields(input);
                let (Some(magic), Some(option), Some(length)) = (fields.u64(), fields.u32(), fields.u32()) else {
                    return NegotiationStep::Incomplete;
                };
                if magic != OPTION_MAGIC {
                    return NegotiationStep::Over(OPTION_HEAD, Err(End::Garbage));
                }
                // Before the fixed newstyle there were no replies to options.
                if !self.fixed && option != option::EXPORT_NAME {
                    return NegotiationStep::Over(OPTION_HEAD, Err(End::Garbage));
                }
                if length > LONGEST_OPTION {
                    if option == option::EXPORT_NAME {
                        return NegotiationStep::Over(OPTION_HEAD, Err(End::NoExport));
                    }
                    self.phase = NegotiationPhase::Skip { option, left: length };
                    return NegotiationStep::Taken(OPTION_HEAD);
                }
                let Some(data) = fields.0.get(..length as usize) else { return NegotiationStep::Incomplete };
                let taken = OPTION_HEAD + data.len();
                match self.option(option, data, exports, out) {
                    Some(over) => NegotiationStep::Over(taken, over),
                    None if matches!(self.phase, NegotiationPhase::StartingTls) => NegotiationStep::StartTls(taken),
                    None => NegotiationStep::Taken(taken),
                }
            }
        }
    }

    /// Answers an option; a result ends the negotiation.
    fn option(
        &mut self,
        option: u32,
        data: &[u8],
        exports: &[ExportInfo],
        out: &mut Vec<u8>,
    ) -> Option<Result<NegotiationResult, End>> {
        let needs_tls = self.tls == Tls::Required && ![option::STARTTLS, option::ABORT].contains(&option);
        match option {
            // EXPORT_NAME has no error reply.
            option::EXPORT_NAME if needs_tls => return Some(Err(End::NoTls)),
            _ if needs_tls => refuse(option, answer::TLS_REQUIRED, "start TLS first", out),
            option::EXPORT_NAME => return Some(self.export_name(data, exports, out)),
            option::ABORT => {
                reply(option, answer::ACK, &[], out);
                return Some(Err(End::Finished));
            }
            option::INFO | option::GO => return self.info(option, data, exports, out).map(Ok),
            option::LIST | option::STRUCTURED_REPLY | option::STARTTLS if !data.is_empty() => invalid(option, out),
            option::LIST => list(exports, out),
            option::STRUCTURED_REPLY => {
                self.structured = true;
                reply(option, answer::ACK, &[], out);
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(option, data, exports, out),
            option::STARTTLS => match self.tls {
                Tls::Absent => refuse(option, answer::UNSUPPORTED, "this server has no TLS", out),
                Tls::On => refuse(option, answer::INVALID, "TLS is on already", out),
                Tls::Required => {
                    reply(option, answer::ACK, &[], out);
                    self.phase = NegotiationPhase::StartingTls;
                }
            },
            _ => refuse(option, answer::UNSUPPORTED, "unknown option", out),
        }
        None
    }

    fn chosen(&self, export: usize) -> NegotiationResult {
        NegotiationResult { export, structured: self.structured, allocation: self.context == Some(export) }
    }

    fn export_name(&self, data: &[u8], exports: &[ExportInfo], out: &mut Vec<u8>) -> Result<NegotiationResult, End> {
        // EXPORT_NAME has no error reply.
        let named = exports.iter().position(|export| export.name.as_bytes() == data).ok_or(End::NoExport)?;
        out.u64(exports[named].capacity.bytes().get());
        out.u16(ExportInfo::flags(self.structured));
        if self.zeroes {
            out.extend([0; 124]);
        }
        Ok(self.chosen(named))
    }

    /// INFO and GO: all facts of an export; GO then chooses it.
    fn info(&self, option: u32, data: &[u8], exports: &[ExportInfo], out: &mut Vec<u8>) -> Option<NegotiationResult> {
        let Some((name, asked)) = info_request(data) else {
            invalid(option, out);
            return None;
        };
        let named = find(name, option, exports, out)?;
        let export = &exports[named];
        let mut fact = |kind: u16, write: &dyn Fn(&mut Vec<u8>)| {
            let mut fact = Vec::new();
            fact.u16(kind);
            write(&mut fact);
            reply(option, answer::INFO, &fact, out);
        };
        fact(info::EXPORT, &|fact| {
            fact.u64(export.capacity.bytes().get());
            fact.u16(ExportInfo::flags(self.structured));
        });
        if asked.contains(&info::NAME) {
            fact(info::NAME, &|fact| fact.extend(export.name.as_bytes()));
        }
        if asked.contains(&info::DESCRIPTION) {
            fact(info::DESCRIPTION, &|fact| fact.extend(export.description.as_bytes()));
        }
        // Sent unasked, too: the smallest block is not the one that clients assume.
        fact(info::BLOCK_SIZE, &|fact| {
            [SECTOR, export.preferred(), LARGEST].into_iter().for_each(|size| fact.u32(size))
        });
        reply(option, answer::ACK, &[], out);
        (option == option::GO).then(|| self.chosen(named))
    }

    /// Answers LIST_META_CONTEXT and SET_META_CONTEXT.
    fn contexts(&mut self, option: u32, data: &[u8], exports: &[ExportInfo], out: &mut Vec<u8>) {
        let set = option == option::SET_META_CONTEXT;
        if set {
            self.context = None;
        }
        if !self.structured {
            return refuse(option, answer::INVALID, "ask for structured replies first", out);
        }
        let Some((name, queries)) = context_request(data) else { return invalid(option, out) };
        let Some(named) = find(name, option, exports, out) else { return };
        // A list without queries asks for all contexts; `base:` stands for all contexts of that name space, in a list
        // only.
        let asks = |query: &&str| *query == ALLOCATION || !set && *query == "base:";
        if queries.iter().any(asks) || !set && queries.is_empty() {
            let mut context = Vec::new();
            // The number has a meaning in SET_META_CONTEXT only.
            context.u32(if set { ALLOCATION_ID } else { 0 });
            context.extend(ALLOCATION.as_bytes());
            reply(option, answer::META_CONTEXT, &context, out);
            if set {
                self.context = Some(named);
            }
        }
        reply(option, answer::ACK, &[], out);
    }
}

/// The name and the kinds of information in the data of INFO and GO.
fn info_request(data: &[u8]) -> Option<(&str, Vec<u16>)> {
    let mut fields = Fields(data);
    let name = fields.name()?;
    let count = fields.u16()?;
    let asked = (0..count).map(|_| fields.u16()).collect::<Option<_>>()?;
    fields.0.is_empty().then_some((name, asked))
}

/// The name of the export and the queries in the data of LIST_META_CONTEXT and SET_META_CONTEXT.
fn context_request(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut fields = Fields(data);
    let name = fields.name()?;
    let count = fields.u32()?;
    let mut queries = Vec::new();
    // The count is not trusted: the data end the loop.
    for _ in 0..count {
        queries.push(fields.name()?);
    }
    fields.0.is_empty().then_some((name, queries))
}

/// The export of this name; if there is none, an error reply is appended to `out`.
fn find(name: &str, option: u32, exports: &[ExportInfo], out: &mut Vec<u8>) -> Option<usize> {
    let found = exports.iter().position(|export| export.name == name);
    if found.is_none() {
        refuse(option, answer::UNKNOWN, "there is no export of this name", out);
    }
    found
}

fn list(exports: &[ExportInfo], out: &mut Vec<u8>) {
    for ExportInfo { name, description, .. } in exports {
        let mut data = Vec::new();
        data.u32(name.len() as u32);
        data.extend(name.as_bytes());
        data.extend(description.as_bytes());
        reply(option::LIST, answer::SERVER, &data, out);
    }
    reply(option::LIST, answer::ACK, &[], out);
}

fn invalid(option: u32, out: &mut Vec<u8>) {
    refuse(option, answer::INVALID, "the option's data are malformed", out);
}

fn refuse(option: u32, why: u32, message: &str, out: &mut Vec<u8>) {
    reply(option, why, message.as_bytes(), out);
}

fn reply(option: u32, kind: u32, data: &[u8], out: &mut Vec<u8>) {
    out.u64(OPTION_REPLY_MAGIC);
    out.u32(option);
    out.u32(kind);
    out.u32(data.len() as u32);
    out.extend(data);
}
