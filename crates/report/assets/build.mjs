// Bundles the parts of Apache ECharts that the reports use into echarts.min.js: `npm ci && npm run build`.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const { version } = JSON.parse(readFileSync("node_modules/echarts/package.json", "utf8"));
const banner =
  `/*! Apache ECharts ${version} (https://echarts.apache.org), reduced to the parts that Flashloom's reports use.\n` +
  "Apache-2.0, with zrender (BSD-3-Clause) and tslib (0BSD); the licences are in echarts.LICENSE beside this file. */";

await build({
  entryPoints: ["echarts.entry.js"],
  outfile: "echarts.min.js",
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "echarts",
  target: "es2019",
  charset: "ascii",
  legalComments: "none",
  banner: { js: banner },
});

const text = (name) => readFileSync(`node_modules/${name}`, "utf8").replace(/\r\n/g, "\n").trimEnd();
const licences = [
  ["Apache ECharts", ["echarts/NOTICE", "echarts/LICENSE", "echarts/licenses/LICENSE-d3"]],
  ["ZRender, a part of it", ["zrender/LICENSE"]],
  ["tslib, a part of it", ["tslib/LICENSE.txt"]],
];
const all = licences.map(([name, files]) => `${name}\n\n${files.map(text).join("\n\n")}\n`);
writeFileSync("echarts.LICENSE", all.join("\n\n"));
