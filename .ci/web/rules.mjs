// What the browser itself shows of the rules of a local page: where the token goes, what the policy stops,
// which paths are answered, and how the page is opened.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { assert, assetFlags, binary, check, openPage, startViewer, work } from "./harness.mjs";

export async function checkRules(browser, viewer, sessions) {
  await check("rule 1: only this machine is listened to", async () => {
    const port = viewer.port.toString(16).toUpperCase().padStart(4, "0");
    const listening = ["/proc/net/tcp", "/proc/net/tcp6"]
      .filter((file) => existsSync(file))
      .flatMap((file) => readFileSync(file, "utf8").split("\n").slice(1))
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === "0A" && fields[1].endsWith(`:${port}`))
      .map((fields) => fields[1]);
    assert(listening.join() === `0100007F:${port}`, `listening: ${listening}`);
  });

  await check("rule 3: the token is in no request, history, cookie or referrer", async () => {
    const { page, go, context } = await openPage(browser, viewer);
    const told = [];
    context.on("request", (one) => {
      const { authorization, ...headers } = one.headers();
      told.push(`${one.url()} ${JSON.stringify(headers)} ${one.postData() || ""}`);
      const isData = one.url().startsWith(`${viewer.base}/api/`);
      if (Boolean(authorization) !== isData) told.push(`${viewer.token} is sent to ${one.url()}`);
    });
    let visit = null;
    await context.route("https://example.com/**", async (route) => {
      visit = await route.request().allHeaders();
      await route.fulfill({ body: "elsewhere" });
    });
    await go(`#/s/${sessions.hostile.id}`, ".item");
    const link = page.locator('main a[href^="https://example.com"]').first();
    await link.scrollIntoViewIfNeeded();
    const [opened] = await Promise.all([
      context.waitForEvent("page", { timeout: 5000 }).catch(() => null),
      link.click(),
    ]);
    const other = opened || page;
    await other.getByText("elsewhere").waitFor();
    assert(visit && !visit.referer, `the other site is told ${visit && visit.referer}`);
    assert(
      await other.evaluate(() => document.referrer === "" && window.opener === null),
      "the other site knows where it was opened",
    );
    if (opened) await opened.close();
    await go("#/", ".row-main");
    const client = await context.newCDPSession(page);
    const { entries } = await client.send("Page.getNavigationHistory");
    const kept = await page.evaluate(() => document.cookie + JSON.stringify(localStorage));
    const places = [...told, ...entries.map((entry) => entry.url), kept, page.url(), viewer.log().split("\n")[1]];
    const leak = places.find((place) => place && place.includes(viewer.token));
    assert(!leak, `the token is in ${leak}`);
    await context.close();
    return `${told.length} requests, ${entries.length} places in the history`;
  });

  await check("rule 4: the policy stops scripts, markup, frames, forms and other places", async () => {
    const { page, context } = await openPage(browser, viewer);
    const asked = [];
    const stopped = [];
    page.on("request", (one) => asked.push(one.url()));
    page.on("requestfailed", (one) => one.failure().errorText === "csp" && stopped.push(one.url()));
    const done = await page.evaluate(async () => {
      const out = {};
      const attempt = (name, run) => {
        try {
          run();
          out[name] = "done";
        } catch (error) {
          out[name] = error.name;
        }
      };
      const add = (tag, set) => document.body.append(Object.assign(document.createElement(tag), set));
      attempt("markup", () => (document.createElement("p").innerHTML = "<b>x</b>"));
      attempt("write", () => document.write("<b>x</b>"));
      // What the debugger starts may make code; what it leaves behind may not.
      await new Promise((next) =>
        requestAnimationFrame(() => {
          attempt("code", () => (window.owned = new Function("return 'code'")()));
          next();
        }),
      );
      attempt("script", () => add("script", { textContent: "window.owned = 'inline'" }));
      add("img", { src: "http://127.0.0.1:9/pixel.png" });
      attempt("handler", () => document.body.setAttribute("onclick", "window.owned = 'handler'"));
      const form = Object.assign(document.createElement("form"), { action: "http://127.0.0.1:9/", method: "post" });
      document.body.append(form);
      form.submit();
      out.fetch = await fetch("http://127.0.0.1:9/").then(
        () => "done",
        (error) => error.name,
      );
      for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
      return { ...out, owned: window.owned, place: location.pathname };
    }).catch((error) => ({ failed: String(error) }));
    assert(!done.failed && done.owned === undefined && done.place === "/", JSON.stringify(done));
    for (const name of ["markup", "write", "script", "handler"])
      assert(done[name] === "TypeError", `${name}: ${JSON.stringify(done)}`);
    assert(done.code === "EvalError" && done.fetch !== "done", JSON.stringify(done));
    const outside = asked.filter(
      (url) => !url.startsWith(viewer.base) && !url.startsWith("data:") && !stopped.includes(url),
    );
    assert(!outside.length, `asked for ${outside}`);
    await context.close();
    return `stopped: ${stopped.length} requests`;
  });

  await check("rule 6: no path of a request leads to a file", async () => {
    const id = sessions.main.id;
    const paths = [
      "/../../etc/passwd",
      "/%2e%2e/%2e%2e/etc/passwd",
      "/..%2f..%2fetc%2fpasswd",
      "/app.js/../../../etc/passwd",
      "//etc/passwd",
      "/etc/passwd",
      "/app.js%00.html",
      "/api/sessions/..%2f..%2f..%2fetc%2fpasswd",
      "/api/sessions/../../../../etc/passwd",
      `/api/sessions/${id}~../items`,
      `/api/sessions/${id}~..%2f..%2fx/items`,
      `/api/sessions/${id}%00/items`,
      `/api/sessions/${id.slice(0, 8)}/items`,
      `/api/sessions/*/items`,
    ];
    for (const path of paths) {
      const [status, body] = await ask(viewer, path);
      assert(status === 404 && !/root:/.test(body), `${path}: ${status} ${body.slice(0, 80)}`);
    }
    const [, diff] = await ask(viewer, `/api/sessions/${id}/diff?path=..%2f..%2f..%2fetc%2fpasswd`);
    assert(!/root:/.test(diff) && JSON.parse(diff).files.length === 0, diff.slice(0, 200));
    return `${paths.length} paths`;
  });

  await check("rule 7: silent and half connections hold up nobody", async () => {
    const idle = Array.from({ length: 40 }, (_, n) => {
      const socket = connect(viewer.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.on("connect", () => n % 2 && socket.write("GET / HTTP/1.1\r\nhost: 127.0.0.1"));
      return socket;
    });
    await Promise.all(idle.map((socket) => once(socket, "connect")));
    const { page, go, context } = await openPage(browser, viewer);
    await go("#/", ".row-main");
    assert((await page.locator(".row-main").count()) > 0, "the list is there");
    for (const socket of idle) socket.destroy();
    await context.close();
  });

  await check("the page opens by a file that only this user can read", async () => {
    const folder = join(work, "launch");
    mkdirSync(folder, { recursive: true });
    const seen = join(folder, "seen");
    writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\nprintf '%s\\n' "$@" > '${seen}.part'; mv '${seen}.part' '${seen}'\n`);
    chmodSync(join(folder, "xdg-open"), 0o755);
    const launched = await startViewer([binary, "view", ...assetFlags], {
      cwd: work,
      env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, XDG_RUNTIME_DIR: folder },
    });
    try {
      for (let round = 0; !existsSync(seen) && round < 600; round += 1) await new Promise((wait) => setTimeout(wait, 50));
      const file = readFileSync(seen, "utf8").trim();
      assert(!file.includes(launched.token), `the token is an argument: ${file}`);
      assert((statSync(file).mode & 0o777) === 0o600, `its mode is ${(statSync(file).mode & 0o777).toString(8)}`);
      const { page, context } = await openPage(browser, null);
      await page.goto(pathToFileURL(file).href);
      await page.waitForSelector(".row-main");
      assert(page.url().startsWith(launched.base) && !page.url().includes("token"), page.url());
      await context.close();
      await launched.stop();
      assert(!existsSync(file), "the file is left behind");
    } finally {
      await launched.stop();
    }
  });
}

/// Asks without a browser, which would tidy the path up.
async function ask(viewer, path) {
  const asking = request({
    host: "127.0.0.1",
    port: viewer.port,
    path,
    headers: { authorization: `Bearer ${viewer.token}` },
  });
  asking.end();
  const [response] = await once(asking, "response");
  let body = "";
  for await (const piece of response) body += piece;
  return [response.statusCode, body];
}
