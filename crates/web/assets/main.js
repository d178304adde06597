// Where the page begins: the token, the address, the stream of news.
import { h } from "./dom.js";
import { expect, get, isExport, listen, of, takeToken } from "./api.js";
import { setLive, show, shownView, startShell } from "./shell.js";
import { listView } from "./list.js";
import { sessionView } from "./session.js";
import { compareView } from "./compare.js";

let hello = null;
let stopListening = null;

/// `#/s/ID/view?n=4`, `#/compare/A/B`, `#/?q=words`
export function parseRoute(hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const params = Object.fromEntries(new URLSearchParams(search || ""));
  if (parts[0] === "s" && parts[1]) return { name: "session", id: parts[1], view: parts[2], params };
  if (parts[0] === "compare" && parts[1] && parts[2])
    return { name: "compare", a: parts[1], b: parts[2], params };
  return { name: "list", params };
}

function open(isFirst) {
  const route = parseRoute(location.hash);
  const before = shownView();
  if (before && before.isSame && before.isSame(route)) {
    before.update(route);
    return;
  }
  if (route.name === "session") show(sessionView(route.id, route.view, route.params, hello), !isFirst);
  else if (route.name === "compare") show(compareView(route.a, route.b), !isFirst);
  else show(listView(route.params), !isFirst);
  if (isExport) return;
  if (stopListening) stopListening();
  stopListening = listen(
    route.name === "session" ? route.id : "",
    (kind, data) => {
      const view = shownView();
      if (view.onEvent) view.onEvent(kind, data);
    },
    setLive,
  );
}

/// What the first view asks for need not wait for our greeting.
function expectRoute(route) {
  if (route.name !== "session") return;
  expect(of(route.id));
  if ((route.view || "conversation") === "conversation" && !(Number(route.params.n) >= 200)) {
    expect(of(route.id, "/items?from=0&to=200"));
  }
}

async function start() {
  takeToken();
  startShell();
  expectRoute(parseRoute(location.hash));
  try {
    hello = await get("/api/hello");
  } catch (error) {
    const isLocked = error.code === "unauthorized";
    show(
      {
        title: "Closed",
        node: h(
          "div.page.closed",
          h("h1", isLocked ? "This address needs its key" : "No answer"),
          h(
            "p",
            isLocked
              ? "Open the address that `windlass view` printed, with everything behind the # sign. A key works until that command ends."
              : error.message,
          ),
        ),
      },
      false,
    );
    addEventListener("hashchange", () => {
      if (location.hash.startsWith("#token=")) location.reload();
    });
    return;
  }
  if (!location.hash || location.hash === "#")
    history.replaceState(
      null,
      "",
      hello.session && isExport ? `#/s/${encodeURIComponent(hello.session)}` : "#/",
    );
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) {
      takeToken();
      location.reload();
      return;
    }
    open(false);
  });
  open(true);
}

start();
