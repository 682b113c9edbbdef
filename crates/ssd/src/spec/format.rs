//! The format of a drive: the keys that decide where it keeps data on flash. A drive must agree in them with the
//! drive whose flash it takes over. The others (queues, link, buffer, collection, times, faults) may differ.

use flash::nand::Geometry;

use ftl::Config;

use super::Resolved;

impl Resolved {
    /// The keys of the format, and their values.
    #[must_use]
    pub fn format(&self) -> Vec<(&'static str, String)> {
        let g = &self.geometry;
        let mut keys = vec![("ftl.kind", self.ftl.kind.name().to_owned())];
        let mut say = |key, value: &dyn std::fmt::Display| keys.push((key, value.to_string()));
        let Geometry { channels, chips, dies, planes, stripe, blocks, pages, .. } = *g;
        for (key, value) in [
            ("flash.channels", channels),
            ("flash.chips", chips),
            ("flash.dies", dies),
            ("flash.planes (chips of a gang counted)", planes),
            ("flash.multi-plane (planes at once)", stripe),
            ("flash.blocks", blocks),
            ("flash.pages", pages),
            ("bytes of a page", g.slots * g.sectors * 512),
            ("bytes of a mapping unit", g.sectors * 512),
            ("pages of a one-shot program", self.backend.timing.one_shot),
        ] {
            say(key, &value);
        }
        say("sectors the host sees", &self.capacity().get());
        self.family.format(&mut say);
        keys
    }
}
