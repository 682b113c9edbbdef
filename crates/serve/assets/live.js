// The live page: takes server-sent events and keeps everything up to date.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const system = matchMedia("(prefers-color-scheme: dark)");
  const choose = () => (document.documentElement.dataset.theme = system.matches ? "dark" : "light");
  choose();
  system.addEventListener("change", choose);

  // The token is in the part of the address that is sent to nobody.
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  const BUTTONS = ["cut", "off", "on"];

  let points = [];
  let frame = null;
  let causes = [];
  // Seconds before the last point under the pointer.
  let pointed = null;

  const TILES = [
    ["reads", (f) => lines.shown("per-second", f.point.reads_per_s), (f) => lines.shown("count", f.total.reads) + " in all"],
    ["writes", (f) => lines.shown("per-second", f.point.writes_per_s), (f) => lines.shown("count", f.total.writes) + " in all"],
    ["read data", (f) => lines.shown("rate", f.point.read_bytes_per_s), (f) => numbers.show("rate", f.total.read_bytes).replace("/s", "") + " in all"],
    ["written data", (f) => lines.shown("rate", f.point.write_bytes_per_s), (f) => numbers.show("rate", f.total.write_bytes).replace("/s", "") + " in all"],
    ["99 % of reads within", (f) => time(f.point.read, "p99"), (f) => "half within " + time(f.point.read, "p50")],
    ["99 % of writes within", (f) => time(f.point.write, "p99"), (f) => "half within " + time(f.point.write, "p50")],
    ["requests under way", (f) => String(f.point.outstanding), (f) => `${f.clients} ${f.clients === 1 ? "connection" : "connections"}, ${f.total.failed} failed`],
    ["write amplification", (f) => numbers.show("plain", f.point.write_amplification), (f) => numbers.show("plain", f.total.write_amplification) + " since the start"],
    ["free blocks", (f) => String(f.point.free_blocks), (f) => `${f.bad_blocks} bad`],
    ["99 % late by up to", (f) => time(f.point.lag, "p99"), (f) => (f.point.late_share === null ? "no answer was due" : numbers.show("share", f.point.late_share) + " late by over 5 %")],
    ["drives that work", (f) => f.raid && `${f.raid.drives.length - f.raid.failed} of ${f.raid.drives.length}`, (f) => f.raid && rebuilds(f.raid)],
    ["free zones", (f) => f.translation && `${f.translation.free_zones} of ${f.translation.zones}`, (f) => f.translation && (f.translation.mounting ? "the map is being read" : `${f.translation.collected_zones} collected`)],
    ["health", (f) => faults(f.health)[0] || "no fault", (f) => [...faults(f.health).slice(1), verified(f.health)].join(", ")],
  ];
  // What a RAID does beside the requests of clients.
  function rebuilds({ drives, repaired, empty_places }) {
    const share = (of) => numbers.show("share", of);
    const works = drives.flatMap(({ rebuilt }, number) => (rebuilt === undefined ? [] : `drive ${number} rebuilt: ${share(rebuilt)}`));
    if (repaired !== undefined) works.push(`repaired: ${share(repaired)}`);
    if (empty_places) works.push(`${empty_places} missing`);
    return works.join(", ") || "nothing to rebuild";
  }
  const time = (of, which) => numbers.show("time", of ? of[which] : null);
  // What is wrong with the drive, the worst first.
  function faults({ verified, damaged_reads, uncorrectable_requests, read_only }) {
    const many = (count, one, more) => count && `${lines.shown("count", count)} ${count === 1 ? one : more}`;
    return [
      verified && many(verified.violations, "violation", "violations"),
      many(damaged_reads, "damaged read", "damaged reads"),
      many(uncorrectable_requests, "unreadable", "unreadable"),
      read_only && "read-only",
    ].filter(Boolean);
  }
  const verified = ({ verified }) => (verified ? lines.shown("count", verified.sectors) + " sectors verified" : "not verified");

  const tiles = TILES.map(([name, value, more]) => {
    const tile = document.createElement("div");
    const [head, number, rest] = ["dt", "dd", "dd"].map((kind) => document.createElement(kind));
    head.textContent = name;
    rest.className = "more";
    tile.append(head, number, rest);
    byId("tiles").append(tile);
    return (frame) => {
      const shown = value(frame);
      // Only some devices have it.
      tile.hidden = shown === null || shown === undefined;
      number.textContent = shown;
      rest.textContent = more(frame);
    };
  });

  function figure(heading, note) {
    const made = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const [title, text] = [document.createElement("h2"), document.createElement("p")];
    title.textContent = heading;
    text.textContent = note;
    caption.append(title, text);
    made.append(caption);
    byId("figures").append(made);
    return { made, text };
  }

  const percentiles = (of) => [["half within", "p50", "--c0", ""], ["99 %", "p99", "--c1", "6 3"], ["99.9 %", "p99_9", "--c2", "2 3"]].map(
    ([name, which, colour, dash]) => ({ name, colour, dash, of: (point) => (point[of] ? point[of][which] : null) }),
  );
  const plain = (name, which, colour, dash) => ({ name, colour, dash, of: (point) => point[which] });
  const charts = [];
  function over(heading, note, options) {
    const chart = lines.chart(figure(heading, note).made, { label: heading + ", over the last two minutes", ...options });
    charts.push(chart);
    chart.place.addEventListener("pointermove", (event) => {
      pointed = chart.ago(event);
      drawLines();
    });
    chart.place.addEventListener("pointerleave", () => {
      pointed = null;
      drawLines();
    });
    return chart;
  }

  over("Requests", "Answered in a second of the wall clock", {
    unit: "per-second", least: 10,
    series: [plain("reads", "reads_per_s", "--c0"), plain("writes", "writes_per_s", "--c1", "6 3"), plain("others", "others_per_s", "--c7", "2 3")],
  });
  over("Data", "Moved in a second of the wall clock", {
    unit: "rate", least: 1e4, series: [plain("read", "read_bytes_per_s", "--c0"), plain("written", "write_bytes_per_s", "--c1", "6 3")],
  });
  over("Latency of reads", "Simulated time from submission to answer", { unit: "time", scale: "log", series: percentiles("read") });
  over("Latency of writes", "Simulated time from submission to answer", { unit: "time", scale: "log", series: percentiles("write") });
  const COLOURS = ["--c0", "--c1", "--c3", "--c6", "--c7", "--c4", "--c2", "--c5", "--bad"];
  const work = figure("Where the dies' time goes", "The share of their time that dies work, by cause");
  const array = figure("Busy dies", "A row for each channel; the stronger its colour, the longer a die worked");
  const dies = maps.dies(array.made);
  const bars = maps.bars(figure("Busy parts", "The share of its time in which each part of the drive works").made);
  over("Queue", "Requests of clients without an answer", { unit: "whole", least: 4, series: [plain("requests", "outstanding", "--c0")] });
  over("Write amplification", "Mapping units programmed for each that clients wrote, over five seconds", {
    unit: "plain", least: 1, series: [plain("amplification", "write_amplification", "--c3")],
  });
  over("Free blocks", "Blocks that the FTL can erase or write without copying first", {
    unit: "whole", least: 10, series: [plain("blocks", "free_blocks", "--c2")],
  });
  const placed = figure("Reclaim unit handles", "How much of its reclaim unit each handle has written");
  // Only drives with Flexible Data Placement have handles.
  placed.made.hidden = true;
  const handles = maps.bars(placed.made);
  const zoned = figure("Zones", "Each zone by its state");
  // Only some drives have zones.
  zoned.made.hidden = true;
  const zones = maps.zones(zoned.made, zoned.text);
  const worn = figure("Wear", "Blocks by their number of erases");
  const wear = maps.wear(worn.made, worn.text);
  over("Lag", "How late answers are on the wall clock; none at the pace max", { unit: "time", scale: "log", series: percentiles("lag") });

  function drawLines() {
    const last = points[points.length - 1] || null;
    const at = last && pointed !== null ? last.t - pointed : null;
    const near = (best, point) => (Math.abs(point.t - at) < Math.abs(best.t - at) ? point : best);
    const seen = at === null ? last : points.reduce(near, last);
    charts.forEach((chart) => chart.draw(points, seen, at !== null));
  }

  function drawAll() {
    if (!frame) return;
    tiles.forEach((tile) => tile(frame));
    drawLines();
    dies.draw(frame.arrays);
    bars.draw(frame.busy);
    placed.made.hidden = !frame.handles.length;
    handles.draw(frame.handles);
    const many = frame.power_cuts === 1 ? "1 power cut" : `${frame.power_cuts} power cuts`;
    const up = frame.point.t < 90 ? `${frame.point.t.toFixed(0)} s` : `${(frame.point.t / 60).toFixed(0)} min`;
    byId("about").textContent =
      `${frame.size}, pace ${frame.pace}, up ${up}, ${frame.simulated_s.toFixed(1)} s simulated, ${many}` +
      (frame.lost_writes ? "; writes were lost, so flushes fail until it is switched off in order" : "");
    state(frame.is_on ? "on" : "off", frame.is_on ? "The power is on" : "The power is off");
    byId("cut").disabled = byId("off").disabled = !token || !frame.is_on;
    byId("on").disabled = !token || frame.is_on;
  }

  function state(name, text) {
    const place = byId("state");
    place.dataset.state = name;
    if (place.textContent !== text) place.textContent = text;
  }

  let newest = 0;
  function tell(incidents) {
    const list = byId("incidents");
    for (const { number, at_ms, kind, text } of incidents) {
      if (number <= newest) continue;
      newest = number;
      const item = document.createElement("li");
      item.dataset.kind = kind;
      const [when, what, words] = ["time", "span", "span"].map((of) => document.createElement(of));
      const at = new Date(at_ms);
      when.dateTime = at.toISOString();
      when.textContent = at.toTimeString().slice(0, 8);
      what.className = "kind";
      what.textContent = kind;
      words.className = "text";
      words.textContent = text;
      item.append(when, what, words);
      list.prepend(item);
    }
    while (list.children.length > 100) list.lastChild.remove();
  }

  function size(bytes) {
    const [unit, name] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"]].find(([unit]) => bytes >= unit) || [1024, "KiB"];
    return `${+(bytes / unit).toFixed(2)} ${name}`;
  }

  let about = { size: "" };
  const events = new EventSource("/events");
  events.addEventListener("hello", (event) => {
    const hello = JSON.parse(event.data);
    about = { size: size(hello.capacity_bytes) };
    document.title = hello.device + ", served by Flashloom";
    byId("device").textContent = hello.device;
    if (!causes.length) {
      causes = hello.causes;
      const series = causes.map((name, i) => ({ name, colour: COLOURS[i], of: (point) => point.die_time[i] }));
      charts.push(lines.chart(work.made, { label: "Where the dies' time goes", unit: "share", stacked: true, series }));
    }
    // Another server counts from 1 again.
    newest = 0;
    byId("incidents").replaceChildren();
    tell(hello.incidents);
  });
  events.addEventListener("past", (event) => {
    points = JSON.parse(event.data);
    drawLines();
  });
  events.addEventListener("wear", (event) => wear.draw(JSON.parse(event.data)));
  events.addEventListener("zones", (event) => {
    zoned.made.hidden = false;
    zones.draw(JSON.parse(event.data));
  });
  events.addEventListener("frame", (event) => {
    frame = { ...JSON.parse(event.data), ...about };
    points.push(frame.point);
    while (points.length && points[0].t < frame.point.t - lines.SECONDS) points.shift();
    tell(frame.incidents);
    drawAll();
  });
  events.addEventListener("error", () => {
    state("lost", "Not connected");
    BUTTONS.forEach((id) => (byId(id).disabled = true));
  });
  addEventListener("resize", () => {
    drawAll();
    wear.draw();
    zones.draw();
  });

  function say(text, bad) {
    byId("said").textContent = text;
    byId("said").className = bad ? "bad" : "";
  }
  if (!token) say("To cut the power from here, open the address that flashloom serve has printed.", false);
  BUTTONS.forEach((id) =>
    byId(id).addEventListener("click", async () => {
      try {
        const reply = await fetch("/power/" + id, { method: "POST", headers: { "X-Flashloom-Token": token } });
        const answer = await reply.json();
        const { message, notes = [] } = answer.done || answer.refused;
        say([message, ...notes].join("; "), !answer.done);
      } catch {
        say("There was no answer; is the drive still served?", true);
      }
    }),
  );
})();
