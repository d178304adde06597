// The lanes of a timeline: drawn, zoomed, moved, and walked through with the arrow keys.
import { h, icon, replace, s } from "./dom.js";
import { clip, clock, count, duration, plural, words } from "./format.js";
import { choice } from "./parts.js";
import { say } from "./shell.js";
import { laneRows, tickName, timeScale } from "./time_scale.js";

const AXIS = 34;
const STEPS = [
  10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5,
];

/// Where a piece of the timeline stands in a conversation.
export function spanHref(session, lane, span) {
  return `#/s/${encodeURIComponent((lane && lane.agent) || session.id)}/conversation?n=${span.n}`;
}

/// What a piece is about, without what its lane says already.
export function spanName(span, lane, project) {
  let name = (span.label || "").replace(/ \(main\)$/, "");
  if (name.startsWith(`${lane.label} `)) name = name.slice(lane.label.length + 1);
  if (name === lane.label) return "";
  return project ? name.replaceAll(`${project}/`, "") : name;
}

export function timeChart(session, data, context) {
  const { project } = session.meta.session;
  const end =
    data.end === null
      ? Math.max(data.start, ...data.spans.map((span) => span.end || span.start), context.now())
      : data.end;
  const lanes = data.lanes.map((lane) => ({ ...lane, spans: [] }));
  const byId = new Map(lanes.map((lane) => [lane.id, lane]));
  for (const span of data.spans) if (byId.has(span.lane)) byId.get(span.lane).spans.push(span);
  for (const lane of lanes) lane.spans.sort((a, b) => a.start - b.start);
  const rows = laneRows(lanes, session.meta.agents);
  let scale = timeScale(data, end, true);
  let from = 0;
  let to = scale.length;
  let picked = null;
  let planned = false;

  const drawing = s("svg", { "aria-hidden": "true" });
  const told = h("p.told", "Choose a piece with the arrow keys, open it with Enter. + and − zoom.");
  const box = h(
    "div.lanes",
    {
      tabindex: "0",
      role: "application",
      "aria-label": `Timeline, ${plural(lanes.length, "lane")}, ${plural(data.spans.length, "piece")}. Arrow keys choose, Enter opens, plus and minus zoom.`,
    },
    drawing,
  );

  function plan() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => {
      planned = false;
      draw();
    });
  }

  function layout() {
    const width = Math.max(280, box.clientWidth);
    const labels = width > 720 ? 168 : 0;
    return { width, labels, row: labels ? 30 : 44, plot: width - labels - 10 };
  }

  const x = (place, size) => size.labels + ((place - from) / (to - from)) * size.plot;

  function draw() {
    const size = layout();
    const height = AXIS + rows.length * size.row + 8;
    drawing.setAttribute("viewBox", `0 0 ${size.width} ${height}`);
    drawing.setAttribute("height", height);
    const parts = [];
    for (const gap of scale.gaps)
      if (gap.to > from && gap.from < to) parts.push(...gapParts(gap, size, height));
    parts.push(...axis(size, height), ...marks(size, height));
    rows.forEach((row, place) =>
      parts.push(
        ...(row.lane
          ? laneParts(row.lane, place, size)
          : [s("text.agent-name", { x: 0, y: AXIS + place * size.row + size.row - 9 }, clip(row.name, 80))]),
      ),
    );
    replace(drawing, parts);
  }

  function axis(size, height) {
    const wanted = ((to - from) / size.plot) * 90;
    const step = STEPS.find((ms) => ms >= wanted) || STEPS[STEPS.length - 1];
    const out = [];
    let last = -Infinity;
    for (let place = Math.ceil(from / step) * step; place <= to; place += step) {
      if (scale.gaps.some((gap) => place > gap.from && place < gap.to)) continue;
      const left = x(place, size);
      if (left - last < 56 || left > size.width - 24) continue;
      last = left;
      out.push(
        s("line.tick", { x1: left, x2: left, y1: AXIS - 8, y2: height - 8 }),
        s("text.tick-text", { x: left + 4, y: 12 }, tickName(scale.from(place) - data.start, step)),
      );
    }
    return out;
  }

  function gapParts(gap, size, height) {
    const [a, b] = [Math.max(size.labels, x(gap.from, size)), Math.min(size.width, x(gap.to, size))];
    return [
      s("rect.gap", { x: a, y: AXIS - 8, width: Math.max(0, b - a), height: height - AXIS }),
      b - a > 46
        ? s("text.gap-text", { x: (a + b) / 2, y: AXIS + 6, "text-anchor": "middle" }, duration(gap.ms))
        : null,
    ].filter(Boolean);
  }

  function marks(size, height) {
    return data.marks
      .filter((mark) => scale.to(mark.at) >= from && scale.to(mark.at) <= to)
      .slice(0, 400)
      .map((mark) => {
        const left = x(scale.to(mark.at), size);
        return s(
          "g",
          { class: `mark mark-${mark.kind}` },
          s("line", { x1: left, x2: left, y1: AXIS - 14, y2: height - 8 }),
          s("circle", { cx: left, cy: AXIS - 14, r: 3.5 }),
          s("title", `${words(mark.kind)}: ${clip(mark.label, 200)}`),
        );
      });
  }

  function laneParts(lane, row, size) {
    const top = AXIS + row * size.row;
    const bar = size.labels ? { y: top + 6, height: 18 } : { y: top + 20, height: 18 };
    const name = lane.label;
    const out = [
      s("rect.lane", {
        x: size.labels,
        y: bar.y,
        width: size.width - size.labels,
        height: bar.height,
        rx: 4,
      }),
      s(
        "text.lane-name",
        { x: size.labels ? 0 : 2, y: size.labels ? top + 19 : top + 14 },
        clip(name, size.labels ? 24 : 50),
        s("title", name),
      ),
    ];
    let open = null;
    const flush = () => {
      if (open) out.push(spanRect(open, lane, bar));
      open = null;
    };
    for (const span of lane.spans) {
      const a = scale.to(span.start);
      const b = scale.to(span.end === null ? end : span.end);
      if (b < from || a > to) continue;
      const left = Math.max(size.labels, x(a, size));
      const right = Math.min(size.width, x(b, size));
      if (open && left - open.right < 1.2 && right - left < 3 && span !== picked && open.span !== picked) {
        open.right = Math.max(open.right, right);
        continue;
      }
      flush();
      open = { left, right, span };
    }
    flush();
    return out;
  }

  function spanRect({ left, right, span }, lane, bar) {
    const isPicked = picked === span;
    const width = Math.max(2.5, right - left - 0.5);
    return s(
      "g",
      {
        class: `span fill-${lane.kind} span-${span.status}${isPicked ? " picked" : ""}`,
        data: { lane: lane.id, n: span.n, seq: span.seq },
      },
      s("rect", { x: left, y: bar.y, width, height: bar.height, rx: Math.min(4, width / 2) }),
      width > 60
        ? s(
            "text.span-text",
            { x: left + 6, y: bar.y + 13 },
            clip(spanName(span, lane, project), Math.floor(width / 6.6)),
          )
        : null,
      s("title", describe(span, lane)),
    );
  }

  function describe(span, lane) {
    const took = span.end === null ? "still going on" : duration(span.end - span.start);
    return `${lane.label}${spanName(span, lane, project) ? `: ${clip(spanName(span, lane, project), 160)}` : ""}, ${took}, ${clock(span.start)}${span.status === "ok" ? "" : `, ${span.status}`}`;
  }

  function pick(span, lane) {
    picked = span;
    const [a, b] = [scale.to(span.start), scale.to(span.end === null ? end : span.end)];
    if (b < from || a > to) {
      const width = to - from;
      from = Math.max(0, a - width / 2);
      to = from + width;
    }
    replace(
      told,
      h("span.swatch", { class: `fill-${lane.kind}` }),
      describe(span, lane),
      " ",
      h("a", { href: spanHref(session, lane, span) }, "Open"),
    );
    say(describe(span, lane));
    plan();
  }

  function move(key) {
    const lane = picked ? byId.get(picked.lane) : lanes.find((candidate) => candidate.spans.length);
    if (!lane) return;
    if (!picked) return pick(lane.spans[0], lane);
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const next = lane.spans[lane.spans.indexOf(picked) + (key === "ArrowRight" ? 1 : -1)];
      if (next) pick(next, lane);
      return;
    }
    const by = key === "ArrowDown" ? 1 : -1;
    for (let row = lanes.indexOf(lane) + by; row >= 0 && row < lanes.length; row += by) {
      if (!lanes[row].spans.length) continue;
      pick(
        lanes[row].spans.reduce((best, span) =>
          Math.abs(span.start - picked.start) < Math.abs(best.start - picked.start) ? span : best,
        ),
        lanes[row],
      );
      return;
    }
  }

  function zoom(by, around = (from + to) / 2) {
    const width = Math.max(20, Math.min(scale.length, (to - from) * by));
    const share = (around - from) / (to - from);
    from = Math.max(0, Math.min(scale.length - width, around - share * width));
    to = from + width;
    plan();
  }

  function placeOf(event) {
    const size = layout();
    return (
      from + ((event.clientX - box.getBoundingClientRect().left - size.labels) / size.plot) * (to - from)
    );
  }

  box.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      move(event.key);
    }
    if (event.key === "Enter" && picked) location.hash = spanHref(session, byId.get(picked.lane), picked);
  });
  box.addEventListener(
    "wheel",
    (event) => {
      if (
        !event.ctrlKey &&
        !event.metaKey &&
        !event.shiftKey &&
        Math.abs(event.deltaX) <= Math.abs(event.deltaY)
      )
        return;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, placeOf(event));
      else shift(((event.deltaX || event.deltaY) / layout().plot) * (to - from));
    },
    { passive: false },
  );

  function shift(by) {
    const width = to - from;
    from = Math.max(0, Math.min(scale.length - width, from + by));
    to = from + width;
    plan();
  }

  let held = null;
  box.addEventListener("pointerdown", (event) => {
    if (event.button === 0) held = { x: event.clientX, moved: 0, target: event.target.closest(".span") };
  });
  box.addEventListener("pointermove", (event) => {
    if (!held || !event.buttons) return;
    const by = held.x - event.clientX;
    held.x = event.clientX;
    held.moved += Math.abs(by);
    if (held.moved > 4 && event.pointerType === "mouse") {
      box.setPointerCapture(event.pointerId);
      shift((by / layout().plot) * (to - from));
    }
  });
  box.addEventListener("pointerup", () => {
    if (held && held.moved <= 4 && held.target) {
      const lane = byId.get(Number(held.target.dataset.lane));
      const span = lane.spans.find(
        (one) => String(one.seq) === held.target.dataset.seq && String(one.n) === held.target.dataset.n,
      );
      if (span) location.hash = spanHref(session, lane, span);
    }
    held = null;
  });

  const observer = new ResizeObserver(plan);
  observer.observe(box);
  const fit = () => {
    from = 0;
    to = scale.length;
    plan();
  };
  const tools = h(
    "div.view-tools",
    choice(
      "Pauses",
      [
        ["short", "Short pauses"],
        ["real", "Real time"],
      ],
      "short",
      (value) => {
        scale = timeScale(data, end, value === "short");
        fit();
      },
    ),
    h("span.grow"),
    h("button.tool", { type: "button", "aria-label": "Zoom out", onclick: () => zoom(2) }, "−"),
    h("button.tool", { type: "button", "aria-label": "Zoom in", onclick: () => zoom(0.5) }, "+"),
    h("button", { type: "button", onclick: fit }, "Fit"),
  );
  return {
    node: h(
      "section.panel",
      h("div.panel-head", h("h3", "Lanes"), tools),
      box,
      told,
      h(
        "p.faint.unprinted",
        icon("note"),
        `${count(data.spans.length)} pieces. Drag to move, Ctrl and wheel to zoom, click to open.`,
      ),
    ),
    draw,
    zoom,
    fit,
    stop: () => observer.disconnect(),
    window: () => [from, to, scale.length],
    setWindow([a, b, whole]) {
      if (b - a < whole * 0.999) {
        from = a;
        to = Math.min(scale.length, b);
      }
    },
  };
}
