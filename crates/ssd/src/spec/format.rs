//! What decides where on flash a drive keeps what: the keys in which a drive must agree with one whose flash it takes over.
//! The others (queues, link, buffer, collection, times, faults) may differ.

use flash::nand::Geometry;

use super::{FlushPolicy, FtlKind, Resolved};
use crate::{DensitySpec, Striping};

impl Resolved {
    /// The keys that decide what is where on flash, and their values.
    #[must_use]
    pub fn format(&self) -> Vec<(&'static str, String)> {
        let (ftl, g) = (&self.ftl, &self.geometry);
        let mut keys = vec![("ftl.kind", self.kind_name().to_owned())];
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
        match ftl.kind {
            FtlKind::Page => {
                let kept = if self.map_pages.count > 0 { "on flash, in translation pages" } else { "in RAM" };
                say("ftl.map", &kept);
            }
            FtlKind::Hydra => self.hydra_format(&mut say),
            FtlKind::Bast | FtlKind::Fast => {
                say("ftl.log.blocks", &ftl.log.blocks);
                let striping = match ftl.log.striping {
                    Striping::Block => "block",
                    Striping::Page => "page",
                };
                say("ftl.log.striping", &striping);
                say("ftl.log.parallel", &ftl.log.parallel);
            }
            FtlKind::Chang => self.chang_format(&mut say),
        }
        keys
    }

    /// The family as a description names it.
    const fn kind_name(&self) -> &'static str {
        match self.ftl.kind {
            FtlKind::Page => "page",
            FtlKind::Hydra => "hydra",
            FtlKind::Bast => "bast",
            FtlKind::Fast => "fast",
            FtlKind::Chang => "chang",
        }
    }

    fn hydra_format(&self, say: &mut dyn FnMut(&'static str, &dyn std::fmt::Display)) {
        let Some(hydra) = &self.hydra else { return };
        say("flash.gang", &hydra.layout.buses);
        say("ftl.hydra.chips", &hydra.chips());
        say("ftl.hydra.spare-blocks", &hydra.layout.spares);
        say("ftl.hydra.replicate", &self.ftl.hydra.as_ref().is_some_and(|hydra| hydra.replicate));
        let logs = self.buffer.filter(|buffer| buffer.flush == FlushPolicy::Log);
        say("buffer.flush", &if logs.is_some() { "log" } else { "no log" });
        say("ftl.hydra (blocks of a die that hold data)", &hydra.data_blocks());
    }

    fn chang_format(&self, say: &mut dyn FnMut(&'static str, &dyn std::fmt::Display)) {
        let chang = self.ftl.chang.clone().unwrap_or_default();
        say("ftl.chang.mapping", &format!("{:?}", chang.mapping).to_lowercase());
        let extra = chang.density.map_or("none".to_owned(), |DensitySpec { extra, .. }| extra.to_string());
        say("ftl.chang.density", &extra);
        let Some(second) = &self.second else { return say("slc", &"none") };
        let g = &second.geometry;
        say("slc.blocks", &g.blocks);
        say("slc.pages", &g.pages);
        say("slc (bytes of a page)", &(g.slots * g.sectors * 512));
        let entries = chang.hash_entries.map_or("half the pages of the SLC flash".to_owned(), |n| n.to_string());
        say("ftl.chang.hash-entries", &entries);
        say("ftl.chang.probing", &format!("{:?}", chang.probing).to_lowercase());
        say("ftl.chang.probes", &chang.probes);
    }
}
