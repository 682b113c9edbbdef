//! Keys that change nothing in a device's behaviour, each with the reason why descriptions may have them.

/// A key that has no effect on some devices, or on any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exception {
    /// The key, together with the keys in its table.
    pub(crate) key: &'static str,
    /// The devices on which the key has no effect, by name or, with a `*`, by prefix; an empty list means all devices.
    pub(crate) devices: &'static [&'static str],
    /// The reason why the key is accepted although it has no effect.
    pub(crate) reason: &'static str,
}

impl Exception {
    /// Returns true if the exception is about this key, on whatever device.
    pub(crate) fn covers(&self, key: &str) -> bool {
        key.strip_prefix(self.key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Returns true if the exception covers this key on this device.
    pub(crate) fn is_about(&self, device: &str, key: &str) -> bool {
        self.covers(key)
            && (self.devices.is_empty()
                || self
                    .devices
                    .iter()
                    .any(|name| name.strip_suffix('*').map_or(device == *name, |start| device.starts_with(start))))
    }
}

const fn printed(key: &'static str, reason: &'static str) -> Exception {
    Exception { key, devices: &[], reason }
}

const fn on(key: &'static str, devices: &'static [&'static str], reason: &'static str) -> Exception {
    Exception { key, devices, reason }
}

/// Page-mapped drives without an SLC cache.
const WITHOUT_CACHE: [&str; 17] = [
    "page, parity*",
    "page, power*",
    "page, throttle",
    "page, collection*",
    "page, one queue",
    "page, planes*",
    "page, wears*",
    "page, queue*",
    "page, b*",
    "page, suspends*",
    "page, cancels*",
    "page, checkpoints",
    "page, streams*",
    "page, map*",
    "page, pace*",
    "page, placement*",
    "page, Flexible*",
];

/// The reason for a policy that a program registers.
const REGISTERED: &str = "what the program has not registered is refused";

/// The reason for a key that must be equal in all drives of a RAID.
const KIND: &str = "another value is refused, because drives of another kind have this one";

pub(crate) const EXCEPTIONS: &[Exception] = &[
    printed("name", "a name"),
    printed("description", "a description"),
    printed("flash.custom-part.name", "a name"),
    printed("flash.custom-part.like", "a description that is resolved has every value of the part"),
    printed("slc.custom-part.like", "a description that is resolved has every value of the part"),
    printed("raid.kind[].device", "who opens the file writes it out"),
    printed("raid.kind[].set", "who opens the file writes it out"),
    printed("raid.kind[].spec", "a description, whose keys are tried on their own"),
    printed("flash.custom-part.source", "says where the numbers come from"),
    printed("flash.custom-part.cell", "the price, and how many times there may be for kinds of pages"),
    printed("flash.custom-part.cost_per_gib", "the price"),
    printed(
        "flash.custom-part.initial_bad_blocks",
        "what the maker promises; flash.faults.initial-bad-blocks is what happens",
    ),
    on("ftl.version", &["own, *"], REGISTERED),
    on("host.queues", &["raid, two kinds"], KIND),
    on("host.queue", &["raid, two kinds"], KIND),
    on("ftl.map-unit", &["raid, two kinds"], KIND),
    on("ftl.zns.size", &["translation, zns"], "the addresses of zones, which users of a translation do not see"),
    on(
        "flash.custom-part.endurance",
        &["raid, *", "translation, zns"],
        "wear, as long as flash.faults.wear-out is off",
    ),
    on(
        "flash.custom-part.features.copy_back",
        &["raid, *", "translation, zns"],
        "what the part could do: collection copies through the channel",
    ),
    on(
        "ftl.streams.host(oracle).limits[]",
        &["page, streams by oracle"],
        "only a session knows the writes to come: it runs twice",
    ),
    on(
        "flash.custom-part.slc_mode.endurance",
        &["page, SLC cache that*", "page, SLC cache with*"],
        "wear, as long as flash.faults.wear-out is off",
    ),
    on("ftl.slc-cache.streams", &["page, SLC cache that*", "page, SLC cache with*"], "there is one stream"),
    on(
        "ftl.slc-cache.reuse",
        &["page, SLC cache that shrinks", "page, SLC cache with*"],
        "host data do not come back to a cache that has been full",
    ),
    on("flash.custom-part.errors.slc_mode", &["page, bit errors*"], "no block is in SLC mode"),
    on("ftl.refresh.age", &["page, bit errors, refresh by errors"], "its errors are a reason before its age is"),
    on(
        "power.thermal.throttle.style",
        &["page, power states and heat*"],
        "another style has other rates beside it, and one key alone changes",
    ),
    on(
        "power.thermal",
        &["page, power cap", "page, power states that are operational"],
        "a temperature without a throttle is a result",
    ),
    on("power.controller.idle", &["page, power states that are operational"], "energy, and nothing gets hot"),
    on("power.operational[].entry", &["page, power states that are operational"], SELECTED),
    on("power.operational[].exit", &["page, power states that are operational"], SELECTED),
    on("ftl.gc.start", &["page, collection*"], "the idle drive collects before it is low"),
    on("flash.custom-part.slc_mode", &WITHOUT_CACHE, "what the part could do: ftl.slc-cache uses it"),
    on("ftl.map(own).name", &["page, map own*"], REGISTERED),
    on("ftl.map(own).version", &["page, map own*"], REGISTERED),
    on("ftl.map(dftl).evict(own).name", &["page, map dftl, own*"], REGISTERED),
    on("ftl.map(dftl).evict(own).version", &["page, map dftl, own*"], REGISTERED),
    on("ftl.map(cdftl).evict(own).name", &["page, map cdftl, own*"], REGISTERED),
    on("ftl.map(cdftl).evict(own).version", &["page, map cdftl, own*"], REGISTERED),
    on("ftl.map(fmmu).evict(own).name", &["page, map fmmu, own*"], REGISTERED),
    on("ftl.map(fmmu).evict(own).version", &["page, map fmmu, own*"], REGISTERED),
    on("ftl.placement(own).name", &["page, placement by a policy*"], REGISTERED),
    on("ftl.placement(own).version", &["page, placement by a policy*"], REGISTERED),
    on("ftl.gc.pace(own).name", &["page, pace by a policy*"], REGISTERED),
    on("ftl.gc.pace(own).version", &["page, pace by a policy*"], REGISTERED),
    on("ftl.gc.victim(own).name", &["page, planes that*"], REGISTERED),
    on("ftl.gc.victim(own).version", &["page, planes that*"], REGISTERED),
    on("ftl.streams.host(own).name", &["page, streams by a policy*"], REGISTERED),
    on("ftl.streams.host(own).version", &["page, streams by a policy*"], REGISTERED),
    printed("flash.custom-part.electrical", "energy, which is worked out from the counters afterwards"),
    printed("slc.custom-part.name", "a name"),
    printed("slc.custom-part.source", "says where the numbers come from"),
    printed("slc.custom-part.cell", "the price, and how many times there may be for kinds of pages"),
    printed("slc.custom-part.cost_per_gib", "the price"),
    printed("slc.custom-part.slc_mode", "what the part could do: the SLC flash has no cache"),
    printed(
        "slc.custom-part.initial_bad_blocks",
        "what the maker promises; flash.faults.initial-bad-blocks is what happens",
    ),
    printed("slc.custom-part.electrical", "energy, which is worked out from the counters afterwards"),
    on(
        "slc.custom-part.features",
        &["chang*"],
        "what the part could do: the SLC flash is read and programmed page by page",
    ),
    on("slc.custom-part.timing.cache_read_copy", &["chang*"], "what the part could do: it is read page by page"),
    on(
        "slc.custom-part.timing.cache_program_copy",
        &["chang*"],
        "what the part could do: it is programmed page by page",
    ),
    on(
        "host.read-transfer",
        &["hydra*"],
        "a read is one list, which ends as a whole, unless host.chop cuts the request",
    ),
    on("host.chop", &["own, *"], "each mapping unit of a request is a piece of its own"),
    on("ftl.wear.check-every", &["hydra, buffer*"], EVEN),
    on("ftl.wear.threshold", &["hydra, buffer*"], EVEN),
    on("slc.custom-part.endurance", &["chang, chains behind SLC, no throttle"], "printed, as no throttle weighs it"),
    on("slc.custom-part.geometry.dies_per_chip", &[], "its dies work one after another, and count for nothing"),
    on("slc.custom-part.geometry.planes_per_die", &[], "its planes work one after another, and count for nothing"),
    on(
        "ftl.chang.safety-valve",
        &["chang, chains behind SLC"],
        "the throttle keeps the SLC flash from taking a thousand writes",
    ),
    on("ftl.chang.throttle-step", &["chang, pages behind SLC"], "more blocks at a time than the log has"),
    on("slc.custom-part.timing.one_shot", &[], "1, because the log takes a page at a time"),
    on(
        "flash.custom-part.endurance",
        &[
            "page, one queue",
            "page, bit errors*",
            "page, checkpoints",
            "page, pace*",
            "page, SLC cache that*",
            "page, throttle",
            "page, collection*",
            "page, parity*",
            "page, pl*",
            "page, q*",
            "page, suspends at steps",
            "page, cancels erases",
            "page, streams*",
            "page, Flexible*",
            "page, buffer*",
            "page, map*",
            "page, part*",
            "hydra*",
            "bast",
            "fast*",
            "sample*",
            "own, *",
            "chang, plain*",
            "chang, density*",
            "chang, chains behind SLC, no throttle",
        ],
        "printed, as long as flash.faults.wear-out is off and no throttle weighs it",
    ),
    on(
        "flash.custom-part.features.copy_back",
        &["page*", "bast", "fast*", "chang*", "sample*", "own, *"],
        "what the part can do: whoever needs it is refused without it",
    ),
    on("flash.custom-part.features.multi_plane", &["page, planes apart*"], "flash.multi-plane says otherwise"),
    on("flash.custom-part.features.cache_read", NOT_CACHED, NEIGHBOURS),
    on("flash.custom-part.timing.cache_read_copy", NOT_CACHED, NEIGHBOURS),
    on("flash.custom-part.features.cache_program", NOT_CACHED, NEIGHBOURS),
    on("flash.custom-part.timing.cache_program_copy", NOT_CACHED, NEIGHBOURS),
    on("flash.custom-part.features.cache_program", &["page, buffer of units"], ONE_BY_ONE),
    on("flash.custom-part.timing.cache_program_copy", &["page, buffer of units"], ONE_BY_ONE),
    on("flash.custom-part.features.cache_program", FULL_LISTS, SPREAD),
    on("flash.custom-part.timing.cache_program_copy", FULL_LISTS, SPREAD),
    on("flash.custom-part.features.cache_program", &["page, parity*"], SPREAD),
    on("flash.custom-part.timing.cache_program_copy", &["page, parity*"], SPREAD),
    on("ftl.placement", &["page, parity and*"], "its dies form one group"),
    on("ftl.rebuild-rate", &["page, parity in*"], "no die fails"),
    on("ftl.placement(page-round-robin).order", &["page, parity*"], "its two groups of dies have one order"),
    on("flash.custom-part.features.cache_program", &["page, queues"], HELD),
    on("flash.custom-part.timing.cache_program_copy", &["page, queues"], HELD),
    on(
        "flash.arbitration.commands",
        &["page, suspends at steps", "page, queue that suspends nothing", "page, cancels erases"],
        "reads that may suspend go first at the dies under both orders",
    ),
    on("flash.custom-part.features.cache_program", &["sample, zns"], "each of its lists has one program"),
    on("flash.custom-part.timing.cache_program_copy", &["sample, zns"], "each of its lists has one program"),
    on("flash.arbitration.bus", &["bast", "fast*"], "the list of a channel's only unit has the bus to itself"),
    on(
        "ftl.map-unit",
        &["bast", "fast*", "chang*", "sample, block", "own, *"],
        "a page is the only size there is, and what it is without the key",
    ),
    on("ftl.map(dftl).costs(custom).custom.list", &["page, map dftl*"], "all steps are named; DFTL keeps no lists"),
    on("ftl.map(cdftl).costs(custom).custom.list", &["page, map cdftl*"], "all steps are named; CDFTL keeps no lists"),
    on(
        "ftl.map(fmmu).costs(custom).custom.scan",
        &["page, map fmmu*"],
        "all steps are named; FMMU never looks through its cache",
    ),
    on(
        "ftl.map(fmmu).costs(custom).custom.sync",
        &["page, map fmmu*"],
        "all steps are named; FMMU is one unit and waits for no other",
    ),
    on(
        "ftl.map(cdftl).costs(custom).custom.sync",
        &["page, map cdftl*"],
        "all steps are named; one core waits for no other",
    ),
];

const SELECTED: &str =
    "a drive is in one state from the start of a run to its end; a host of a served drive changes it";
const NOT_CACHED: &[&str] = &["hydra*", "chang, plain chains", "chang, density*", "chang, chains*", "own, *"];
const NEIGHBOURS: &str = "what the part can do: no list of this family has pages of a die behind one another";
const HELD: &str = "what the part can do: a channel that is held takes no second page";
const ONE_BY_ONE: &str = "what the part can do: the buffer hands over a program at a time, so a list has no second one";
const FULL_LISTS: &[&str] = &["page, buffer of superblocks", "page, planes that read by themselves"];
const SPREAD: &str = "what the part can do: the programs of a list go to different dies";
const EVEN: &str =
    "behind a buffer merges are so few that implicit levelling keeps all blocks within an erase of each other";
