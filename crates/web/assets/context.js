// The window over time, what entered and left it, the cache, and the money.
import { h, replace } from "./dom.js";
import { clock, count, money, percent, plural, short, words } from "./format.js";
import { get, of } from "./api.js";
import { choice, dataTable, empty, fact, failure, loading, stackedBar, timeOfDay } from "./parts.js";
import { barChart } from "./bar_chart.js";

const GROUPS = [
  ["system", "System prompt"],
  ["tools", "Tools"],
  ["memory", "Memory"],
  ["pins", "Pinned"],
  ["summaries", "Summaries"],
  ["requests", "Prompts"],
  ["answers", "Answers"],
  ["reasoning", "Reasoning"],
  ["results", "Results"],
];
const CACHE = [
  ["read", "Read from cache"],
  ["write", "Written to cache"],
  ["fresh", "Fresh"],
];

export function contextView(session) {
  const node = h("div.narrow.full", h("h2", "Context and money"), loading());

  async function load() {
    try {
      const data = await get(of(session.id, "/context"));
      if (!data.requests.length && !data.points.length) {
        replace(node, h("h2", "Context and money"), empty("No request was made yet."));
        return;
      }
      replace(
        node,
        h("h2", "Context and money"),
        numbers(data),
        windowPanel(data),
        cachePanel(data),
        shrinkPanel(session, data),
        moneyPanel(session, data),
      );
    } catch (error) {
      replace(node, h("h2", "Context and money"), failure(error));
    }
  }

  function windowPanel(data) {
    if (!data.points.length) return null;
    const top = Math.max(...data.points.map((point) => point.total));
    const { window: size, threshold } = data.points[data.points.length - 1];
    let isWhole = top > size / 4;
    const told = h("div.told-point");
    const tell = (index) => {
      const point = data.points[index];
      const before = data.points[index - 1];
      const grown = before ? point.total - before.total : point.total;
      replace(
        told,
        h(
          "p",
          h("strong", `${short(point.total)} tokens`),
          `, ${percent(point.total, point.window)} of the window, run ${point.run}, turn ${point.turn}, `,
          timeOfDay(point.at),
          ", ",
          h(
            "span",
            { class: grown < 0 ? "minus" : "plus" },
            signed(grown),
          ),
          explainChange(point.change),
          " ",
          h("a", { href: `#/s/${encodeURIComponent(session.id)}/time?at=${point.seq}` }, "State then"),
        ),
        stackedBar(
          point.parts.map((part) => ({
            kind: `part-${group(part.component)}`,
            name: componentName(part.component),
            value: part.tokens,
          })),
          (value) => count(value),
          "What filled the window",
        ),
      );
    };
    const bars = barChart({
      label: "Tokens in the window, by request",
      count: data.points.length,
      stack: (index) => grouped(data.points[index]).map(([name, value]) => [`part-${name}`, value]),
      top: () => (isWhole ? size : top * 1.12),
      line: () => ({ value: threshold, name: `summarised above ${short(threshold)}` }),
      tell: (index) => {
        tell(index);
        return `${short(data.points[index].total)} tokens, turn ${data.points[index].turn}`;
      },
      flags: shrunkBefore(data),
    });
    tell(data.points.length - 1);
    return h(
      "section.panel",
      h(
        "div.panel-head",
        h("h3", "The window"),
        choice(
          "Scale",
          [
            ["used", "What is used"],
            ["whole", "Whole window"],
          ],
          isWhole ? "whole" : "used",
          (value) => {
            isWhole = value === "whole";
            bars.draw();
          },
        ),
      ),
      bars.node,
      told,
    );
  }

  function cachePanel(data) {
    const told = h("p.told");
    const rows = data.requests;
    const sum = (row) => row.input_tokens;
    const tell = (index) => {
      const row = rows[index];
      const off = row.predicted_tokens
        ? Math.abs(sum(row) - row.predicted_tokens) / Math.max(1, sum(row))
        : 0;
      const text = `${row.agent} turn ${row.turn}, ${clock(row.at)}: ${count(sum(row))} in, ${percent(row.cache_read_tokens, sum(row))} from the cache, ${count(row.output_tokens)} out, ${money(row.cost_micro_usd)}. Predicted ${count(row.predicted_tokens)}, off by ${(off * 100).toFixed(1)} %.`;
      replace(
        told,
        text,
        row.cache_miss ? h("strong.warn", ` Cache miss: ${row.cache_miss}`) : "",
        " ",
        h("a", { href: `#/s/${encodeURIComponent(session.id)}/conversation?n=${row.item}` }, "Open"),
      );
      return text;
    };
    if (!rows.length) return null;
    const bars = barChart({
      label: "Input of each request: from the cache, written to it, fresh",
      count: rows.length,
      stack: (index) => [
        ["cache-read", rows[index].cache_read_tokens],
        ["cache-write", rows[index].cache_write_tokens],
        [
          "cache-fresh",
          Math.max(0, sum(rows[index]) - rows[index].cache_read_tokens - rows[index].cache_write_tokens),
        ],
      ],
      top: () => Math.max(...rows.map(sum)) * 1.1,
      line: () => null,
      tell,
      flags: rows.map((row) => Boolean(row.cache_miss)),
    });
    tell(rows.length - 1);
    return h(
      "section.panel",
      h("h3", "The cache, request by request"),
      h(
        "ul.keyline",
        CACHE.map(([kind, name]) => h("li", h("span.swatch", { class: `fill-cache-${kind}` }), name)),
      ),
      bars.node,
      told,
    );
  }

  load();
  return { node, keys: [], onMeta: load };
}

/// Why the window has another size than at the point before.
function explainChange(change) {
  if (!change) return "";
  const { entered_tokens: entered, recounted_tokens: recounted, left_tokens: left } = change;
  const reasons = [
    entered && `${signed(entered)} ${entered < 0 ? "gone" : "new"}`,
    left && `${signed(-left)} left out`,
    recounted &&
      `${signed(recounted)} because the provider counted ${recounted < 0 ? "fewer" : "more"} tokens than were estimated`,
  ].filter(Boolean);
  return reasons.length ? ` (${reasons.join(", ")})` : "";
}

function signed(tokens) {
  return `${tokens < 0 ? "−" : "+"}${short(Math.abs(tokens))}`;
}

/// Which points have something left out before them.
function shrunkBefore({ points, shrinks }) {
  let next = 0;
  return points.map((point) => {
    const first = next;
    while (next < shrinks.length && shrinks[next].seq <= point.seq) next += 1;
    return next > first;
  });
}

function numbers(data) {
  const { totals } = data;
  const all = totals.input_tokens;
  const nested = totals.agents_cost_micro_usd;
  const besides = [
    nested ? `${money(totals.cost_micro_usd)} here, ${money(nested)} by agents` : "",
    totals.set_aside_micro_usd ? `${money(totals.set_aside_micro_usd)} set aside` : "",
  ].filter(Boolean);
  return h(
    "dl.numbers",
    fact(
      "Cost",
      money(totals.cost_micro_usd + nested),
      besides.length ? h("span.faint.below", besides.join(", ")) : "",
    ),
    fact("Paid requests", count(totals.requests)),
    fact("Input", short(all), h("span.faint", " tokens")),
    fact("From the cache", percent(totals.cache_read_tokens, all)),
    fact("Output", short(totals.output_tokens), h("span.faint", " tokens")),
    fact("Cache misses", count(totals.cache_misses)),
  );
}

function shrinkPanel(session, data) {
  if (!data.shrinks.length)
    return h("section.panel", h("h3", "What left the window"), h("p.faint", "Nothing had to be left out."));
  return h(
    "section.panel",
    h("h3", "What left the window"),
    h(
      "ul.levels",
      data.levels
        .filter((level) => level.times)
        .map((level) =>
          h(
            "li",
            h("strong", `Level ${level.level}`),
            ` ${plural(level.times, "time")}, ${short(level.freed_tokens)} tokens: `,
            level.words,
          ),
        ),
    ),
    h(
      "ol.shrinks",
      data.shrinks.slice(0, 200).map((shrink) =>
        h(
          "li",
          h(
            "a",
            { href: `#/s/${encodeURIComponent(session.id)}/conversation?n=${shrink.item}` },
            timeOfDay(shrink.at),
          ),
          ` level ${shrink.level}, ${short(shrink.freed_tokens)} tokens: `,
          shrink.words,
          shrink.losses && shrink.losses.length
            ? h(
                "details",
                h("summary", plural(shrink.losses.length, "loss", "losses")),
                h(
                  "ul",
                  shrink.losses.slice(0, 100).map((loss) => h("li", loss)),
                ),
              )
            : null,
        ),
      ),
    ),
  );
}

function moneyPanel(session, data) {
  const cost = {
    name: "Cost",
    number: true,
    cell: (row) => money(row.cost_micro_usd),
    share: (row) => row.cost_micro_usd,
  };
  const input = { name: "In", number: true, cell: (row) => short(row.input_tokens) };
  const output = { name: "Out", number: true, cell: (row) => short(row.output_tokens) };
  return h(
    "section.panel",
    h("h3", "Money"),
    h(
      "div.tables",
      dataTable(
        "Cost by turn",
        [{ name: "Turn", cell: (row) => `${row.run}.${row.turn}` }, input, output, cost],
        data.by_turn.slice(0, 500),
      ),
      dataTable(
        "Cost by agent",
        [
          {
            name: "Agent",
            cell: (row) =>
              row.session ? h("a", { href: `#/s/${encodeURIComponent(row.session)}` }, row.agent) : row.agent,
          },
          { name: "Requests", number: true, cell: (row) => count(row.requests) },
          cost,
        ],
        data.by_agent,
      ),
      dataTable(
        "Tools",
        [
          { name: "Tool", cell: (row) => row.tool },
          { name: "Calls", number: true, cell: (row) => count(row.calls) },
          { name: "Failed", number: true, cell: (row) => count(row.failed) },
          {
            name: "Result",
            number: true,
            cell: (row) => short(row.result_bytes),
            share: (row) => row.result_bytes,
          },
        ],
        data.by_tool,
      ),
      dataTable(
        "Cost by model",
        [
          { name: "Model", cell: (row) => row.model },
          { name: "Requests", number: true, cell: (row) => count(row.requests) },
          cost,
        ],
        data.by_model,
      ),
    ),
  );
}

function group(component) {
  const name = component.split(":")[0];
  return GROUPS.some(([known]) => known === name) ? name : "results";
}

function grouped(point) {
  const sums = new Map(GROUPS.map(([name]) => [name, 0]));
  for (const part of point.parts)
    sums.set(group(part.component), sums.get(group(part.component)) + part.tokens);
  return [...sums];
}

/// What a part of the window is called.
export function componentName(component) {
  const [name, tool] = component.split(":");
  if (tool) return `Results of ${tool}`;
  const known = GROUPS.find(([candidate]) => candidate === name);
  return known ? known[1] : words(component);
}
