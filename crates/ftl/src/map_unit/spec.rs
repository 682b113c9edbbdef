//! Map units as a file describes them, and the check of the description. A new map unit is a variant here and its line
//! in [`MapSpec::EVERY`].

use base::fault::{Fault, Faults};
use base::units::{Bytes, Ratio, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::costs::CostSpec;
use super::entry::ENTRY;
use super::evict::EvictSpec;
use super::hmb_spec::HmbSpec;
use super::{OwnMapSpec, SPAN};

/// The most ways of a set: every question tests each of them.
const MOST_WAYS: u32 = 1 << 16;

/// The map: the table or map unit that knows the place of every mapping unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
pub enum MapSpec {
    /// The full map in RAM, which answers at once.
    #[default]
    Ram,
    /// The full map in RAM behind a processor that takes time for each question.
    Table {
        /// Time for a question.
        #[serde(default)]
        service: Span,
    },
    /// No RAM for the map: each question reads a translation page from flash, and each change writes it.
    Uncached {
        /// Processor time for a question, one question after another, beside the time of the flash.
        #[serde(default)]
        service: Span,
    },
    /// One cache of map entries, in software (Gupta, Kim, Urgaonkar: DFTL, ASPLOS 2009).
    Dftl(DftlSpec),
    /// Two levels of cache, in software (Qin, Wang, Liu, Shao: A Two-Level Caching Mechanism for Demand-Based
    /// Page-Level Address Mapping, RTAS 2011).
    Cdftl(CdftlSpec),
    /// Two levels of cache in hardware that never wait for a miss (Woo and Min: FMMU, 2017).
    Fmmu(FmmuSpec),
    /// A map unit of the program that uses this library, with its map in translation pages.
    Own(OwnMapSpec),
}

/// One cache of map entries, in software.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DftlSpec {
    /// Size of the cache (CMT); 1,088 KiB as in Woo and Min, Sec. 5.1.
    pub cmt: Bytes,
    /// Size of a block of the cache.
    pub block: Bytes,
    /// Associativity; 4 in the execution times of Woo and Min, Sec. 5.2.
    pub ways: u32,
    /// The policy by which a block leaves its set for another block.
    #[serde(skip_serializing_if = "EvictSpec::is_default")]
    pub evict: EvictSpec,
    /// Cores; translation page `n` belongs to core `n` modulo this number.
    pub cores: u32,
    /// Questions that a core works on at once; with 1 the core waits for each load. Four cores that wait answer about
    /// 90,000 random reads in a second, and the paper's four cores more than ten times as many (Fig. 11(d)): for the
    /// paper's figures set 128 or more.
    pub outstanding: u32,
    /// One load of a translation page serves all questions that need the page while it is under way. If not, each block
    /// that misses is loaded by itself: DFTL reads a page several times where requests are neighbours (Woo and Min, Sec.
    /// 5.3).
    pub shared_loads: bool,
    /// The most translation pages on their way to flash at once, over all cores. The paper does not limit them; 128 are
    /// as many as its device has chips.
    pub write_buffers: u32,
    /// A cache of translation pages in the host's memory, behind the caches above; none if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hmb: Option<HmbSpec>,
    /// The time that each step takes.
    pub costs: CostSpec,
}

impl DftlSpec {
    /// The configuration of Woo and Min, Sec. 5.1, on one core.
    pub const PUBLISHED: Self = Self {
        cmt: Bytes::new(1_088 << 10),
        block: Bytes::new(64),
        ways: 4,
        evict: EvictSpec::SecondChance,
        cores: 1,
        outstanding: 1,
        shared_loads: false,
        write_buffers: 128,
        hmb: None,
        costs: CostSpec::Published,
    };
}

impl Default for DftlSpec {
    fn default() -> Self {
        Self::PUBLISHED
    }
}

/// Two levels of cache, in software.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CdftlSpec {
    /// Size of the first level, the cached mapping table (CMT); 64 KiB as in Woo and Min, Sec. 5.1.
    pub cmt: Bytes,
    /// Size of a block of the first level.
    pub block: Bytes,
    /// Size of the second level, the cached translation pages (CTP); 1,024 KiB as in Woo and Min, Sec. 5.1. Its block
    /// is a translation page, which has the size of a mapping unit.
    pub ctp: Bytes,
    /// Associativity of both levels; 4 in the execution times of Woo and Min, Sec. 5.2.
    pub ways: u32,
    /// The policy by which a block leaves its set for another block, in both levels.
    #[serde(skip_serializing_if = "EvictSpec::is_default")]
    pub evict: EvictSpec,
    /// Cores; translation page `n` belongs to core `n` modulo this number.
    pub cores: u32,
    /// Questions that a core works on at once; with 1 the core waits for each load. Four cores that wait answer about
    /// 90,000 random reads in a second, and the paper's four cores more than ten times as many (Fig. 11(d)): for the
    /// paper's figures set 128 or more.
    pub outstanding: u32,
    /// The most translation pages on their way to flash at once, over all cores. The paper does not limit them; 128 are
    /// as many as its device has chips.
    pub write_buffers: u32,
    /// A cache of translation pages in the host's memory, behind the caches above; none if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hmb: Option<HmbSpec>,
    /// The time that each step takes.
    pub costs: CostSpec,
}

impl CdftlSpec {
    /// The configuration of Woo and Min, Sec. 5.1, on one core.
    pub const PUBLISHED: Self = Self {
        cmt: Bytes::new(64 << 10),
        block: Bytes::new(64),
        ctp: Bytes::new(1_024 << 10),
        ways: 4,
        evict: EvictSpec::SecondChance,
        cores: 1,
        outstanding: 1,
        write_buffers: 128,
        hmb: None,
        costs: CostSpec::Published,
    };
}

impl Default for CdftlSpec {
    fn default() -> Self {
        Self::PUBLISHED
    }
}

/// Two levels of cache in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FmmuSpec {
    /// Size of the first level, the cached mapping table (CMT); 64 KiB as in Woo and Min, Sec. 5.1.
    pub cmt: Bytes,
    /// Size of a block of the first level; 64 bytes as in Woo and Min, Fig. 6.
    pub block: Bytes,
    /// Size of the second level, the cached translation pages (CTP); 1,024 KiB as in Woo and Min, Sec. 5.1. Its block
    /// is a translation page, which has the size of a mapping unit.
    pub ctp: Bytes,
    /// Associativity of both levels; 4 in the execution times of Woo and Min, Sec. 5.2.
    pub ways: u32,
    /// The policy by which a block leaves its set for another block, in both levels.
    #[serde(skip_serializing_if = "EvictSpec::is_default")]
    pub evict: EvictSpec,
    /// Share of clean blocks of the CMT at which a flush begins (Sec. 4.5). Assumed: the paper gives no number.
    pub low: Ratio,
    /// Share of clean blocks at which a flush ends. Assumed.
    pub high: Ratio,
    /// Blocks flushed between two questions during a flush (Sec. 4.5). Assumed.
    pub batch: u32,
    /// Translation pages, starting with the one registered first, that are compared as victims of a flush. Assumed.
    pub window: u32,
    /// Share of dirty pages in the CTP above which the CTP stores the page that has been dirty longest (Sec. 4.5).
    /// Pages being stored do not count. Assumed.
    pub dirty: Ratio,
    /// The most translation pages that the block manager has taken but not yet programmed (Sec. 4.1). The paper does
    /// not limit them; 128 are as many as its device has chips.
    pub write_buffers: u32,
    /// Turns of responses for each turn of requests (Sec. 4.6). Assumed: the paper says only that responses have more
    /// than one.
    pub responses: u32,
    /// The most requests that wait between CMT and CTP, including those with data in a set's wait queue: at most 17 KiB
    /// of RAM with the published sizes. Assumed.
    pub queue: u32,
    /// Give each set a wait queue: a request that finds no free block in its set waits there, and the requests behind
    /// it continue. The paper says only that the request waits (Sec. 4.4). Assumed, because the paper's 1,165 K random
    /// reads in a second (Sec. 5.3) are out of reach if 512 requests wait in one line for sets of four ways.
    pub set_wait_queue: bool,
    /// A cache of translation pages in the host's memory, behind the caches above; none if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hmb: Option<HmbSpec>,
    /// The time that each step takes.
    pub costs: CostSpec,
}

impl FmmuSpec {
    /// The configuration of Woo and Min, Sec. 5.1.
    pub const PUBLISHED: Self = Self {
        cmt: Bytes::new(64 << 10),
        block: Bytes::new(64),
        ctp: Bytes::new(1_024 << 10),
        ways: 4,
        evict: EvictSpec::SecondChance,
        low: Ratio::new(0.25),
        high: Ratio::new(0.5),
        batch: 4,
        window: 64,
        dirty: Ratio::new(0.25),
        write_buffers: 128,
        responses: 4,
        queue: 256,
        set_wait_queue: true,
        hmb: None,
        costs: CostSpec::Published,
    };
}

impl Default for FmmuSpec {
    fn default() -> Self {
        Self::PUBLISHED
    }
}

/// Caches that fill up on a small device: 16 blocks of entries, and the fewest pages that give every core whole sets.
const SMALL: (Bytes, Bytes) = (Bytes::new(16 * 64), Bytes::new(16 << 10));

impl MapSpec {
    /// Every map unit once, for the conformance suite and the swarm, with parameters that have an effect on a small
    /// device.
    pub const EVERY: [Self; 6] = [
        Self::Ram,
        Self::Table { service: Span::from_us(2) },
        Self::Uncached { service: Span::from_ns(500) },
        Self::Dftl(DftlSpec { cmt: SMALL.0, cores: 2, write_buffers: 4, ..DftlSpec::PUBLISHED }),
        Self::Cdftl(CdftlSpec {
            cmt: SMALL.0,
            ctp: SMALL.1,
            ways: 2,
            cores: 2,
            outstanding: 4,
            write_buffers: 4,
            ..CdftlSpec::PUBLISHED
        }),
        Self::Fmmu(FmmuSpec { cmt: SMALL.0, ctp: SMALL.1, ways: 2, queue: 4, ..FmmuSpec::PUBLISHED }),
    ];

    /// The description, with the versions of a map unit and of an eviction policy that the program has registered.
    #[must_use]
    pub(crate) fn written_out(self) -> Self {
        match self {
            Self::Own(spec) => Self::Own(spec.written_out()),
            Self::Dftl(spec) => Self::Dftl(DftlSpec { evict: spec.evict.written_out(), ..spec }),
            Self::Cdftl(spec) => Self::Cdftl(CdftlSpec { evict: spec.evict.written_out(), ..spec }),
            Self::Fmmu(spec) => Self::Fmmu(FmmuSpec { evict: spec.evict.written_out(), ..spec }),
            Self::Ram | Self::Table { .. } | Self::Uncached { .. } => self,
        }
    }

    /// True if flash holds the map, in translation pages.
    #[must_use]
    pub const fn is_paged(&self) -> bool {
        match self {
            Self::Ram | Self::Table { .. } => false,
            Self::Uncached { .. } | Self::Dftl(_) | Self::Cdftl(_) | Self::Fmmu(_) | Self::Own(_) => true,
        }
    }

    /// The host memory buffer that the drive asks for, if the map unit uses one.
    #[must_use]
    pub const fn hmb(&self) -> Option<&HmbSpec> {
        match self {
            Self::Dftl(spec) => spec.hmb.as_ref(),
            Self::Cdftl(spec) => spec.hmb.as_ref(),
            Self::Fmmu(spec) => spec.hmb.as_ref(),
            Self::Ram | Self::Table { .. } | Self::Uncached { .. } | Self::Own(_) => None,
        }
    }

    /// The faults of a description on a device with mapping units of size `page`, which is also the size of a
    /// translation page.
    #[must_use]
    pub fn faults(&self, page: Bytes) -> Vec<Fault> {
        let mut check = Check { page, faults: Vec::new() };
        if let Some(hmb) = self.hmb() {
            hmb.check(page, &mut check.faults);
        }
        match self {
            Self::Ram | Self::Table { .. } | Self::Uncached { .. } => {}
            Self::Own(spec) => {
                let mut faults = Faults::default();
                spec.check(&mut faults);
                check.faults.extend(faults.0);
            }
            Self::Dftl(spec) => {
                check.cores(spec.cores, spec.outstanding, spec.write_buffers);
                check.block(spec.block);
                check.cache("cmt", spec.cmt, spec.block, spec.ways, spec.cores);
                spec.evict.check(&mut check.faults);
            }
            Self::Cdftl(spec) => {
                check.cores(spec.cores, spec.outstanding, spec.write_buffers);
                check.block(spec.block);
                check.cache("cmt", spec.cmt, spec.block, spec.ways, spec.cores);
                spec.evict.check(&mut check.faults);
                check.cache("ctp", spec.ctp, page, spec.ways, spec.cores);
            }
            Self::Fmmu(spec) => {
                check.cores(1, 1, spec.write_buffers);
                check.block(spec.block);
                check.cache("cmt", spec.cmt, spec.block, spec.ways, 1);
                spec.evict.check(&mut check.faults);
                check.cache("ctp", spec.ctp, page, spec.ways, 1);
                let above = [("batch", spec.batch), ("window", spec.window)];
                let above = above.into_iter().chain([("responses", spec.responses), ("queue", spec.queue)]);
                above.for_each(|(key, value)| check.positive(key, value));
                check.demand(spec.low.get() < spec.high.get(), "low", "is not below `high`", "lower it");
                check.demand(spec.high.get() <= 1.0, "high", "is more than the whole cache", "set at most 100%");
                check.demand(spec.dirty.get() < 1.0, "dirty", "leaves no page clean", "set less than 100%");
            }
        }
        check.faults
    }
}

struct Check {
    page: Bytes,
    faults: Vec<Fault>,
}

impl Check {
    fn demand(&mut self, holds: bool, key: &str, message: impl Into<String>, remedy: impl Into<String>) {
        if !holds {
            self.faults.push(Fault::new(format!("ftl.map.{key}"), message, remedy));
        }
    }

    fn positive(&mut self, key: &str, value: u32) {
        self.demand(value > 0, key, "is 0", "set at least 1");
    }

    fn cores(&mut self, cores: u32, outstanding: u32, buffers: u32) {
        self.demand((1..=64).contains(&cores), "cores", format!("is {cores}"), "set 1 to 64");
        self.demand((1..=4096).contains(&outstanding), "outstanding", format!("is {outstanding}"), "set 1 to 4096");
        let enough = buffers >= cores && buffers <= 1 << 16;
        self.demand(enough, "write-buffers", format!("is {buffers}"), "set at least one for each core, at most 65536");
    }

    fn block(&mut self, block: Bytes) {
        let least = u64::from(SPAN) * ENTRY;
        let whole = block.get() > 0 && block.get().is_multiple_of(least) && self.page.get().is_multiple_of(block.get());
        let message = format!("a block of {block} does not divide a translation page of {}", self.page);
        self.demand(whole, "block", message, format!("set a divisor of it that is a multiple of {least}B"));
    }

    fn cache(&mut self, key: &str, size: Bytes, block: Bytes, ways: u32, cores: u32) {
        if ways == 0 || cores == 0 || block.is_zero() {
            self.demand(ways > 0 || key != "cmt", "ways", "is 0", "set at least 1");
            return;
        }
        // Every core needs whole sets of its own.
        let fits_set = ways <= MOST_WAYS;
        self.demand(fits_set || key != "cmt", "ways", format!("is {ways}"), format!("set 1 to {MOST_WAYS}"));
        if !fits_set {
            return;
        }
        let step = block.get().saturating_mul(u64::from(ways)).saturating_mul(u64::from(cores));
        let whole = !size.is_zero() && size.get().is_multiple_of(step);
        let message =
            format!("{size} is not a whole number of sets of {ways} blocks of {block} on each of {cores} cores");
        self.demand(
            whole,
            key,
            message,
            format!("set a multiple of {}, or change `ways` or `block`", Bytes::new(step)),
        );
        let fits = size.get() / block.get() < 1 << 28;
        self.demand(fits, key, "has 2^28 blocks or more", "use a smaller cache or larger blocks");
    }
}
