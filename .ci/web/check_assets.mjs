// What the page's files promise: they can be put into one script, parse no text as markup, and stay small.
//
//   node .ci/web/check_assets.mjs crates/web/assets
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const BYTES_MAX = 60_000;
const folder = process.argv[2];
const read = (name) => readFileSync(join(folder, name), "utf8");
const order = read("order.txt").trim().split("\n");
const faults = [];

const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
for (const name of scripts) if (!order.includes(name)) faults.push(`${name} is not in order.txt`);

const owners = new Map();
let bundle = "";
for (const [place, name] of order.entries()) {
  const exported = new Set();
  read(name)
    .split("\n")
    .forEach((line, index) => {
      const at = `${name}:${index + 1}`;
      if (
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser/.test(
          line,
        )
      )
        faults.push(`${at}: parses text as markup or code`);
      if (/https?:\/\/(?!www\.w3\.org)/.test(line) && !/https?:\/\/["']/.test(line))
        faults.push(`${at}: names an address outside`);
      const brought = /^import \{ (.*) \} from "\.\/(.*)";$/.exec(line);
      if (/^import/.test(line)) {
        if (!brought) faults.push(`${at}: an import is one line, with names`);
        else if (order.indexOf(brought[2]) < 0 || order.indexOf(brought[2]) >= place)
          faults.push(`${at}: ${brought[2]} must stand before it in order.txt`);
        else
          for (const wanted of brought[1].split(", ")) {
            const owner = owners.get(wanted);
            if (!owner || owner.name !== brought[2] || !owner.isExported)
              faults.push(`${at}: ${brought[2]} exports no ${wanted}`);
            if (!new RegExp(`\\b${wanted}\\b`).test(read(name).replace(/^import.*$/gm, "")))
              faults.push(`${at}: ${wanted} is not used`);
          }
        return;
      }
      const made = /^(export )?(?:async )?(?:function|const|let|class) (\w+)/.exec(line);
      if (made) {
        if (owners.has(made[2])) faults.push(`${at}: ${made[2]} is also in ${owners.get(made[2]).name}`);
        owners.set(made[2], { name, isExported: Boolean(made[1]) });
        if (made[1]) exported.add(made[2]);
      }
      bundle += `${line.replace(/^export /, "")}\n`;
    });
}
// Colours are found by expressions: no text may take them long, since it may come from anybody.
const colours = read("highlight.js").replace(/^import .*$/gm, "").replace(/^export /gm, "");
const { codePieces, LANGUAGES } = new Function("h", `${colours}; return { codePieces, LANGUAGES };`)();
for (const names of Object.values(LANGUAGES)) {
  const language = names.split(" ")[0];
  for (const part of ["-", "a", "aB1_", "1_", "1e", "k-", "a:", 'r#"', '."', '"', "'", "`", "\\", "/*", "<!--", "${", " ", "- "]) {
    const before = process.cpuUsage();
    codePieces(part.repeat(20_000 / part.length), language);
    const { user, system } = process.cpuUsage(before);
    const millis = (user + system) / 1000;
    if (millis > 150) faults.push(`highlight.js: ${language} takes ${millis} ms for a run of ${part}`);
  }
}

const file = join(mkdtempSync(join(tmpdir(), "windlass-assets-")), "app.mjs");
writeFileSync(file, bundle);
try {
  execFileSync(process.execPath, ["--check", file]);
} catch (error) {
  faults.push(String(error.stderr));
}

const size = [
  Buffer.from(bundle),
  ...["index.html", "style.css", "icon.svg"].map((name) => readFileSync(join(folder, name))),
].reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0);
if (size > BYTES_MAX) faults.push(`${size} bytes compressed, at most ${BYTES_MAX}`);
console.log(`assets: ${order.length} scripts, ${size} bytes compressed`);
for (const fault of faults) console.error(fault);
process.exit(faults.length ? 1 : 0);
