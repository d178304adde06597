// Small pieces that several views use.
import { h, icon, outsideLink } from "./dom.js";
import { code } from "./highlight.js";
import { ago, bytes, clock, count, duration, moment, percent } from "./format.js";

export const STATES = {
  waiting: "Waiting for you",
  running: "Running",
  done: "Done",
  failed: "Failed",
  interrupted: "Interrupted",
};

export function stateChip(state) {
  return h("span.chip", { class: `state-${state}` }, icon(state), STATES[state] || state || "Unknown");
}

/// When, as a person would say it, with the exact time behind it.
export function timeAgo(at) {
  return h("time", { datetime: new Date(at || 0).toISOString(), title: moment(at) }, ago(at));
}

export function timeOfDay(at) {
  return h("time", { datetime: new Date(at || 0).toISOString(), title: moment(at) }, clock(at));
}

export function spent(ms) {
  return ms === null || ms === undefined ? null : h("span.ms", duration(ms));
}

/// Words with `code` in them.
export function ticked(text) {
  return String(text || "")
    .split("`")
    .map((part, i, all) => (i % 2 && i < all.length - 1 ? h("code", part) : i % 2 ? `\`${part}` : part));
}

export function failure(error) {
  return h("div.failure", { role: "alert" }, icon("failed"), h("p", ticked(error.message || String(error))));
}

export function empty(text) {
  return h("p.empty", ticked(text));
}

export function loading(what = "Loading…") {
  return h("p.loading", { role: "status" }, what);
}

/// A text that a keyboard can scroll when it is wide.
export function textBlock(text, label, kind = "pre.code", language = "") {
  return h(kind, { tabindex: "0", role: "group", "aria-label": label }, code(plain(text), language));
}

/// Without the control sequences of terminals, which mean nothing here.
export function plain(text) {
  return String(text)
    .replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[@-_]/g, "")
    .replace(/\r\n/g, "\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
}

const INLINE = new Set(["code", "em", "strong", "del", "br"]);
const BLOCK = new Set(["p", "ul", "ol", "li", "blockquote", "hr", "thead", "tbody", "tr", "th", "td"]);

/// Markdown that the server has parsed. A tag that is not known is shown as its text.
export function prose(nodes) {
  return h(
    "div.prose",
    nodes.map((node) => element(node, 0)),
  );
}

function element(node, depth) {
  if (typeof node === "string") return node;
  if (!Array.isArray(node) || depth > 40) return null;
  const [tag, second, ...others] = node;
  const has = second && typeof second === "object" && !Array.isArray(second);
  const given = has ? second : {};
  const parts = () => (has ? others : node.slice(1)).map((child) => element(child, depth + 1));
  if (tag === "pre")
    return h(
      "pre.code",
      {
        tabindex: "0",
        role: "group",
        "aria-label": given.lang ? `Code, ${given.lang}` : "Code",
        data: { lang: given.lang || "" },
      },
      code((has ? others : node.slice(1)).filter((part) => typeof part === "string").join(""), given.lang),
    );
  if (/^h[1-6]$/.test(tag)) return h("p.heading", { data: { level: tag[1] } }, parts());
  if (tag === "a") return given.href ? outsideLink(given.href, parts()) : parts();
  if (tag === "table")
    return h("div.scroll", { tabindex: "0", role: "group", "aria-label": "Table" }, h("table", parts()));
  if (tag === "task") return [given.done ? "☑ " : "☐ ", parts()];
  if (tag === "ol") return h("ol", given.start && given.start !== 1 ? { start: given.start } : {}, parts());
  if (tag === "th" || tag === "td")
    return h(tag, given.align ? { class: `align-${given.align}` } : {}, parts());
  if (INLINE.has(tag) || BLOCK.has(tag)) return h(tag, parts());
  return parts();
}

/// Says that there is more than is shown, and brings it.
export function moreButton(text, bring) {
  const button = h("button.quiet", { type: "button" }, `Show all ${bytes(text.bytes)}`);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await bring();
      button.remove();
    } catch (error) {
      button.replaceWith(failure(error));
    }
  });
  return button;
}

/// One bar of several parts, with a legend that says the same in words.
export function stackedBar(parts, format, label) {
  const all = parts.reduce((sum, part) => sum + part.value, 0);
  const shown = parts.filter((part) => part.value > 0);
  return h(
    "div.stacked",
    h(
      "div.bar",
      { "aria-hidden": "true" },
      shown.map((part) =>
        h("span", { class: `fill-${part.kind}`, style: { "flex-grow": String(part.value) } }),
      ),
    ),
    h(
      "dl.legend",
      { "aria-label": label },
      shown.map((part) =>
        h(
          "div",
          h("dt", h("span.swatch", { class: `fill-${part.kind}` }), part.name),
          h("dd", format(part.value), " ", h("span.faint", percent(part.value, all))),
        ),
      ),
    ),
  );
}

/// A table whose numbers have a bar behind them. `columns`: name, cell(row), number?, share?(row)
export function dataTable(caption, columns, rows) {
  const most = columns.map((column) => (column.share ? Math.max(1, ...rows.map(column.share)) : 0));
  return h(
    "div.scroll",
    { tabindex: "0", role: "group", "aria-label": caption },
    h(
      "table.data",
      h("caption", caption),
      h(
        "thead",
        h(
          "tr",
          columns.map((column) =>
            h("th", { scope: "col", class: column.number ? "number" : "" }, column.name),
          ),
        ),
      ),
      h(
        "tbody",
        rows.map((row) =>
          h(
            "tr",
            columns.map((column, i) =>
              h(
                "td",
                { class: column.number ? "number" : "" },
                column.cell(row),
                column.share
                  ? h(
                      "span.meter",
                      { "aria-hidden": "true" },
                      h("span", { style: { width: `${(100 * column.share(row)) / most[i]}%` } }),
                    )
                  : null,
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

export function fact(name, ...value) {
  return h("div", h("dt", name), h("dd", value));
}

export function facts(pairs) {
  return pairs && pairs.length
    ? h(
        "dl.facts",
        pairs.map(([name, value]) => fact(name, value)),
      )
    : null;
}

export function changeCount(changes) {
  if (!changes || typeof changes.insertions !== "number") return null;
  const words = `${count(changes.insertions)} lines added, ${count(changes.deletions)} removed`;
  return h(
    "span.changes",
    { title: words },
    changes.insertions || !changes.deletions ? h("span.plus", `+${changes.insertions}`) : null,
    " ",
    changes.deletions ? h("span.minus", `−${changes.deletions}`) : null,
  );
}

/// One of several, as buttons: `choices` are [value, label].
export function choice(label, choices, chosen, onChoose) {
  const group = h("div.choice", { role: "group", "aria-label": label });
  for (const [value, name] of choices) {
    const button = h("button", { type: "button", "aria-pressed": String(value === chosen) }, name);
    button.addEventListener("click", () => {
      for (const other of group.children) other.setAttribute("aria-pressed", String(other === button));
      onChoose(value);
    });
    group.append(button);
  }
  return group;
}
