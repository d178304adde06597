// Pictures of every view at three widths, light and dark; three of them are kept for the documentation.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { check, getJson, openPage } from "./harness.mjs";
import { viewsOf } from "./views.mjs";

const KEPT = {
  "conversation-1280-light": "conversation",
  "timeline-1280-dark": "timeline",
  "context-1280-light": "context",
};

export async function takePictures(browser, viewer, sessions, folder, docs) {
  await check("pictures", async () => {
    mkdirSync(folder, { recursive: true });
    if (docs) mkdirSync(docs, { recursive: true });
    let many = 0;
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [400, 1000, 1280, 1440]) {
        const { page, go, context } = await openPage(browser, viewer, {
          colorScheme,
          viewport: { width, height: width < 500 ? 850 : 820 },
          timezoneId: "UTC",
        });
        for (const [name, view] of Object.entries(viewsOf(sessions.main.id, sessions.other.id))) {
          await go(...view);
          await page.waitForFunction(() => !document.querySelector(".loading"));
          if (name === "conversation" && width === 1280) await openEdit(page, go, viewer, sessions.main.id);
          const kept = KEPT[`${name}-${width}-${colorScheme}`];
          await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
          if (kept && docs) await page.screenshot({ path: join(docs, `${kept}.png`) });
          many += 1;
        }
        await context.close();
      }
    }
    return `${many} in ${folder}`;
  });
}

/// A call with its ruling and its changes open, between the answers around it.
async function openEdit(page, go, viewer, id) {
  const { items } = await getJson(viewer, `/api/sessions/${id}/items?from=0&to=200`);
  const edit = items.find((item) => item.tool === "Edit").n;
  await go(`#/s/${id}/conversation?n=${edit - 5}`, `.item[data-n="${edit}"]`);
  await page.locator(`.item[data-n="${edit}"] summary`).first().click();
  await page.waitForSelector(".diff");
  await page.mouse.move(0, 0);
  await page.evaluate(() => {
    document.activeElement.blur();
    for (const item of document.querySelectorAll(".target")) item.classList.remove("target");
  });
}
