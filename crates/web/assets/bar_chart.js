// Bars of several parts that the arrow keys walk through.
import { h, replace, s } from "./dom.js";
import { plural, short } from "./format.js";
import { say } from "./shell.js";

/// More bars than fit are drawn one for several, the last of each; every one of them can still be chosen.
/// `stack(i)` are [kind, value] from below; `tell(i)` shows a bar in words and returns them; `flags` says which are marked.
export function barChart({ label, count: length, stack, top, line, tell, flags }) {
  const drawing = s("svg", { "aria-hidden": "true" });
  const box = h(
    "div.bars",
    {
      tabindex: "0",
      role: "application",
      "aria-label": `${label}. ${plural(length, "bar")}, arrow keys choose.`,
    },
    drawing,
  );
  let picked = length - 1;
  let slots = length;
  const slotOf = (index) => Math.min(slots - 1, Math.floor((index * slots) / length));
  const indexOf = (slot) => (slot === slotOf(picked) ? picked : Math.ceil(((slot + 1) * length) / slots) - 1);
  function draw() {
    const width = Math.max(260, box.clientWidth);
    const height = 160;
    const most = Math.max(1, top());
    slots = Math.min(length, Math.floor(width / 3));
    const step = Math.min(72, (width - 8) / slots);
    const thick = Math.max(1, step - (step > 6 ? 3 : 0.5));
    const parts = [];
    for (const share of [0.5, 1]) {
      const y = height - 14 - share * (height - 34);
      parts.push(
        s("line.tick", { x1: 0, x2: width, y1: y, y2: y }),
        s("text.tick-text", { x: 0, y: y - 4 }, short(Math.round(most * share))),
      );
    }
    const over = line();
    for (let slot = 0; slot < slots; slot += 1) {
      const index = indexOf(slot);
      let y = height - 14;
      const left = 4 + slot * step;
      const own = [];
      for (const [kind, value] of stack(index)) {
        const high = (value / most) * (height - 34);
        if (high < 0.2) continue;
        y -= high;
        own.push(s("rect", { class: `fill-${kind}`, x: left, y, width: thick, height: high }));
      }
      if (flags.slice(slot ? Math.ceil((slot * length) / slots) : 0, index + 1).some(Boolean))
        own.push(s("path.flag", { d: `M${left + thick / 2 - 4} ${Math.max(2, y - 12)}h8l-4 7z` }));
      if (index === picked)
        own.push(
          s("rect.choose", { x: left - 1.5, y: y - 1.5, width: thick + 3, height: height - 11 - y, rx: 2 }),
        );
      parts.push(s("g", own));
    }
    if (over && over.value < most) {
      const y = height - 14 - (over.value / most) * (height - 34);
      parts.push(
        s("line.limit", { x1: 0, x2: width, y1: y, y2: y }),
        s("text.limit-text", { x: width - 4, y: y - 5, "text-anchor": "end" }, over.name),
      );
    }
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("height", height);
    replace(drawing, parts);
    box.dataset.step = step;
  }
  const choose = (index) => {
    picked = Math.max(0, Math.min(length - 1, index));
    say(tell(picked));
    draw();
  };
  box.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -length, End: length }[event.key];
    if (by) {
      event.preventDefault();
      choose(picked + by);
    }
  });
  box.addEventListener("click", (event) => {
    const slot = Math.floor(
      (event.clientX - box.getBoundingClientRect().left - 4) / Number(box.dataset.step),
    );
    choose(indexOf(Math.max(0, Math.min(slots - 1, slot))));
  });
  new ResizeObserver(draw).observe(box);
  return { node: box, draw };
}
