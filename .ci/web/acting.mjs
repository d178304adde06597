// Taking part through the page: a message, a question, an answer, an interrupt, going back.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  assert,
  assertAccessible,
  assetFlags,
  binary,
  check,
  openPage,
  startViewer,
  work,
} from "./harness.mjs";

export async function checkActing(browser, sessions, here) {
  await check("acting through the page", async () => {
    const folder = join(work, "backoff-2");
    const script = join(work, "act.toml");
    writeFileSync(script, readFileSync(join(here, "act.toml")));
    const viewer = await startViewer(
      [binary, "rehearse", script, "--", binary, "view", "--no-open", "--act", ...assetFlags],
      { cwd: folder },
    );
    try {
      for (const token of ["", `Bearer ${"0".repeat(32)}`]) {
        const blind = await fetch(`${viewer.base}/api/sessions/${sessions.other.id}/act/prompt`, {
          method: "POST",
          headers: { authorization: token, "content-type": "application/json" },
          body: '{"text":"x"}',
        });
        assert(blind.status === 401, `acting without the token: ${blind.status}`);
      }
      const { page, go, context, faults } = await openPage(browser, viewer);
      await go(`#/s/${sessions.other.id}`, ".composer");
      await page.keyboard.press("m");
      await page.keyboard.type("Please make a file.");
      await page.keyboard.press("Enter");
      await page.waitForSelector(".question", { timeout: 60_000 });
      await page.getByText("touch made-by-the-page.txt").first().waitFor();
      await assertAccessible(page, "a question");
      const list = await openPage(browser, viewer);
      await list.page.getByText("1 waiting for you").waitFor();
      await list.context.close();
      await page.getByRole("button", { name: "Allow once" }).click();
      await page.getByText("It is done, and the page was told.").first().waitFor({ timeout: 60_000 });
      assert(existsSync(join(folder, "made-by-the-page.txt")), "the call ran");
      await page.waitForFunction(() => !document.querySelector(".question"));

      await page.fill("#message", "Now wait for ever.");
      await page.getByRole("button", { name: "Send" }).click();
      // Sleeping changes nothing, so nobody is asked. What was sent is followed to the end of the page.
      await page.locator(".kind-call .status.is-running").waitFor({ timeout: 60_000 });
      await page.getByRole("button", { name: "Interrupt" }).click();
      await page.waitForFunction(
        () =>
          [...document.querySelectorAll(".composer button")].some(
            (button) => button.textContent === "Interrupt" && button.hidden,
          ),
        null,
        { timeout: 60_000 },
      );

      const prompts = page.locator(".kind-prompt");
      const many = await prompts.count();
      await page.keyboard.press("Escape");
      await prompts
        .last()
        .getByRole("button", { name: /Rewind/ })
        .click();
      await page.getByRole("dialog").getByRole("button", { name: "Rewind" }).click();
      await page.waitForFunction(
        (before) => document.querySelectorAll(".kind-prompt").length < before,
        many,
        { timeout: 60_000 },
      );
      await page.getByRole("button", { name: "Give back" }).click();
      const wrong = faults.filter((fault) => !/409|503/.test(fault));
      assert(!wrong.length, wrong.join("\n"));
      await context.close();
    } finally {
      await viewer.stop();
    }
  });
}
