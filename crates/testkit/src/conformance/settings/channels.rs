//! Settings of rules for commands and data on a channel and for the registers of a die.

use flash::backend::{BusOrder, Completion, Controllers, Order};

use super::{Book, set_planes};

impl Book {
    pub(super) fn channels(&mut self) {
        self.add("cache mode across lists, deep queue", |spec| {
            (spec.host.queue_depth, spec.flash.cache_across_lists, spec.flash.controllers) =
                (32, true, Controllers::None);
        });
        self.part("cache mode across lists", |part, flash| {
            part.timing.cache_program_copy = "3us".parse().expect("a time");
            (flash.cache_across_lists, flash.controllers) = (true, Controllers::None);
        });
        self.part("cache mode across lists, units Background(2), reads first", |part, flash| {
            part.bus.command = "200ns".parse().expect("a time");
            (flash.cache_across_lists, flash.controllers) = (true, Controllers::Background(2));
            (flash.arbitration.commands, flash.arbitration.bus) = (Order::ReadFirst, BusOrder::ReadFirst);
            (flash.channels, flash.chips) = (1, 2);
        });
        for bus in BusOrder::EVERY {
            for between_pages in [true, false] {
                let how = if between_pages { "page by page" } else { "in one piece" };
                self.part(&format!("programs of 6 pages {how}, bus {bus:?}"), |part, flash| {
                    (part.timing.one_shot, part.geometry.pages_per_block) = (3, 6);
                    set_planes(part, 2);
                    (flash.arbitration.bus, flash.controllers) = (bus, Controllers::None);
                    flash.arbitration.between_pages = between_pages;
                    (flash.channels, flash.chips) = (1, 2);
                });
            }
        }
        for completion in [Completion::ReadyBusy, Completion::Polling("9us".parse().expect("a time"))] {
            for across in [false, true] {
                self.part(&format!("cycles of each page, {completion:?}, across lists: {across}"), |part, flash| {
                    let time = |text: &str| text.parse().expect("a time");
                    (part.bus.command, part.bus.change_column, part.bus.t_ccs) =
                        (time("200ns"), time("150ns"), time("500ns"));
                    (part.bus.t_adl, part.bus.t_rhw, part.bus.t_wb) = (time("400ns"), time("100ns"), time("90ns"));
                    part.bus.status = time("130ns");
                    set_planes(part, 2);
                    (flash.completion, flash.cache_across_lists) = (completion, across);
                    (flash.controllers, flash.channels, flash.chips) = (Controllers::None, 1, 2);
                });
            }
        }
    }
}
