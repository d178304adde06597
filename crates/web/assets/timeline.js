// Where the time went: a lane for each model, tool and agent.
import { h, replace } from "./dom.js";
import { clip, clock, duration } from "./format.js";
import { get, of } from "./api.js";
import { dataTable, empty, failure, loading, stackedBar } from "./parts.js";
import { spanHref, spanName, timeChart } from "./time_chart.js";

const LANE_NAMES = {
  model: "Model",
  tool: "Tools",
  person: "Waiting for you",
  wait: "Back-off",
  other: "Windlass itself",
  idle: "Between prompts",
};

export function timelineView(session, params, context) {
  const node = h("div.narrow.full", h("h2", "Timeline"), loading());
  let chart = null;
  let isStopped = false;

  async function load() {
    try {
      const data = await get(of(session.id, "/timeline"));
      if (isStopped) return;
      if (!data.spans.length) {
        replace(node, h("h2", "Timeline"), empty("Nothing took any time yet."));
        return;
      }
      const view = chart && chart.window();
      if (chart) chart.stop();
      chart = timeChart(session, data, context);
      if (view) chart.setWindow(view);
      replace(
        node,
        h("h2", "Timeline"),
        wentTo(data),
        chart.node,
        slowest(session, data),
        data.cut ? h("p.empty", "Very long: only the first 20,000 pieces are shown.") : null,
      );
      chart.draw();
    } catch (error) {
      replace(node, h("h2", "Timeline"), failure(error));
    }
  }
  load();
  return {
    node,
    keys: [
      ["+", "Zoom in", () => chart && chart.zoom(0.5)],
      ["-", "Zoom out", () => chart && chart.zoom(2)],
      ["0", "Whole session", () => chart && chart.fit()],
    ],
    onMeta: load,
    stop() {
      isStopped = true;
      if (chart) chart.stop();
    },
  };
}

function wentTo(data) {
  const parts = ["model", "tool", "person", "wait", "other"].map((kind) => ({
    kind,
    name: LANE_NAMES[kind],
    value: data.totals[`${kind}_ms`] || 0,
  }));
  return h(
    "section.panel",
    h("h3", "Where the time went"),
    stackedBar(parts, duration, "Where the time went"),
    data.totals.idle_ms
      ? h("p.faint", `${duration(data.totals.idle_ms)} between prompts are not counted.`)
      : null,
  );
}

function slowest(session, data) {
  const lanes = new Map(data.lanes.map((lane) => [lane.id, lane]));
  const rows = data.spans
    .filter((span) => span.end !== null)
    .sort((a, b) => b.end - b.start - (a.end - a.start))
    .slice(0, 8);
  return dataTable(
    "What took longest",
    [
      {
        name: "What",
        cell: (span) =>
          h(
            "a",
            { href: spanHref(session, lanes.get(span.lane), span) },
            clip(
              spanName(span, lanes.get(span.lane), session.meta.session.project) ||
                lanes.get(span.lane).label,
              70,
            ),
          ),
      },
      { name: "Lane", cell: (span) => lanes.get(span.lane).label },
      { name: "At", number: true, cell: (span) => clock(span.start) },
      {
        name: "Took",
        number: true,
        cell: (span) => duration(span.end - span.start),
        share: (span) => span.end - span.start,
      },
    ],
    rows,
  );
}
