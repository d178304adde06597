// A browser, a viewer, and checks that have a deadline each.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { once } from "node:events";
import { join } from "node:path";

const require = createRequire(join(process.env.WEB_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = require("@axe-core/playwright");
const Axe = axe.default ?? axe;

export const binary = process.env.BINARY;
export const work = process.env.WORK;
/// ASSETS=FOLDER shows the page from the disk, for work on it.
export const assetFlags = process.env.ASSETS ? ["--assets", process.env.ASSETS] : [];
const CHECK_MS = 120_000;
const failures = [];

export function assert(holds, words) {
  if (!holds) throw new Error(words);
}

export async function check(name, run, limitMs = CHECK_MS) {
  const began = performance.now();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${limitMs} ms`)), limitMs);
  });
  try {
    const told = await Promise.race([run(), late]);
    console.log(`ok    ${name}${told ? `: ${told}` : ""} (${Math.round(performance.now() - began)} ms)`);
  } catch (error) {
    failures.push(name);
    console.log(`FAIL  ${name}: ${error.stack || error}`);
  } finally {
    clearTimeout(timer);
  }
}

export function finish() {
  console.log(
    failures.length ? `${failures.length} failed: ${failures.join("; ")}` : "all checks of the page hold",
  );
  process.exit(failures.length ? 1 : 0);
}

export function launch(...more) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}

/// Starts a command that prints the address of the viewer, and ends its whole group at the end.
export async function startViewer(command, options = {}) {
  const child = spawn(command[0], command.slice(1), {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...options,
  });
  let told = "";
  const address = new Promise((found, lost) => {
    const look = (bytes) => {
      told += bytes;
      const match = /http:\/\/127\.0\.0\.1:(\d+)\/#token=([0-9a-f]+)/.exec(told);
      if (match)
        found({
          url: match[0],
          base: `http://127.0.0.1:${match[1]}`,
          port: Number(match[1]),
          token: match[2],
        });
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.on("exit", () => lost(new Error(`the viewer ended: ${told}`)));
    setTimeout(() => lost(new Error(`no address after 60 s: ${told}`)), 60_000).unref();
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    process.kill(-child.pid, "SIGTERM");
    const timer = setTimeout(() => {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        /* it is gone */
      }
    }, 10_000);
    await gone;
    clearTimeout(timer);
  };
  try {
    return { ...(await address), stop, log: () => told };
  } catch (error) {
    await stop();
    throw error;
  }
}

/// A page that has taken the token. `faults` collects what the console says is wrong.
export async function openPage(browser, viewer, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    reducedMotion: "reduce",
    ...options,
  });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  if (viewer) {
    await page.goto(viewer.url);
    await page.waitForSelector("h1");
  }
  return {
    context,
    page,
    faults,
    go: async (route, wanted) => {
      await page.goto(`${viewer.base}/${route}`);
      if (wanted) await page.waitForSelector(wanted);
    },
  };
}

export async function assertAccessible(page, where) {
  const { violations } = await new Axe({ page }).analyze();
  assert(
    !violations.length,
    `axe, ${where}: ${violations.map((one) => `${one.id} (${one.nodes.length}): ${one.nodes[0].html.slice(0, 160)} ${one.nodes[0].failureSummary}`).join("\n")}`,
  );
}

export async function assertNoSideScroll(page, where) {
  const [wide, most] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (wide <= most) return;
  const by = await page.evaluate(() =>
    [...document.querySelectorAll("body *")]
      .filter(
        (node) => node.getBoundingClientRect().right > innerWidth + 1 && !node.closest(".scroll, .tabs, pre"),
      )
      .slice(0, 4)
      .map((node) => `${node.tagName}.${node.className}`),
  );
  throw new Error(`${where}: ${wide} px wide at ${most}: ${by.join(", ")}`);
}

export async function getJson(viewer, path) {
  const response = await fetch(`${viewer.base}${path}`, {
    headers: { authorization: `Bearer ${viewer.token}` },
  });
  assert(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}
