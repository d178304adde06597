// How time becomes a place on a line, and lanes become rows.

/// The lanes in order, with a line above those of each agent.
export function laneRows(lanes, agents) {
  const names = new Map();
  const note = (list) => {
    for (const agent of list || []) {
      names.set(agent.id, agent.description || agent.name);
      note(agent.agents);
    }
  };
  note(agents);
  const rows = [];
  let agent = null;
  for (const lane of lanes) {
    if (lane.agent !== agent && lane.agent) rows.push({ name: names.get(lane.agent) || "Agent" });
    agent = lane.agent;
    rows.push({ lane });
  }
  return rows;
}

/// Maps time to a line on which long pauses are short.
export function timeScale(data, end, isCompressed) {
  const busy = data.spans
    .map((span) => [span.start, span.end === null ? end : span.end])
    .concat(data.marks.map((mark) => [mark.at, mark.at]))
    .sort((a, b) => a[0] - b[0]);
  const joined = [];
  for (const [from, to] of busy) {
    const last = joined[joined.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  const work = joined.reduce((sum, [from, to]) => sum + to - from, 0);
  const most = isCompressed ? Math.max(500, work * 0.04) : Infinity;
  const points = [[data.start, 0]];
  const gaps = [];
  let at = data.start;
  let line = 0;
  const go = (to, length) => {
    at = to;
    line += length;
    points.push([at, line]);
  };
  for (const [from, to] of joined) {
    if (from > at) {
      const gap = from - at;
      if (gap > most) gaps.push({ from: line, to: line + most, ms: gap });
      go(from, Math.min(gap, most));
    }
    if (to > at) go(to, to - at);
  }
  if (end > at) go(end, Math.min(end - at, most));
  const along = (value, i, j) => {
    let low = 0;
    let high = points.length - 1;
    while (low < high - 1) {
      const middle = (low + high) >> 1;
      if (points[middle][i] <= value) low = middle;
      else high = middle;
    }
    const [a, b] = [points[low], points[high]];
    return b[i] === a[i] ? a[j] : a[j] + ((value - a[i]) * (b[j] - a[j])) / (b[i] - a[i]);
  };
  return {
    length: Math.max(1, line),
    to: (time) => along(time, 0, 1),
    from: (place) => along(place, 1, 0),
    gaps,
  };
}

/// How a moment is called on an axis with this step.
export function tickName(ms, step) {
  if (step < 1000) return `${(ms / 1000).toFixed(step < 100 ? 2 : 1)} s`;
  if (ms < 60000) return `${Math.round(ms / 1000)} s`;
  if (ms < 3600000)
    return `${Math.floor(ms / 60000)}:${String(Math.round((ms % 60000) / 1000)).padStart(2, "0")}`;
  return `${Math.floor(ms / 3600000)} h ${Math.floor((ms % 3600000) / 60000)} m`;
}
