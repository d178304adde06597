// What was said and done, in order.
import { h, icon, replace } from "./dom.js";
import { clip, clock, count, duration, money, plural, words } from "./format.js";
import { get, isExport, of, query } from "./api.js";
import { empty, failure, stateChip } from "./parts.js";
import { ItemRenderer, KINDS, kindGroup } from "./item.js";
import { WindowedList } from "./windowed.js";
import { say } from "./shell.js";

const PAPER_ITEMS_MAX = 2000;
const OUTLINE_MAX = 300;

export function conversationView(session, params, context) {
  const { id } = session;
  const hidden = new Set();
  const renderer = new ItemRenderer(
    id,
    session.meta.session.project,
    context.canAct ? context.onRewind : null,
  );
  const list = new WindowedList({
    total: session.meta.items,
    label: "Conversation",
    load: async (from) => (await get(of(id, `/items?from=${from}&to=${from + 200}`))).items,
    render: (item) => renderer.render(item),
    isHidden: (item) => hidden.has(kindGroup(item.kind)),
  });
  const trouble = h("div");
  list.onError = (error) => replace(trouble, failure(error));
  const newest = h(
    "button.newest",
    {
      type: "button",
      hidden: true,
      onclick: () => {
        newest.hidden = true;
        list.goTo(list.total - 1, true);
      },
    },
    "New items below",
  );
  const results = h("div.found");
  const inner = h("div.rail-inner");
  const railFold = h(
    "details.rail-fold",
    { open: innerWidth > 1000 },
    h("summary", "Outline and search"),
    inner,
  );
  const rail = h("aside.rail", { "aria-label": "Outline" }, railFold);
  let follows = false;
  const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 80;

  const field = h("input", {
    type: "search",
    placeholder: "Search",
    "aria-label": "Search this conversation",
    autocomplete: "off",
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") search();
  });
  field.addEventListener("search", search);

  async function search() {
    const q = field.value.trim();
    if (!q) {
      replace(results);
      return;
    }
    try {
      const places = isExport
        ? await searchHere(q)
        : (await get(`/api/search${query({ q, session: id, limit: 50 })}`)).hits.flatMap((hit) => hit.places);
      say(plural(places.length, "place"));
      replace(
        results,
        h("p.summary", plural(places.length, "place")),
        h(
          "ul",
          places.map((place) =>
            h(
              "li",
              h(
                "a.place",
                { href: `#/s/${encodeURIComponent(id)}/conversation?n=${place.n}` },
                h("span.place-kind", place.tool || words(place.kind)),
                h("span.excerpt", clip(place.excerpt, 160)),
              ),
            ),
          ),
        ),
      );
    } catch (error) {
      replace(results, failure(error));
    }
  }

  /// An exported file has nobody to ask.
  async function searchHere(q) {
    const wanted = q.toLowerCase();
    const places = [];
    for (let from = 0; from < list.total && places.length < 50; from += 200) {
      for (const item of (await get(of(id, `/items?from=${from}&to=${from + 200}`))).items) {
        const text = [
          item.text,
          item.title,
          item.words,
          item.input && JSON.stringify(item.input),
          item.result && item.result.text,
        ].find((part) => part && part.toLowerCase().includes(wanted));
        if (!text || places.length >= 50) continue;
        const at = text.toLowerCase().indexOf(wanted);
        places.push({
          n: item.n,
          kind: item.kind,
          tool: item.tool,
          excerpt: text.slice(Math.max(0, at - 40), at + 100),
        });
      }
    }
    return places;
  }

  const outline = h("div.rail-inner");
  const kinds = KINDS.map(([kind, label]) => {
    const button = h("button.chip.pick", { type: "button", "aria-pressed": "true" }, label);
    button.addEventListener("click", () => {
      if (hidden.has(kind)) hidden.delete(kind);
      else hidden.add(kind);
      button.setAttribute("aria-pressed", String(!hidden.has(kind)));
      list.rebuild();
    });
    return button;
  });
  inner.append(
    h("div.search.small", icon("search"), field),
    results,
    h("div.kinds", { role: "group", "aria-label": "Show" }, kinds),
    outline,
  );

  function drawOutline() {
    const { runs, agents } = session.meta;
    const left = runs.length - OUTLINE_MAX;
    replace(
      outline,
      h(
        "nav",
        { "aria-label": "Prompts" },
        h("h2", "Prompts"),
        left > 0 ? h("p.faint", `The last ${OUTLINE_MAX} of ${count(runs.length)}.`) : null,
        h("ol.outline", runs.slice(-OUTLINE_MAX).map(outlineRow)),
      ),
      agents.length ? h("nav", { "aria-label": "Agents" }, h("h2", "Agents"), agentTree(agents)) : null,
    );
  }

  function outlineRow(run) {
    const took = run.end ? `, ${duration(run.end - run.start)}` : "";
    return h(
      "li",
      h(
        "a",
        { href: `#/s/${encodeURIComponent(id)}/conversation?n=${run.item}` },
        h("span.outline-text", clip(run.prompt || "(no words)", 90)),
        h("span.faint", clock(run.start), took, `, ${money(run.cost_micro_usd)}`),
      ),
    );
  }

  async function goTo(n, isFocused) {
    const node = await list.goTo(n, isFocused);
    if (node) node.classList.add("target");
    for (const other of list.node.querySelectorAll(".target"))
      if (other !== node) other.classList.remove("target");
  }

  /// To what stands in a record, or to an item by its number.
  async function goToPlace({ n, seq }) {
    try {
      const place = n === undefined ? (await get(of(id, `/locate${query({ seq })}`))).n : Number(n);
      if (place !== null) await goTo(place, true);
    } catch (error) {
      replace(trouble, failure(error));
    }
  }

  async function step(by) {
    const next = await list.find(list.current(), by);
    if (next !== null) await goTo(next, true);
  }

  function stepRun(by) {
    const here = list.current();
    const starts = session.meta.runs.map((run) => run.item);
    const next = by > 0 ? starts.find((item) => item > here) : starts.filter((item) => item < here).pop();
    if (next !== undefined) goTo(next, true);
  }

  function openAll() {
    renderer.opensAll = !renderer.opensAll;
    renderer.open.clear();
    for (const details of list.node.querySelectorAll("details.fold")) details.open = renderer.opensAll;
    say(renderer.opensAll ? "All open" : "All folded");
  }

  // Whoever scrolls back wants to read, not to follow.
  const onWheel = (event) => {
    if (event.deltaY < 0) follows = false;
  };
  addEventListener("wheel", onWheel, { passive: true });
  const onPaper = () => list.showLoaded(PAPER_ITEMS_MAX);
  const offPaper = () => list.leavePaper();
  addEventListener("beforeprint", onPaper);
  addEventListener("afterprint", offPaper);
  drawOutline();
  const node = h(
    "div.with-rail",
    rail,
    h("div.column", trouble, session.meta.items ? list.node : empty("Nothing was said yet."), newest),
  );
  queueMicrotask(() => {
    if (params.n !== undefined || params.seq !== undefined) goToPlace(params);
    else if (context.live() && session.meta.session.state === "running") goTo(list.total - 1, false);
    else list.sync();
  });
  return {
    node,
    keys: [
      ["j", "Next item", () => step(1)],
      ["k", "Item before", () => step(-1)],
      ["]", "Next prompt", () => stepRun(1)],
      ["[", "Prompt before", () => stepRun(-1)],
      [
        "o",
        "Open or fold the item",
        () => {
          const fold = list.shown.get(list.current());
          const details = fold && fold.querySelector("details");
          if (details) details.open = !details.open;
        },
      ],
      ["e", "Open or fold all", openAll],
      [
        "/",
        "Search this conversation",
        () => {
          railFold.open = true;
          field.focus();
        },
      ],
      ["G", "To the end", () => goTo(list.total - 1, true)],
    ],
    update(next) {
      if (next.n !== undefined || next.seq !== undefined) goToPlace(next);
    },
    async onMeta(before) {
      const isFollowing = follows || isAtEnd();
      drawOutline();
      if (!list.node.isConnected) node.querySelector(".column").replaceChildren(trouble, list.node, newest);
      const grown = session.meta.items > before.items;
      // Going back may change anything; otherwise only the end does.
      const from = session.meta.items < before.items ? 0 : Math.max(0, before.items - 60);
      await list.refresh(from, session.meta.items);
      if (grown && isFollowing) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
      else if (grown) newest.hidden = false;
    },
    follow() {
      follows = true;
      list.goTo(list.total - 1, false);
    },
    stop() {
      removeEventListener("wheel", onWheel);
      removeEventListener("beforeprint", onPaper);
      removeEventListener("afterprint", offPaper);
      list.stop();
    },
  };
}

export function agentTree(agents) {
  return h(
    "ul.tree",
    agents.map((agent) =>
      h(
        "li",
        h(
          "a",
          { href: `#/s/${encodeURIComponent(agent.id)}` },
          h("span.outline-text", icon("agent"), agent.description || agent.name || agent.id),
          h(
            "span.faint",
            agent.name && agent.description ? `${agent.name}, ` : "",
            plural(agent.items, "item"),
            agent.start && agent.end ? `, ${duration(agent.end - agent.start)}` : "",
            `, ${money(agent.cost_micro_usd)}`,
          ),
        ),
        agent.state === "done" ? null : stateChip(agent.state),
        agent.agents && agent.agents.length ? agentTree(agent.agents) : null,
      ),
    ),
  );
}
