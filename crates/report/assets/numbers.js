// Numbers as text: the same text as the tables have (study::metric::Dimension), and shorter ones for the marks of an axis.
"use strict";

const numbers = (() => {
  // Three significant digits.
  function digits(value) {
    const size = Math.abs(value);
    if (size > 0 && size < 0.009995) {
      // Of smaller numbers three significant digits.
      return value.toFixed(Math.min(Math.max(2 - Math.floor(Math.log10(size)), 4), 15));
    }
    return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.09995 || size === 0 ? 2 : 4);
  }

  const prefixed = (value, unit) => {
    const size = Math.abs(value);
    if (size >= 1e9) return digits(value * 1e-9) + "G" + unit;
    if (size >= 1e6) return digits(value * 1e-6) + "M" + unit;
    return size >= 1e4 ? digits(value * 1e-3) + "k" + unit : digits(value) + unit;
  };

  function time(us) {
    const size = Math.abs(us);
    if (size === 0) return "0";
    if (size >= 1e6) return digits(us * 1e-6) + "s";
    if (size >= 1e3) return digits(us * 1e-3) + "ms";
    return size >= 1 ? digits(us) + "us" : digits(us * 1e3) + "ns";
  }

  const JOULES = [[1, "J"], [1e-3, "mJ"], [1e-6, "uJ"], [1e-9, "nJ"], [1e-12, "pJ"]];
  function energy(joules) {
    const [size, name] = JOULES.find(([size]) => joules >= size) || JOULES[0];
    return (joules / size).toFixed(3).replace(/\.?0+$/, "") + name;
  }

  const SHOW = {
    time,
    rate: (bytes) => prefixed(bytes, "B/s"),
    "per-second": (rate) => prefixed(rate, "/s"),
    energy,
    share: (share) => (share * 100).toFixed(1) + "%",
    count: (value) => prefixed(value, ""),
    plain: digits,
  };

  // A number that is not there is a dash.
  const show = (unit, value) =>
    value === null || value === undefined || Number.isNaN(value) ? "-" : SHOW[unit](value);

  // The text without zeros behind the point: marks of an axis are round numbers.
  const tick = (unit, value) => (value === 0 ? "0" : show(unit, value).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, ""));

  // An axis of nines: 90 %, 99 % and 99.9 % are equally far apart.
  const nines = (share) => -Math.log10(Math.max(1 - share, 1e-9));
  const share = (nines) => 1 - Math.pow(10, -nines);
  function percentile(share) {
    const places = share >= 0.9 ? Math.max(1, Math.ceil(nines(share) - 1)) : 1;
    return String(+(share * 100).toFixed(places)) + "%";
  }

  // The text of a value on this axis: its own number, whatever the scale.
  const on = (axis, value) => (axis.scale === "nines" && value !== null ? percentile(value) : show(axis.unit, value));

  return { show, tick, nines, share, percentile, on };
})();
