// Why the loop went on or stopped, and who allowed what: the rule that won and the facts it saw.
import { h, icon, replace } from "./dom.js";
import { count, plural, words } from "./format.js";
import { get, of } from "./api.js";
import { empty, facts, failure, loading, ticked, timeOfDay } from "./parts.js";
import { say } from "./shell.js";

const REASONS_PAGE = 200;
const REASON_NAMES = {
  asked: "You asked",
  continued: "Went on",
  shrunk: "Made room",
  switched: "Switched model",
  waited: "Waited",
  repaired: "Repaired",
  retracted: "Took back",
  sealed: "Sealed",
  denied: "Denied",
  ruled: "Permission",
  ended: "Stopped",
};
const REASON_ICONS = {
  asked: "user",
  continued: "chevron",
  denied: "failed",
  ended: "done",
  waited: "waiting",
  ruled: "note",
  retracted: "interrupted",
};

export function whyView(session) {
  const body = h("ol.reasons");
  const more = h("div");
  const filters = h("div.kinds", { role: "group", "aria-label": "Show" });
  const all = [];
  const hidden = new Set();
  let total = 0;

  async function load() {
    replace(more, loading("Reading the reasons…"));
    try {
      const part = await get(of(session.id, `/why?from=${all.length}&to=${all.length + REASONS_PAGE}`));
      total = part.total;
      all.push(...part.reasons);
      draw();
    } catch (error) {
      replace(more, failure(error));
    }
  }

  function draw() {
    const kinds = Object.keys(REASON_NAMES).filter((kind) => all.some((reason) => reason.kind === kind));
    if (filters.children.length !== kinds.length)
      replace(
        filters,
        kinds.map((kind) => {
          const button = h(
            "button.chip.pick",
            { type: "button", "aria-pressed": String(!hidden.has(kind)) },
            REASON_NAMES[kind],
            " ",
            h("span.number", count(all.filter((reason) => reason.kind === kind).length)),
          );
          button.addEventListener("click", () => {
            if (hidden.has(kind)) hidden.delete(kind);
            else hidden.add(kind);
            button.setAttribute("aria-pressed", String(!hidden.has(kind)));
            draw();
          });
          return button;
        }),
      );
    const shown = all.filter((reason) => !hidden.has(reason.kind));
    run = 0;
    replace(body, shown.map(reasonRow));
    replace(
      more,
      !all.length
        ? empty("Nothing has happened yet.")
        : all.length < total
          ? h(
              "button.wide",
              { type: "button", onclick: load },
              `Show more, ${count(total - all.length)} left`,
            )
          : null,
    );
  }

  /// Files of the project without the way to it.
  function inProject(value) {
    const { project } = session.meta.session;
    return project ? value.replace(`${project}/`, "") : value;
  }

  let run = 0;
  function reasonRow(reason) {
    const isNew = reason.run !== run;
    run = reason.run;
    return h(
      "li.reason",
      { class: `why-${reason.kind}`, tabindex: "-1", data: { seq: reason.seq } },
      h("span.knob", { "aria-hidden": "true" }, icon(REASON_ICONS[reason.kind] || "note")),
      h(
        "div",
        isNew && reason.run ? h("h3.run", `Run ${reason.run}`) : null,
        h(
          "p.reason-head",
          h("strong", REASON_NAMES[reason.kind] || words(reason.kind)),
          reason.name ? h("code", reason.name) : null,
          h("span.faint", reason.turn ? `turn ${reason.turn}, ` : "", timeOfDay(reason.at)),
        ),
        h("p", ticked(reason.words)),
        facts(reason.facts.map(([name, value]) => [name, inProject(value)])),
        h(
          "p.links",
          reason.item !== null && reason.item !== undefined
            ? h(
                "a",
                { href: `#/s/${encodeURIComponent(session.id)}/conversation?n=${reason.item}` },
                "In the conversation",
              )
            : null,
          h(
            "a",
            { href: `#/s/${encodeURIComponent(session.id)}/time?at=${reason.seq}` },
            `State at event ${reason.seq}`,
          ),
        ),
      ),
    );
  }

  function step(by) {
    const rows = [...body.children];
    const at = rows.indexOf(document.activeElement && document.activeElement.closest(".reason"));
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (next) {
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    }
  }

  load();
  return {
    node: h(
      "div.narrow",
      h(
        "div.view-head",
        h("h2", "Why"),
        h(
          "p.faint",
          "Each time the loop went on, waited, made room or stopped: the rule that won and what it saw.",
        ),
      ),
      filters,
      body,
      more,
    ),
    keys: [
      ["j", "Next reason", () => step(1)],
      ["k", "Reason before", () => step(-1)],
    ],
    onMeta() {
      if (all.length >= total) {
        load().then(() => say(plural(total, "reason")));
      }
    },
  };
}
