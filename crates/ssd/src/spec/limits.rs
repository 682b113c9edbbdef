//! Limits of a description's numbers, where something other than memory bounds them.

use base::fault::Faults;
use base::units::SECTOR;
use flash::backend::Order;
use flash::nand::{DieFailure, Geometry};
use ftl::{DiscardSpec, Site};

use super::Spec;

/// The most requests that the device works on at once: the length of the largest queue of NVM Express.
const QUEUE_DEPTH_MAX: u32 = 1 << 16;

/// The most sectors of one program, with all its planes and pages: the backend has a table of the transfer times by
/// number of sectors.
const PROGRAM_SECTORS_MAX: u64 = 1 << 16;

/// The most bits of a channel.
const WIDTH_MAX: u32 = 8192;

impl Spec {
    /// Checks limits that do not depend on other numbers.
    pub(super) fn check_limits(&self, faults: &mut Faults) {
        if let Some((message, remedy)) = base::fault::wrong_name(&self.name) {
            faults.add("name", message, remedy);
        }
        if self.flash.width > WIDTH_MAX {
            faults.within("flash.width", self.flash.width, 8..=WIDTH_MAX);
        }
        if self.host.queue_depth > QUEUE_DEPTH_MAX {
            faults.within("host.queue-depth", self.host.queue_depth, 1..=QUEUE_DEPTH_MAX);
        }
    }

    /// Checks that the FTL can record discards, if they are durable.
    pub(super) fn check_discards(&self, faults: &mut Faults) {
        if self.ftl.discard != DiscardSpec::default() && !self.ftl.kind.family().records_discards() {
            let message = "this FTL keeps no record of discards on flash";
            faults.add("ftl.discard", message, "leave it out, or set ftl.kind = \"page\"");
        }
    }

    /// Checks that the drive has the dies that are to fail, and that parity can rebuild their data.
    pub(super) fn check_die_failures(&self, geometry: &Geometry, faults: &mut Faults) {
        let path = "flash.faults.dies";
        let dies = geometry.die_count();
        for DieFailure { die, .. } in &self.flash.faults.dies {
            if *die >= dies {
                faults.add(path, format!("die {die} is none of the {dies} dies"), format!("use 0 to {}", dies - 1));
            }
        }
        if !self.flash.faults.dies.is_empty() && !self.ftl.parity {
            let message = "needs ftl.parity: without it nothing is left of the data in a failed die";
            faults.add(
                path,
                message,
                "leave it out, or set ftl.superblock-dies = 4 and ftl.parity = true, for example",
            );
        }
    }

    /// Checks that the FTL can cope with pages that a torn program damages, and that word lines are whole.
    pub(super) fn check_paired_pages(&self, site: &Site<'_>, faults: &mut Faults) {
        let (path, types) = ("flash.paired-pages", site.part.page_types());
        if !self.flash.paired_pages || faults.0.iter().any(|fault| fault.path == path) {
            return;
        }
        let pages = site.part.geometry.pages_per_block;
        if !pages.is_multiple_of(types) {
            let message = format!("a block of {pages} pages is not a whole number of word lines of {types} pages");
            faults.add(path, message, format!("leave it out, or use a multiple of {types} pages"));
        }
        if !self.ftl.kind.family().writes_word_lines() {
            let message = "a power cut would damage pages that this FTL has acknowledged: it writes the pages of a word \
                           line one after another";
            faults.add(path, message, "leave it out, or set ftl.kind = \"page\", which writes whole word lines");
        }
    }

    /// Checks that commands of one block keep their order under every priority.
    pub(super) fn check_order(&self, faults: &mut Faults) {
        self.check_suspend(faults);
        if self.flash.arbitration.commands != Order::CollectionFirst {
            return;
        }
        let path = "flash.arbitration.commands";
        if !self.ftl.kind.family().separates_copies() {
            let message = "this FTL programs copies and host data into one block, in the order in which they come";
            faults.add(path, message, "use \"fifo\" or \"read-first\", or set ftl.kind = \"page\"");
        } else if self.ftl.gc.shared_log {
            let message = "a shared log takes copies and host data in the order in which they come";
            faults.add(path, message, "use \"fifo\" or \"read-first\", or leave ftl.gc.shared-log out");
        }
    }

    /// Checks that copied data is corrected, if reads have errors.
    pub(super) fn check_copies_of_errors(&self, faults: &mut Faults) {
        if self.flash.errors.is_none() {
            return;
        }
        if !self.ftl.kind.family().corrects_reads() {
            let message = "this FTL copies pages inside the flash or works without a decoder, so no read is corrected";
            faults.add("flash.errors", message, "leave it out, or set ftl.kind = \"page\"");
        } else if self.ftl.gc.copy_back {
            let message = "a copy-back passes no decoder, and the errors of its copies would add up";
            faults.add("ftl.gc.copy-back", message, "leave it out, or flash.errors");
        } else if self.ftl.folds_in_planes() {
            let message = "a copy-back passes no decoder, and the errors of its copies would add up";
            faults.add("ftl.slc-cache.fold", message, "leave it out, or flash.errors");
        }
    }

    /// Checks that host writes have priority over copies, if erases are suspended for host writes.
    fn check_suspend(&self, faults: &mut Faults) {
        let writes = self.flash.suspend.is_some_and(|suspend| suspend.writes);
        if writes && (!self.ftl.kind.family().separates_copies() || self.ftl.gc.shared_log) {
            let message = "copies and host data go into one block here, in the order in which they come";
            let remedy = "leave it out, or set ftl.kind = \"page\" without ftl.gc.shared-log";
            faults.add("flash.suspend.writes", message, remedy);
        }
    }

    /// Checks limits that depend on the array.
    pub(super) fn check_against(&self, geometry: &Geometry, one_shot: u32, faults: &mut Faults) {
        let sectors = u64::from(geometry.row_slots()) * u64::from(one_shot) * u64::from(geometry.sectors);
        if sectors > PROGRAM_SECTORS_MAX {
            let message = format!(
                "one program writes {} planes or ganged chips, {one_shot} pages of each: {} in all",
                geometry.stripe,
                SECTOR * sectors
            );
            let path = if self.flash.gang > 1 {
                "flash.gang"
            } else {
                self.flash.dimension("flash.planes", self.flash.planes)
            };
            faults.add(path, message, format!("reduce it: a program holds at most {}", SECTOR * PROGRAM_SECTORS_MAX));
        }
        self.ftl.check_pools(geometry.blocks, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spec;

    /// The faults of a device, each as it is printed.
    fn faults(text: &str) -> Vec<String> {
        let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        spec.resolve().map_or_else(|faults| faults, |_| Vec::new()).iter().map(ToString::to_string).collect()
    }

    fn with(flash: &str, rest: &str) -> Vec<String> {
        let base = "name = 'l'\nflash = { part = 'dirik-2009', pages = 16, planes = 1, ";
        faults(&format!("{base}{flash} }}\n{rest}"))
    }

    const SMALL: &str = "channels = 1, chips = 2, blocks = 32";

    #[test]
    fn a_number_beyond_its_range_is_refused_at_its_key_with_the_range() {
        for (rest, wanted) in [
            ("ftl = { gc = { victim = { policy = 'd-choices', d = 0 } } }", "ftl.gc.victim.d: is 0; use 1 to 4096"),
            (
                "ftl = { gc = { victim = { policy = 'd-choices', d = 4294967295 } } }",
                "ftl.gc.victim.d: is 4294967295; use 1 to 4096",
            ),
            (
                "ftl = { gc = { victim = { policy = 'windowed-greedy', window = 0 } } }",
                "ftl.gc.victim.window: is 0: no superblock would be compared; use 1 or more",
            ),
            (
                "ftl = { gc = { start = 4000000000, stop = 4000000001 } }",
                "ftl.gc.start: is 4000000000, and a pool has 32 superblocks; use 1 to 31",
            ),
            ("ftl = { gc = { parallel = 4294967295 } }", "ftl.gc.parallel: is 4294967295; use 1 to 65536"),
            ("host = { queue-depth = 4294967295 }", "host.queue-depth: is 4294967295; use 1 to 65536"),
            ("buffer = { size = '1KiB' }", "buffer.size: 1KiB is less than a mapping unit of 2KiB; use"),
            (
                "buffer = { size = '8000TiB' }",
                "buffer.size: 8000TiB is more than 2147483647 mapping units; use at most 4TiB",
            ),
            (
                "buffer = { size = '1MiB', low = '60%' }",
                "buffer.low: is 60%, above buffer.high of 50%; use low <= high <= 100%",
            ),
            (
                "buffer = { size = '1MiB', high = '120%' }",
                "buffer.high: is 120% of the buffer; use low <= high <= 100%",
            ),
        ] {
            let found = with(SMALL, rest);
            assert!(found.iter().any(|fault| fault.starts_with(wanted)), "{rest}: {found:?}");
        }
        // The ends of the ranges are valid values.
        for rest in [
            "ftl = { gc = { victim = { policy = 'd-choices', d = 4096 } } }",
            "ftl = { gc = { victim = { policy = 'windowed-greedy', window = 4294967295 } } }",
            "ftl = { gc = { start = 30, stop = 31 } }\nhost = { queue-depth = 65536 }",
        ] {
            let rest = if rest.contains("gc") {
                rest.replacen("ftl = {", "ftl = { over-provisioning = '40%',", 1)
            } else {
                rest.into()
            };
            assert_eq!(with(SMALL, &rest), [""; 0], "{rest}");
        }
    }

    #[test]
    fn a_too_large_array_is_refused_at_the_key_that_made_it_too_large() {
        for (flash, wanted) in [
            (
                "channels = 1, chips = 2, blocks = 4294967295",
                "flash.blocks: the array has 68719476720 pages on each die, and at most",
            ),
            (
                "channels = 4294967295, chips = 2, blocks = 32",
                "flash.channels: the array has 4398046510080 mapping units",
            ),
            ("channels = 2, chips = 4294967295, blocks = 32", "flash.chips: the array has "),
            ("channels = 2, chips = 2, blocks = 32, dies = 4294967295", "flash.dies: the array has "),
            (
                "channels = 2, chips = 2, blocks = 32, gang = 100000",
                "flash.gang: one program writes 100000 planes or ganged",
            ),
            ("channels = 2, chips = 2, size = '16000000TiB'", "flash.size: "),
            (
                "channels = 2, chips = 2, size = '1KiB'",
                "flash.size: 1KiB is less than one block per plane, 128KiB; use at",
            ),
        ] {
            let found = with(flash, "");
            assert!(found.len() == 1 && found[0].starts_with(wanted), "{flash}: {found:?}");
        }
        let found = with("channels = 1, chips = 2, blocks = 4294967295", "");
        assert!(found[0].ends_with("use at most 268435455, or fewer of another dimension"), "{found:?}");
    }

    #[test]
    fn an_array_without_room_is_refused_with_the_size_it_needs() {
        let found = with("channels = 1, chips = 2, blocks = 3", "ftl = { over-provisioning = '50%' }");
        let wanted = "flash.blocks: 3 blocks in each plane leave none for the host: each plane group reserves 3 for \
                      writing and garbage collection; give it at least 5";
        assert_eq!(found, [wanted]);
        // The size of the message is enough.
        assert_eq!(with("channels = 1, chips = 2, blocks = 5", "ftl = { over-provisioning = '80%' }"), [""; 0]);
        for (kind, rest, wanted) in [
            ("bast", "", "flash.blocks: the array has 6 blocks, the log uses 8 and merges reserve 3: none remains"),
            (
                "fast",
                "log = { blocks = 400 }",
                "ftl.log.blocks: the array has 6 blocks, the log uses 400 and merges \
                                                reserve 3",
            ),
            ("chang", "", "flash.blocks: the array has 6 blocks, and the FTL reserves"),
        ] {
            let blocks = if kind == "chang" { 2 } else { 3 };
            let found = with(
                &format!("channels = 1, chips = 2, blocks = {blocks}"),
                &format!("ftl = {{ kind = '{kind}', over-provisioning = '50%', {rest} }}").replace(", }", " }"),
            );
            let wanted = if kind == "chang" { wanted.replace("6 blocks", "4 blocks") } else { wanted.to_owned() };
            assert!(found.iter().any(|fault| fault.starts_with(&wanted)), "{kind}: {found:?}");
            assert!(!found.iter().any(|fault| fault.contains("0B") || fault.contains("100.0")), "{found:?}");
        }
    }

    #[test]
    fn a_name_that_is_no_file_name_is_refused() {
        for (name, wanted) in [
            ("''", "name: is empty; give it one, e.g. "),
            ("'..'", "name: `..` begins with a dot"),
            ("\"a\\u0000b\"", "name: has a control character"),
            ("\"a\\nb\"", "name: has a control character"),
        ] {
            let text = format!("name = {name}\nflash = {{ part = 'dirik-2009', {SMALL} }}\n");
            let found = faults(&text);
            assert!(found.iter().any(|fault| fault.starts_with(wanted)), "{name}: {found:?}");
        }
        let long = format!("name = '{}'\nflash = {{ part = 'dirik-2009', {SMALL} }}\n", "x".repeat(201));
        assert!(faults(&long)[0].starts_with("name: has 201 characters"), "{:?}", faults(&long));
    }

    #[test]
    fn dies_that_fail_exist_and_need_parity() {
        let with = |die: u32, ftl: &str| {
            faults(&format!(
                "name = 'l'\nflash = {{ part = 'dirik-2009', pages = 16, planes = 1, blocks = 40, channels = 2, chips = 2, controllers = 'none', \
                 faults = {{ dies = [{{ die = {die}, at = '1s' }}] }} }}\nftl = {{ over-provisioning = '70%'{ftl} }}"
            ))
        };
        let parity = ", superblock-dies = 4, parity = true";
        assert_eq!(with(3, parity), [""; 0]);
        assert_eq!(with(4, parity), ["flash.faults.dies: die 4 is none of the 4 dies; use 0 to 3"]);
        let needs = "flash.faults.dies: needs ftl.parity: without it nothing is left of the data in a failed die; \
                     leave it out, or set ftl.superblock-dies = 4 and ftl.parity = true, for example";
        assert_eq!(with(0, ""), [needs]);
    }
}
