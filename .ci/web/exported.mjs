// The exported file: opened from the disk, it shows the session and asks nobody for anything.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { assert, assertAccessible, assertNoSideScroll, binary, check, openPage, work } from "./harness.mjs";

export async function checkExport(browser, sessions) {
  const file = join(work, "session.html");
  await check("an exported file works from the disk and makes no request", async () => {
    execFileSync(binary, ["export", sessions.main.id, "--html", file], {
      timeout: 60_000,
      stdio: "pipe",
      cwd: join(work, "backoff"),
    });
    const asked = [];
    const { page, context, faults } = await openPage(browser, null);
    page.on("request", (request) => {
      if (!request.url().startsWith("data:")) asked.push(request.url());
    });
    const address = pathToFileURL(file).href;
    await page.goto(address);
    await page.waitForSelector(".kind-answer");
    for (const [view, wanted] of [
      ["timeline", ".lanes .span"],
      ["changes", ".diff .added"],
      ["why", ".reason"],
      ["context", ".bars rect"],
      ["time", ".view-time table"],
      ["conversation", ".kind-answer"],
    ]) {
      await page
        .locator(".tabs a", {
          hasText: {
            timeline: "Timeline",
            changes: "Changes",
            why: "Why",
            context: "Context",
            time: "Time machine",
            conversation: "Conversation",
          }[view],
        })
        .click();
      await page.waitForSelector(wanted);
      if (view === "conversation") await assertAccessible(page, `exported ${view}`);
      await assertNoSideScroll(page, `exported ${view}`);
    }
    await page.locator(".tree a").first().click();
    await page.getByText("No caller depends on pauses over 8 seconds.").first().waitFor();
    assert(asked.length === 1 && asked[0].startsWith(address), `asked for ${asked.join(" ")}`);
    assert(!faults.length, faults.join("\n"));
    await context.close();
    return `${readFileSync(file).length} bytes`;
  });
  await check("hostile text stays text in an exported file", async () => {
    const hostile = join(work, "hostile.html");
    execFileSync(binary, ["export", sessions.hostile.id, "--html", hostile], {
      timeout: 60_000,
      stdio: "pipe",
      cwd: join(work, "hostile"),
    });
    const { page, context, faults } = await openPage(browser, null);
    await page.goto(pathToFileURL(hostile).href);
    await page.waitForSelector(".kind-answer");
    await page.keyboard.press("e");
    await page.waitForSelector("details.fold[open] .inside > *");
    assert(
      await page.evaluate(
        () => window.owned === undefined && !document.querySelector("main script, main iframe"),
      ),
      "a script ran",
    );
    assert(!faults.length, faults.join("\n"));
    await context.close();
  });
}
