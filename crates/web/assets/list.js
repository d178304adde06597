// All sessions: what waits for me, what runs, what it cost; search in names and in everything that was said.
import { h, icon, replace } from "./dom.js";
import { ago, baseName, clip, count, day, money, plural, short, words } from "./format.js";
import { atMostEvery, get, isExport, query } from "./api.js";
import { STATES, empty, failure, loading, stateChip, timeAgo } from "./parts.js";
import { say } from "./shell.js";

const KIND_NAMES = {
  prompt: "Prompts",
  answer: "Answers",
  thinking: "Thinking",
  call: "Calls",
  result: "Results",
  summary: "Summaries",
};
const LIMIT = 200;
/// Rows of one answer, and conversations shown of a search.
const PART = 500;
const HITS_MAX = 100;

export function listView(params) {
  const chosen = {
    q: params.q || "",
    state: params.state || "",
    project: params.project || "",
    model: params.model || "",
    tool: params.tool || "",
    file: params.file || "",
    kind: params.kind || "",
    outcome: params.outcome || "",
  };
  const picked = new Set();
  const found = h("div.sessions", loading());
  const hits = h("div.hits");
  const compareBar = h("div.compare-bar", { hidden: true });
  const states = h("div.filters-states", { role: "group", "aria-label": "State" });
  const selects = h("div.filters-more");
  const summary = h("p.summary");
  let control = new AbortController();
  let limit = LIMIT;
  let timer = 0;
  let version = -1;
  let drawnFacets = "";

  const field = h("input#search", {
    type: "search",
    placeholder: "Search everything that was said",
    "aria-label": "Search",
    value: chosen.q,
    autocomplete: "off",
    spellcheck: "false",
  });
  field.addEventListener("input", () => {
    chosen.q = field.value;
    later();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      refresh(true);
    }
  });

  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => refresh(true), 220);
  }

  function remember() {
    const path = `#/${query(chosen)}`;
    if (location.hash !== path) history.replaceState(null, "", path);
  }

  async function refresh(isNew) {
    control.abort();
    control = new AbortController();
    const { signal } = control;
    if (isNew) {
      limit = LIMIT;
      remember();
    }
    try {
      const { kind, ...filters } = chosen;
      if (/^(ok|error)$/.test(filters.outcome)) filters.outcome = "";
      const answer = await loadRows(filters, signal);
      version = answer.version;
      drawFilters(answer.facets || {});
      drawRows(answer);
      if (isNew) say(plural(answer.total, "session"));
      await search(signal);
    } catch (error) {
      if (error.name !== "AbortError") replace(found, failure(error));
    }
  }

  /// As many rows as are wanted; the server gives a part at a time.
  async function loadRows(filters, signal) {
    if (isExport) return get("/api/sessions", signal);
    let all = null;
    do {
      const from = all ? all.sessions.length : 0;
      const part = await get(
        `/api/sessions${query({ ...filters, from, limit: Math.min(limit - from, PART) })}`,
        signal,
      );
      if (all) part.sessions.unshift(...all.sessions);
      const isStuck = all && part.sessions.length === all.sessions.length;
      all = part;
      if (isStuck) break;
    } while (all.sessions.length < Math.min(limit, all.total));
    return all;
  }

  async function search(signal) {
    const outcome = /^(ok|error)$/.test(chosen.outcome) ? chosen.outcome : "";
    const wanted = !isExport && (chosen.q.trim().length >= 2 || chosen.kind || chosen.file || outcome);
    if (!wanted) {
      replace(hits);
      return;
    }
    if (!hits.hasChildNodes()) replace(hits, loading("Looking through conversations…"));
    const filters = chosen;
    let after = null;
    const all = [];
    for (let round = 0; round < 20; round += 1) {
      const part = await get(`/api/search${query({ ...filters, outcome, limit: 50, after })}`, signal);
      all.push(...part.hits);
      after = part.next;
      drawHits(all, part);
      if (part.complete || !after || all.length >= HITS_MAX) return;
    }
  }

  function drawHits(all, part) {
    const places = all.reduce((sum, hit) => sum + hit.places.length, 0);
    replace(
      hits,
      h(
        "h2",
        all.length
          ? `${plural(places, "place")} in ${plural(all.length, "conversation")}`
          : part.complete
            ? "Nothing in the conversations"
            : "Looking through conversations…",
        all.length >= HITS_MAX && !part.complete
          ? h("span.faint", " Narrow it down: there are more.")
          : part.complete
            ? null
            : h("span.faint", ` ${count(part.looked_at)} of ${count(part.of)} looked through`),
      ),
      all.map((hit) =>
        h(
          "section.hit",
          h(
            "h3",
            h("a", { href: `#/s/${encodeURIComponent(hit.session.id)}` }, title(hit.session)),
            " ",
            h("span.faint", timeAgo(hit.session.updated)),
          ),
          h(
            "ul",
            hit.places.map((place) =>
              h(
                "li",
                h(
                  "a.place",
                  { href: `#/s/${encodeURIComponent(hit.session.id)}/conversation?seq=${place.seq}` },
                  h(
                    "span.place-kind",
                    { class: place.is_error ? "is-failed" : "" },
                    place.tool || words(place.kind),
                  ),
                  h("span.excerpt", excerpt(place)),
                ),
              ),
            ),
          ),
          hit.more ? h("p.faint", "More in this conversation.") : null,
        ),
      ),
    );
  }

  function drawFilters(facets) {
    const counts = facets.states || {};
    replace(
      states,
      Object.entries(STATES)
        .filter(([name]) => counts[name] || chosen.state === name)
        .map(([name, label]) => {
          const button = h(
            "button.chip.pick",
            {
              type: "button",
              class: `state-${name}`,
              "aria-pressed": String(chosen.state === name),
              id: `state-${name}`,
            },
            icon(name),
            `${label} `,
            h("span.number", count(counts[name])),
          );
          button.addEventListener("click", () => {
            chosen.state = chosen.state === name ? "" : name;
            refresh(true).then(() => {
              const again = document.getElementById(`state-${name}`);
              if (again) again.focus();
            });
          });
          return button;
        }),
    );
    // What is known grows while journals are looked through; what is being chosen from stays.
    const known = JSON.stringify([facets.projects, facets.models, facets.tools]);
    if (known === drawnFacets || (drawnFacets && selects.contains(document.activeElement))) return;
    drawnFacets = known;
    replace(
      selects,
      pick(
        "Project",
        "project",
        (facets.projects || []).map((path) => [path, baseName(path)]),
      ),
      pick(
        "Model",
        "model",
        (facets.models || []).map((name) => [name, name]),
      ),
      pick(
        "Tool",
        "tool",
        (facets.tools || []).map((name) => [name, name]),
      ),
      pick("Kind", "kind", Object.entries(KIND_NAMES)),
      pick("Outcome", "outcome", [
        ["completed", "Completed"],
        ["error", "A call failed"],
        ["max_turns", "Turn limit"],
        ["max_budget_usd", "Budget"],
        ["model_error", "Model error"],
      ]),
      fileField(),
    );
  }

  function pick(label, name, choices) {
    const known =
      choices.some(([value]) => value === chosen[name]) || !chosen[name]
        ? choices
        : [...choices, [chosen[name], chosen[name]]];
    const select = h(
      "select",
      [["", `Any ${label.toLowerCase()}`], ...known].map(([value, text]) =>
        h("option", { value, selected: value === chosen[name] }, clip(text, 40)),
      ),
    );
    select.addEventListener("change", () => {
      chosen[name] = select.value;
      refresh(true);
    });
    return h("label.pick-one", h("span.unseen", label), select);
  }

  function fileField() {
    const input = h("input", { type: "text", placeholder: "File", value: chosen.file, autocomplete: "off" });
    input.addEventListener("input", () => {
      chosen.file = input.value;
      later();
    });
    return h("label.pick-one", h("span.unseen", "File"), input);
  }

  function drawRows(answer) {
    const focused =
      document.activeElement && document.activeElement.dataset && document.activeElement.dataset.id;
    const waiting = answer.sessions.filter((row) => row.state === "waiting");
    const cost = answer.sessions.reduce((sum, row) => sum + (row.cost_micro_usd || 0), 0);
    replace(
      summary,
      plural(answer.total, "session"),
      waiting.length ? [", ", h("strong", `${waiting.length} waiting for you`)] : "",
      cost ? `, ${money(cost)}${answer.sessions.length < answer.total ? " in those shown" : ""}` : "",
    );
    if (!answer.sessions.length) {
      const isFiltered = Object.values(chosen).some(Boolean);
      replace(
        found,
        empty(
          isFiltered
            ? "No session has that in its name or fits the filters."
            : "No sessions yet. Start one with `windlass` and it appears here.",
        ),
      );
      return;
    }
    const groups = new Map();
    for (const row of answer.sessions) {
      const name = row.state === "waiting" ? STATES.waiting : dayName(row.updated);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(row);
    }
    replace(
      found,
      [...groups].map(([name, rows]) => h("section", h("h2.day", name), h("ul.rows", rows.map(row)))),
      answer.total > answer.sessions.length
        ? h(
            "button.wide",
            {
              type: "button",
              onclick: () => {
                limit += LIMIT;
                refresh(false);
              },
            },
            `Show more of ${count(answer.total)}`,
          )
        : null,
    );
    if (focused) {
      const again = found.querySelector(`[data-id="${CSS.escape(focused)}"]`);
      if (again) again.focus();
    }
  }

  function row(session) {
    const box = h("input", {
      type: "checkbox",
      checked: picked.has(session.id),
      "aria-label": `Compare ${clip(title(session), 60)}`,
    });
    box.addEventListener("change", () => {
      if (box.checked) picked.add(session.id);
      else picked.delete(session.id);
      drawCompare();
    });
    const tokens =
      session.input_tokens === null || session.input_tokens === undefined
        ? null
        : session.input_tokens + (session.output_tokens || 0);
    return h(
      "li.row",
      { class: `row-${session.state}` },
      isExport ? null : h("label.compare-box", { title: "Compare" }, box),
      h(
        "a.row-main",
        { href: `#/s/${encodeURIComponent(session.id)}`, data: { id: session.id } },
        h("span.row-title", title(session)),
        h(
          "span.row-under",
          stateChip(session.state),
          h("span", { title: session.project }, baseName(session.project)),
          session.branch ? h("span", session.branch) : null,
          session.model ? h("span", session.model) : null,
          session.errors ? h("span", plural(session.errors, "failed call")) : null,
          session.agents ? h("span", plural(session.agents, "agent")) : null,
        ),
      ),
      h(
        "span.row-numbers",
        h("span.row-cost", money(session.cost_micro_usd)),
        h("span", tokens === null ? plural(session.messages, "message") : `${short(tokens)} tokens`),
        h("span", timeAgo(session.updated)),
      ),
    );
  }

  function drawCompare() {
    const [a, b] = [...picked];
    compareBar.hidden = picked.size === 0;
    replace(
      compareBar,
      picked.size === 2
        ? h(
            "a.button.primary",
            { href: `#/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}` },
            icon("compare"),
            "Compare these two",
          )
        : h("span", picked.size === 1 ? "Choose one more to compare." : "Choose two to compare, not more."),
    );
  }

  function step(by) {
    const links = [...document.querySelectorAll(".row-main, .place")];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    const next = links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  const renew = atMostEvery(400, () => refresh(false));
  refresh(false);
  const clockTimer = setInterval(() => {
    for (const time of found.querySelectorAll("time"))
      time.textContent = ago(Date.parse(time.getAttribute("datetime")));
  }, 30000);
  return {
    name: "list",
    title: "Sessions",
    node: h(
      "div.page",
      h("div.page-head", h("h1", "Sessions"), summary),
      isExport ? null : h("div.search", icon("search"), field, h("kbd", { "aria-hidden": "true" }, "/")),
      isExport
        ? null
        : h(
            "div.filters",
            states,
            h(
              "details.more-filters",
              { open: innerWidth > 760 || Object.values({ ...chosen, q: "", state: "" }).some(Boolean) },
              h("summary", "Filters"),
              selects,
            ),
          ),
      compareBar,
      found,
      hits,
    ),
    keys: [
      ["/", "Search", () => field.focus()],
      ["j", "Next session", () => step(1)],
      ["k", "Session before", () => step(-1)],
    ],
    onEvent(kind, data) {
      if (kind === "sessions" && data.version !== version) renew();
    },
    stop() {
      control.abort();
      clearInterval(clockTimer);
      clearTimeout(timer);
    },
  };
}

export function title(session) {
  return clip(session.title || session.prompt || session.id, 160);
}

function excerpt(place) {
  const letters = Array.from(place.excerpt || "");
  const start = place.start || 0;
  const end = start + (place.length || 0);
  if (end <= start) return place.excerpt;
  return [
    letters.slice(0, start).join(""),
    h("mark", letters.slice(start, end).join("")),
    letters.slice(end).join(""),
  ];
}

function dayName(at) {
  const today = day(Date.now());
  const name = day(at);
  if (name === today) return "Today";
  if (name === day(Date.now() - 86400000)) return "Yesterday";
  return name;
}
