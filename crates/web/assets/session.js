// One session: its head, its views, and what is new in it.
import { h, icon, replace } from "./dom.js";
import { baseName, count, duration, money, moment, plural, short } from "./format.js";
import { atMostEvery, get, isExport, of, redactions } from "./api.js";
import { failure, loading, stateChip, timeAgo } from "./parts.js";
import { addKeys, say } from "./shell.js";
import { title } from "./list.js";
import { conversationView } from "./conversation.js";
import { timelineView } from "./timeline.js";
import { changesView } from "./changes.js";
import { whyView } from "./why.js";
import { contextView } from "./context.js";
import { momentView } from "./moment.js";
import { actPanel } from "./act.js";

const VIEWS = [
  ["conversation", "Conversation", conversationView],
  ["timeline", "Timeline", timelineView],
  ["changes", "Changes", changesView],
  ["why", "Why", whyView],
  ["context", "Context and money", contextView],
  ["time", "Time machine", momentView],
];

export function sessionView(id, firstView, firstParams, hello) {
  const session = { id, meta: null, follow: () => view && view.follow && view.follow() };
  const head = h("div.session-head", loading());
  const tabs = h("nav.tabs.sticky", { "aria-label": "Views" });
  const body = h("div.view");
  const panel = hello.act && !isExport ? actPanel(session) : null;
  let view = null;
  let name = "";
  let isStopped = false;
  const renew = atMostEvery(300, () => (isStopped ? null : load()));
  const context = {
    canAct: Boolean(panel),
    onRewind: (item) => panel.rewind(item),
    live: () => !isExport,
    now: () => Date.now(),
  };

  async function load() {
    const before = session.meta;
    session.meta = await get(of(id));
    if (isStopped) return;
    page.title = title(session.meta.session);
    document.title = `${page.title} · Windlass`;
    drawHead();
    if (
      before &&
      view &&
      view.onMeta &&
      (before.seq !== session.meta.seq ||
        before.items !== session.meta.items ||
        before.session.state !== session.meta.session.state)
    )
      await view.onMeta(before);
  }

  function drawHead() {
    const { session: row, parent, totals, runs } = session.meta;
    const tokens = totals.input_tokens;
    const taken = redactions();
    replace(
      head,
      h(
        "p.crumbs",
        h("a", { href: "#/" }, "Sessions"),
        h("span", { "aria-hidden": "true" }, "/"),
        parent
          ? h(
              "a",
              { href: `#/s/${encodeURIComponent(parent.id)}/conversation?n=${parent.item}` },
              "The session that started this agent",
            )
          : h("span", { title: row.project || "" }, baseName(row.project) || "no folder"),
        row.branch ? h("span.faint", row.branch) : null,
        typeof row.parent === "string" && !isExport
          ? h(
              "a",
              { href: `#/compare/${encodeURIComponent(row.parent)}/${encodeURIComponent(id)}` },
              "Compare with what it was forked from",
            )
          : null,
      ),
      h("h1", title(row)),
      h(
        "p.meta",
        stateChip(row.state),
        row.model ? h("span", row.model) : null,
        h("span", { title: moment(row.created) }, "started ", timeAgo(row.created)),
        h("span", duration(session.meta.running_ms), " of work"),
        h("span", money(row.cost_micro_usd ?? totals.cost_micro_usd)),
        h("span", `${short(tokens)} tokens in, ${short(totals.output_tokens)} out`),
        h("span", plural(runs.length, "prompt")),
        h(
          "span",
          plural(totals.calls, "call"),
          totals.failed_calls ? `, ${count(totals.failed_calls)} failed` : "",
          totals.denied_calls ? `, ${count(totals.denied_calls)} denied` : "",
        ),
      ),
      session.meta.damaged
        ? h(
            "p.warn",
            `${plural(session.meta.damaged, "record")} of the journal ${session.meta.damaged === 1 ? "is" : "are"} damaged and left out.`,
          )
        : null,
      session.meta.complete ? null : h("p.faint", "Still reading this journal…"),
      taken.length
        ? h(
            "details.redacted",
            h("summary", "What was taken out before export"),
            h(
              "ul",
              taken.map((one) =>
                h(
                  "li",
                  `${one.kind}: ${count(one.count)} `,
                  h("span.faint", (one.places || []).slice(0, 20).join(", ")),
                ),
              ),
            ),
          )
        : null,
    );
  }

  function drawTabs() {
    replace(
      tabs,
      VIEWS.map(([key, label]) =>
        h(
          "a",
          { href: `#/s/${encodeURIComponent(id)}/${key}`, "aria-current": key === name ? "page" : null },
          label,
        ),
      ),
    );
    const here = tabs.querySelector("[aria-current]");
    if (here && tabs.scrollWidth > tabs.clientWidth) tabs.scrollLeft = here.offsetLeft - 24;
  }

  function open(wanted, params) {
    const found = VIEWS.find(([key]) => key === wanted) || VIEWS[0];
    if (view && name === found[0]) {
      if (view.update) view.update(params);
      return;
    }
    if (view && view.stop) view.stop();
    const isFirst = name === "";
    [name] = found;
    drawTabs();
    view = found[2](session, params, context);
    replace(body, view.node);
    body.className = `view view-${name}`;
    if (panel) panel.node.dataset.view = name;
    addKeys(view.keys);
    if (!isFirst) {
      const top = tabs.getBoundingClientRect().top + scrollY;
      if (params.n === undefined && params.seq === undefined && scrollY > head.offsetHeight)
        scrollTo({ top: Math.min(scrollY, head.offsetTop + head.offsetHeight), behavior: "instant" });
      if (top < 0) scrollTo(0, 0);
      say(found[1]);
    }
  }

  const page = {
    name: "session",
    id,
    title: "Session",
    node: h("div.page.session", head, tabs, body, panel ? panel.node : null),
    keys: [
      ...VIEWS.map(([key, label], i) => [
        String(i + 1),
        label,
        () => {
          location.hash = `#/s/${encodeURIComponent(id)}/${key}`;
        },
      ]),
      [
        "u",
        "All sessions",
        () => {
          location.hash = "#/";
        },
      ],
      ...(panel ? [["m", "Write a message", () => panel.focus()]] : []),
    ],
    isSame: (route) => route.name === "session" && route.id === id,
    update: (route) => open(route.view || "conversation", route.params),
    onEvent(kind, data) {
      if (kind === "session" && data.id === id) renew();
      if (kind === "act" && panel && data.id === id) panel.refresh();
    },
    stop() {
      isStopped = true;
      if (view && view.stop) view.stop();
    },
  };
  load().then(
    () => {
      if (!isStopped) open(firstView || "conversation", firstParams);
    },
    (error) =>
      replace(
        head,
        h("h1", "Session"),
        failure(error),
        h("p", h("a", { href: "#/" }, icon("back"), "All sessions")),
      ),
  );
  return page;
}
