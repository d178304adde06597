// Every view on real sessions: it says what it should, by mouse and by keyboard, for every reader and at every width.
import { assert, assertAccessible, assertNoSideScroll, check, getJson, openPage } from "./harness.mjs";

/// Looking at every element of every view takes a minute on a machine with time, and more on one without.
const AXE_MS = 360_000;

/// Where each view is, and what shows that it is there.
export function viewsOf(main, other) {
  return {
    list: ["#/", ".row-main"],
    conversation: [`#/s/${main}`, ".kind-answer"],
    timeline: [`#/s/${main}/timeline`, ".lanes .span"],
    changes: [`#/s/${main}/changes`, ".diff .added"],
    why: [`#/s/${main}/why`, ".reason"],
    context: [`#/s/${main}/context`, ".bars rect"],
    time: [`#/s/${main}/time`, ".moment .event"],
    compare: [`#/compare/${main}/${other}`, ".sides .brief"],
  };
}

export async function checkViews(browser, viewer, sessions) {
  const { main, other } = sessions;
  const views = viewsOf(main.id, other.id);
  const said = async (page, ...texts) => {
    for (const text of texts)
      await page
        .getByText(text)
        .first()
        .waitFor({ state: "attached" })
        .catch(() => {
          throw new Error(`the page does not say ${text}`);
        });
  };
  const { page, faults, go, context } = await openPage(browser, viewer);

  await check("the token leaves the address", async () => {
    assert(!page.url().includes("token"), page.url());
    assert(
      !(await page.evaluate(() =>
        performance.getEntriesByType("resource").some((one) => one.name.includes("token")),
      )),
      "a request carried it",
    );
    await page.reload();
    await page.waitForSelector(".row-main");
  });
  await check("list", async () => {
    await go(...views.list);
    await said(page, "The retry test fails. Find out why and fix it.", "backoff", /\$0\.\d+/);
    await page.fill("#search", "min(cap");
    await page.waitForSelector(".hit .place mark");
    await page.locator(".hit .place").first().click();
    await page.waitForSelector(".item.target");
    await go(...views.list);
    await page.fill("#search", "");
    await page.selectOption("select >> nth=2", "Agent");
    await page.waitForFunction(() => document.querySelectorAll(".row-main").length === 1);
    await page.selectOption("select >> nth=2", "");
    await page.waitForFunction(() => document.querySelectorAll(".row-main").length > 1);
    const filter = (name) =>
      page.locator("label.pick-one", { hasText: new RegExp(`^${name}`) }).locator("select");
    await filter("Kind").selectOption("thinking");
    await page.waitForSelector(".hit .place");
    await filter("Kind").selectOption("");
    await filter("Outcome").selectOption("error");
    await page.waitForSelector(".hit .place");
    await filter("Outcome").selectOption("");
    await page.waitForFunction(() => !document.querySelector(".hit"));
    await page.getByPlaceholder("File").fill("CHANGES.md");
    await page.waitForFunction(() => document.querySelectorAll(".row-main").length === 1);
    await page.getByPlaceholder("File").fill("");
    await page.waitForFunction(() => document.querySelectorAll(".row-main").length > 1);
  });
  await check("conversation", async () => {
    await go(...views.conversation);
    await said(
      page,
      "I run the test and read the code that it covers.",
      /Thought/,
      "./test.sh",
      "denied",
      /Retry/,
      "Answer taken back",
    );
    const { items } = await getJson(viewer, `/api/sessions/${main.id}/items?from=0&to=200`);
    const openCall = async (title, tool) => {
      const { n } = items.find(
        (item) => item.kind === "call" && item.title.includes(title) && item.tool === tool,
      );
      await go(`#/s/${main.id}/conversation?n=${n}`, `.item[data-n="${n}"]`);
      const call = page.locator(`.item[data-n="${n}"]`);
      await call.locator("summary").first().click();
      return call;
    };
    const call = await openCall("rm -r logs", "Bash");
    await call.getByText("Bash(rm:*)").first().waitFor();
    await call
      .getByText(/settings\.json:\d+/)
      .first()
      .waitFor();
    const edit = await openCall("retry.py", "Edit");
    await edit.locator(".diff .added").first().waitFor();
    await edit.locator(".diff .added .code-comment").first().waitFor();
    const read = await openCall("chart.png", "Read");
    await read.locator("img").waitFor();
    assert(
      await read.locator("img").evaluate((img) => img.complete && img.naturalWidth > 0),
      "the picture is not shown",
    );
  });
  await check("an agent has a page of its own", async () => {
    await go(...views.conversation);
    await page.locator(".tree a").first().click();
    await said(page, "No caller depends on pauses over 8 seconds.", "The session that started this agent");
  });
  await check("timeline", async () => {
    await go(...views.timeline);
    await said(page, "Where the time went", "Back-off", "Review the callers");
    await page.focus(".lanes");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".item.target");
    await go(...views.timeline);
    const before = await page.locator(".lanes .span").count();
    await page.keyboard.press("+");
    await page.keyboard.press("+");
    await page.keyboard.press("0");
    await page.waitForFunction((many) => document.querySelectorAll(".lanes .span").length === many, before);
    await page.locator(".lanes .span").first().click();
    await page.waitForSelector(".item.target");
  });
  await check("changes", async () => {
    await go(...views.changes);
    await said(page, "retry.py", "CHANGES.md", "2 files");
    await page.getByRole("button", { name: /^2\. / }).click();
    await page.waitForFunction(() => document.querySelectorAll(".file").length === 1);
    await page.getByRole("button", { name: "one call" }).click();
    await page.waitForSelector(".item.target.kind-call");
  });
  await check("why", async () => {
    await go(...views.why);
    await said(
      page,
      "All tool calls had results, so the model was asked again.",
      "next_turn",
      "Denied",
      "The model had nothing more to do.",
      "Took back",
    );
    await page
      .getByRole("link", { name: /State at event/ })
      .first()
      .click();
    await page.waitForSelector(".moment .event");
  });
  await check("context and money", async () => {
    await go(...views.context);
    await said(
      page,
      "From the cache",
      "System prompt",
      "Nothing had to be left out.",
      "Cost by turn",
      "Cost by agent",
      /Predicted/,
    );
    await said(page, /here, \$0\.\d+ by agents/);
    const head = await page.locator(".meta").innerText();
    const cost = await page.locator(".numbers dd").first().innerText();
    assert(head.includes(/\$[\d.]+/.exec(cost)[0]), `the head says ${head}, the page ${cost}`);
    await page.locator(".bars").first().focus();
    await page.keyboard.press("Home");
    await said(page, /run 1, turn 1/);
    await page.keyboard.press("ArrowRight");
    await said(page, /\+[\d.]+k? new/, /because the provider counted (fewer|more) tokens than were estimated/);
  });
  await check("time machine", async () => {
    await go(...views.time);
    const last = Number(await page.inputValue("#event-slider"));
    await page.focus("#event-slider");
    await page.keyboard.press("Home");
    await page.waitForFunction(() => /Event 1\b/.test(document.querySelector(".moment h3").textContent));
    await page.keyboard.press("End");
    await page.waitForFunction(
      (seq) => document.querySelector(".moment h3").textContent.replace(/,/g, "").includes(`Event ${seq}`),
      last,
    );
    await page.getByRole("button", { name: "Show the difference" }).click();
    await page.waitForSelector(".diff");
    await said(page, /lines? removed, \d+ added/);
    await page.getByRole("button", { name: /Show the last request/ }).click();
    await page.waitForSelector("pre.tall");
    await said(page, "POST /v1/messages", "keys are never part of it", /Made again from the journal/);
    await page.selectOption("select[aria-label=Wire]", "gemini");
    await said(page, /streamGenerateContent/, /"contents"/);
    await page.getByRole("button", { name: "Before the wire" }).first().click();
    await said(page, /"output_max"/);
    await page.getByRole("button", { name: "Replay the whole session" }).click();
    await page.waitForSelector("p.good");
  });
  await check("compare", async () => {
    await go(...views.list);
    const boxes = page.locator(".compare-box input");
    const ids = await page.locator(".row-main").evaluateAll((links) => links.map((link) => link.dataset.id));
    await boxes.nth(ids.indexOf(main.id)).check();
    await boxes.nth(ids.indexOf(other.id)).check();
    await page.getByRole("link", { name: "Compare these two" }).click();
    await page.waitForSelector(views.compare[1]);
    await said(page, "Numbers", "retry.py", "I read the code first.");
  });
  await check("nothing is wrong on the console", async () => assert(!faults.length, faults.join("\n")));
  await context.close();
  await checkKeys(browser, viewer, views);
  await checkReaders(browser, viewer, views, main.id);
  await checkLive(browser, viewer, sessions);
}

async function checkKeys(browser, viewer, views) {
  await check("by keyboard alone", async () => {
    const { page, go, context } = await openPage(browser, viewer);
    await go(...views.list);
    await page.keyboard.press("Tab");
    assert(
      await page.evaluate(() => document.activeElement.classList.contains("skip")),
      "the first stop is the skip link",
    );
    await page.keyboard.press("/");
    assert((await page.evaluate(() => document.activeElement.id)) === "search", "/ goes to the search");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    const first = await page.evaluate(() => document.activeElement.dataset.id);
    await page.keyboard.press("j");
    assert(first && (await page.evaluate(() => document.activeElement.dataset.id)) !== first, "j goes on");
    await go(...views.conversation);
    const here = () =>
      page.evaluate(() =>
        Number((document.activeElement.closest("[data-n]") || { dataset: { n: -1 } }).dataset.n),
      );
    const until = (test, words) =>
      page.waitForFunction(test).catch(() => {
        throw new Error(words);
      });
    await page.keyboard.press("j");
    await until(() => document.activeElement.dataset.n !== undefined, "j takes the first item");
    const start = await here();
    await page.keyboard.press("j");
    await page.waitForFunction((n) => Number(document.activeElement.dataset.n) > n, start);
    await page.keyboard.press("]");
    await until(() => document.activeElement.classList.contains("kind-prompt"), "] goes to the next prompt");
    const second = await here();
    await page.keyboard.press("[");
    await page.waitForFunction((n) => Number(document.activeElement.dataset.n) < n, second);
    await page.keyboard.press("e");
    await until(() => document.querySelectorAll("details.fold[open]").length > 2, "e opens all");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await until(() => !document.querySelector("dialog"), "Escape closes the help");
    for (const [key, view] of [
      ["2", "timeline"],
      ["3", "changes"],
      ["4", "why"],
      ["5", "context"],
      ["6", "time"],
      ["1", "conversation"],
    ]) {
      await page.keyboard.press(key);
      await page.waitForSelector(`.view-${view}`);
    }
    const ring = await page.evaluate(() => {
      document.querySelector(".tabs a").focus();
      return getComputedStyle(document.activeElement).outlineStyle;
    });
    assert(ring !== "none", "the focus is seen");
    await page.keyboard.press("u");
    await page.waitForSelector(".row-main");
    await context.close();
  });
}

async function checkReaders(browser, viewer, views, mainId) {
  for (const colorScheme of ["light", "dark"]) {
    await check(`axe and width, ${colorScheme}`, async () => {
      for (const width of [1280, 400]) {
        const { page, go, context } = await openPage(browser, viewer, {
          colorScheme,
          viewport: { width, height: 860 },
        });
        for (const [name, view] of Object.entries(views)) {
          await go(...view);
          if (name === "conversation") {
            await page.keyboard.press("e");
            await page.waitForSelector("details.fold[open] .inside > *");
          }
          await assertNoSideScroll(page, `${name} at ${width}`);
          // Colours differ by scheme, layout by width: three of the four tell all.
          if (width === 1280 || colorScheme === "light") {
            await assertAccessible(page, `${name} at ${width}, ${colorScheme}`);
          }
        }
        await context.close();
      }
      return `${Object.keys(views).length} views at 1280 and 400 px`;
    }, AXE_MS);
  }
  await check("forced colours and paper", async () => {
    const { page, go, context } = await openPage(browser, viewer, { forcedColors: "active" });
    await go(...views.timeline);
    const colours = await page.evaluate(
      () =>
        new Set(
          [...document.querySelectorAll(".bar span")].map((span) => getComputedStyle(span).backgroundColor),
        ).size,
    );
    assert(colours > 1, "the parts of a bar differ with forced colours");
    await page.emulateMedia({ media: "print", forcedColors: "none" });
    await go(...views.conversation);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert(
      (await page.evaluate(() => getComputedStyle(document.querySelector(".tabs")).display)) === "none",
      "navigation is not printed",
    );
    const sessionItems = (await getJson(viewer, `/api/sessions/${mainId}`)).items;
    await page.setViewportSize({ width: 900, height: 700 });
    const printed = await page.locator(".item").count();
    assert(printed === sessionItems, `${printed} of ${sessionItems} items are printed`);
    const paper = await page.pdf();
    assert(paper.length > 5000, "the conversation is printed");
    await context.close();
  });
}

async function checkLive(browser, viewer, sessions) {
  await check("live: what another process does appears by itself", async () => {
    const { page, go, context } = await openPage(browser, viewer);
    await go("#/", ".row-main");
    const before = await getJson(viewer, "/api/sessions");
    await sessions.playMore();
    await page.waitForFunction(
      (many) => document.querySelectorAll(".row-main").length > many,
      before.sessions.length,
      { timeout: 30_000 },
    );
    await context.close();
  });
}
