// Two sessions side by side.
import { h, replace } from "./dom.js";
import { bytes, clip, count, duration, money, plural, words } from "./format.js";
import { get, of, query } from "./api.js";
import { dataTable, empty, failure, loading, stateChip, timeAgo, timeOfDay } from "./parts.js";
import { title } from "./list.js";
import { callTitle } from "./item.js";

const ITEMS = 200;
const UNITS = { micro_usd: money, tokens: count, ms: duration, count, bytes };

export function compareView(a, b) {
  const node = h("div.page", h("h1", "Compare"), loading());
  async function load() {
    try {
      const data = await get(`/api/compare${query({ a, b })}`);
      replace(
        node,
        h("h1", "Compare"),
        h("div.sides", side(data.a, "A"), side(data.b, "B")),
        h(
          "p.summary",
          data.shared_items
            ? `Both are alike in their first ${plural(data.shared_items, "item")}.`
            : "They differ from the beginning.",
        ),
        h("section.panel", numbersTable(data.rows)),
        filesPanel(data.files),
        await steps(data),
      );
    } catch (error) {
      replace(node, h("h1", "Compare"), failure(error));
    }
  }
  load();
  return { name: "compare", title: "Compare", node, keys: [] };
}

function side(one, letter) {
  return h(
    "section.panel.side",
    h("p.label", letter),
    h("h2", h("a", { href: `#/s/${encodeURIComponent(one.session.id)}` }, title(one.session))),
    h(
      "p.row-under",
      stateChip(one.session.state),
      h("span", one.session.model || ""),
      timeAgo(one.session.updated),
    ),
  );
}

function numbersTable(rows) {
  const show = (row, value) =>
    value === null || value === undefined
      ? "–"
      : row.unit === "text"
        ? String(value)
        : (UNITS[row.unit] || count)(value);
  return dataTable(
    "Numbers",
    [
      { name: "What", cell: (row) => words(row.name) },
      { name: "A", number: true, cell: (row) => show(row, row.a) },
      { name: "B", number: true, cell: (row) => show(row, row.b) },
      { name: "B against A", number: true, cell: change },
    ],
    rows,
  );
}

function change(row) {
  if (row.unit === "text") return row.a === row.b ? "same" : "other";
  if (typeof row.a !== "number" || typeof row.b !== "number") return "";
  if (row.a === row.b) return h("span.faint", "same");
  if (!row.a) return "";
  const by = Math.round((100 * (row.b - row.a)) / row.a);
  return `${by > 0 ? "+" : "−"}${Math.abs(by)} %`;
}

function filesPanel(files) {
  if (!files || !files.length) return null;
  return h(
    "section.panel",
    dataTable(
      "Files",
      [
        { name: "File", cell: (file) => h("code", file.path) },
        { name: "A", cell: (file) => file.a || "–" },
        { name: "B", cell: (file) => file.b || "–" },
      ],
      files.slice(0, 300),
    ),
  );
}

async function steps(data) {
  const from = data.shared_items - (data.shared_items % ITEMS);
  const [left, right] = await Promise.all(
    [data.a, data.b].map((one) => get(of(one.session.id, `/items?from=${from}&to=${from + ITEMS}`))),
  );
  const own = (part) =>
    part.items.filter(
      (item) => item.n >= data.shared_items && /^(prompt|answer|call|end|summary|switched)$/.test(item.kind),
    );
  return h(
    "section",
    h("h2", data.shared_items ? "From where they part" : "Step by step"),
    h("div.sides", column(data.a, "A", own(left)), column(data.b, "B", own(right))),
  );
}

function column(one, letter, items) {
  if (!items.length) return h("div.side", empty("Nothing more."));
  return h(
    "ol.side.brief",
    { "aria-label": `Steps of ${letter}` },
    items.map((item) =>
      h(
        "li",
        { class: `kind-${item.kind} ${item.status ? `status-${item.status}` : ""}` },
        h(
          "a",
          { href: `#/s/${encodeURIComponent(one.session.id)}/conversation?n=${item.n}` },
          timeOfDay(item.at),
        ),
        " ",
        item.kind === "call"
          ? [
              h("span.tool-name", item.tool),
              " ",
              h("span.mono", clip(callTitle(item, one.session.project), 90)),
            ]
          : h("span", clip(item.text || item.words || "", 220)),
        item.ms ? h("span.ms", ` ${duration(item.ms)}`) : null,
      ),
    ),
  );
}
