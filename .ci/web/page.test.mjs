// All checks of the page, in a real browser, on sessions that the real binary made. Started by `.ci/web/run`.
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, assetFlags, binary, finish, getJson, launch, startViewer, work } from "./harness.mjs";
import { checkViews } from "./views.mjs";
import { checkRules } from "./rules.mjs";
import { checkSafety } from "./safety.mjs";
import { checkExport } from "./exported.mjs";
import { checkActing } from "./acting.mjs";
import { checkSpeed } from "./speed.mjs";
import { takePictures } from "./pictures.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const only = (process.env.ONLY || "").split(",").filter(Boolean);
const wants = (part) => !only.length || only.includes(part);

const browser = await launch();
const viewer = await startViewer([binary, "view", "--no-open", ...assetFlags], { cwd: work });
try {
  const { sessions: rows } = await getJson(viewer, "/api/sessions");
  const by = (part) => {
    const row = rows.find((one) => one.project.endsWith(part));
    assert(row, `no session of ${part}`);
    return row;
  };
  const sessions = {
    main: by("/backoff"),
    other: by("/backoff-2"),
    hostile: by("/hostile"),
    async playMore() {
      execFileSync(join(here, "sessions"), [binary, work, "more"], { timeout: 120_000 });
    },
  };
  if (wants("views")) await checkViews(browser, viewer, sessions);
  if (wants("safety")) {
    await checkSafety(browser, viewer, sessions);
    await checkRules(browser, viewer, sessions);
  }
  if (wants("export")) await checkExport(browser, sessions);
  if (wants("act")) await checkActing(browser, sessions, here);
  if (wants("speed") && process.env.LONG_SESSION) await checkSpeed(viewer, process.env.LONG_SESSION);
  if (wants("pictures"))
    await takePictures(
      browser,
      viewer,
      sessions,
      process.env.PICTURES || join(work, "pictures"),
      process.env.DOCS_PICTURES,
    );
} finally {
  await viewer.stop();
  await browser.close();
}
finish();
