// The rules of a local page, each against a browser that tries to break it.
import { createServer } from "node:http";
import { once } from "node:events";
import { assert, check, launch, openPage } from "./harness.mjs";

export async function checkSafety(browser, viewer, sessions) {
  const { hostile, main } = sessions;
  await check("hostile text stays text in every view", async () => {
    const { page, go, context, faults } = await openPage(browser, viewer);
    const asked = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(viewer.base) && !request.url().startsWith("data:"))
        asked.push(request.url());
    });
    const views = ["", "/timeline", "/changes", "/why", "/context", "/time"];
    await go("#/", ".row-main");
    for (const view of views) {
      await go(`#/s/${hostile.id}${view}`, "h1");
      await page.waitForFunction(() => !document.querySelector(".loading"));
      if (!view) {
        await page.keyboard.press("e");
        await page.waitForSelector("details.fold[open] .inside > *");
        await page.getByText("<script>window.owned='text'</script>").first().waitFor({ state: "attached" });
        await page
          .getByText("<img src=x onerror=\"window.owned='thinking'\">")
          .first()
          .waitFor({ state: "attached" });
      }
      const found = await page.evaluate(() => ({
        owned: window.owned,
        scripts: document.querySelectorAll("main script, main iframe, main object, main svg[onload], main b")
          .length,
        handlers: [...document.querySelectorAll("*")].filter((node) =>
          node.getAttributeNames().some((name) => name.startsWith("on")),
        ).length,
        links: [...document.querySelectorAll("a[href]")]
          .map((link) => link.getAttribute("href"))
          .filter((href) => !/^(#|https?:|mailto:)/.test(href)),
        free: [...document.querySelectorAll("main a[href^=http]")].filter(
          (link) => !/noopener/.test(link.rel) || !/noreferrer/.test(link.rel),
        ).length,
        images: [...document.querySelectorAll("img")]
          .map((img) => img.src)
          .filter((src) => !src.startsWith("data:image/")),
      }));
      assert(found.owned === undefined, `${view}: a script ran: ${found.owned}`);
      assert(
        !found.scripts && !found.handlers && !found.links.length && !found.free && !found.images.length,
        `${view}: ${JSON.stringify(found)}`,
      );
    }
    await go(`#/?q=${encodeURIComponent("<script>window.owned=")}`, "h1");
    await page.waitForTimeout(0);
    assert(!asked.length, `asked outside: ${asked}`);
    assert(!faults.length, faults.join("\n"));
    await context.close();
    return `${views.length} views`;
  });

  await check("no token, no answer", async () => {
    for (const headers of [
      {},
      { authorization: `Bearer ${"0".repeat(32)}` },
      { cookie: `token=${viewer.token}` },
    ]) {
      const response = await fetch(`${viewer.base}/api/sessions`, { headers });
      assert(response.status === 401, `${JSON.stringify(headers)}: ${response.status}`);
    }
    const { page, context } = await openPage(browser, null);
    await page.goto(`${viewer.base}/`);
    await page.getByText("This address needs its key").waitFor();
    await context.close();
  });

  await check("a foreign origin gets nothing", async () => {
    const server = createServer((_, response) => response.end("<!doctype html><title>other</title>")).listen(
      0,
      "127.0.0.1",
    );
    await once(server, "listening");
    const { page, context } = await openPage(browser, null);
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const tried = await page.evaluate(
      async ({ base, token, id }) => {
        const out = {};
        const attempt = async (name, path, options) => {
          try {
            const r = await fetch(base + path, options);
            out[name] = `${r.type} ${r.status}`;
          } catch {
            out[name] = "failed";
          }
        };
        await attempt("plain", "/api/hello");
        await attempt("with the token", "/api/hello", { headers: { authorization: `Bearer ${token}` } });
        await attempt("blind post", `/api/sessions/${id}/act/prompt`, {
          method: "POST",
          mode: "no-cors",
          body: '{"text":"x"}',
        });
        const frame = document.createElement("iframe");
        frame.src = `${base}/`;
        document.body.append(frame);
        await new Promise((done) => {
          frame.onload = done;
          setTimeout(done, 3000);
        });
        try {
          out.frame = frame.contentDocument ? frame.contentDocument.body.textContent : "closed";
        } catch {
          out.frame = "closed";
        }
        return out;
      },
      { base: viewer.base, token: viewer.token, id: main.id },
    );
    assert(
      tried.plain === "failed" &&
        tried["with the token"] === "failed" &&
        /failed|opaque/.test(tried["blind post"]) &&
        !/Sessions/.test(tried.frame),
      JSON.stringify(tried),
    );
    await context.close();
    server.close();
  });

  await check("a name that was bound to this machine is refused", async () => {
    const rebound = await launch("--host-resolver-rules=MAP evil.test 127.0.0.1");
    try {
      const page = await (await rebound.newContext()).newPage();
      const response = await page.goto(`http://evil.test:${viewer.port}/`);
      assert(response.status() === 403, `the page: ${response.status()}`);
      const data = await page.goto(`http://evil.test:${viewer.port}/api/hello`);
      assert(data.status() === 403, `data: ${data.status()}`);
    } finally {
      await rebound.close();
    }
  });

  await check("headers", async () => {
    const { headers } = await fetch(`${viewer.base}/`);
    const policy = headers.get("content-security-policy") || "";
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "base-uri 'none'",
      "form-action 'none'",
    ])
      assert(policy.includes(part), `${part} is not in ${policy}`);
    assert(
      headers.get("x-content-type-options") === "nosniff" && headers.get("referrer-policy") === "no-referrer",
      "nosniff and no-referrer",
    );
    assert(!headers.get("access-control-allow-origin"), "no CORS header");
    const data = await fetch(`${viewer.base}/api/hello`, {
      headers: { authorization: `Bearer ${viewer.token}` },
    });
    assert(/no-store/.test(data.headers.get("cache-control") || ""), "data is not stored");
    const size = Number((await fetch(`${viewer.base}/app.js`)).headers.get("content-length"));
    return `app.js ${size} bytes on the wire`;
  });

  await check("reading changes nothing", async () => {
    const post = await fetch(`${viewer.base}/api/sessions/${main.id}/act/prompt`, {
      method: "POST",
      headers: { authorization: `Bearer ${viewer.token}`, "content-type": "application/json" },
      body: '{"text":"x"}',
    });
    assert(post.status === 403 || post.status === 404, `acting without --act: ${post.status}`);
  });
}
