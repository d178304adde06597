// Numbers, times and money for people.

const whole = new Intl.NumberFormat("en");
const pad = (number) => String(number).padStart(2, "0");

export function count(number) {
  return whole.format(number || 0);
}

/// 1 message, 2 messages.
export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/// 950, 12.3k, 1.2M.
export function short(number) {
  const value = number || 0;
  if (value < 1000) return String(value);
  if (value < 1e6) return `${(value / 1000).toFixed(value < 1e4 ? 1 : 0)}k`;
  return `${(value / 1e6).toFixed(value < 1e7 ? 1 : 0)}M`;
}

/// Millionths of a dollar.
export function money(micro) {
  const dollars = (micro || 0) / 1e6;
  if (dollars === 0) return "$0";
  if (dollars < 0.01) return `$${dollars.toFixed(4)}`;
  return `$${dollars.toFixed(dollars < 0.1 ? 3 : 2)}`;
}

export function bytes(number) {
  const value = number || 0;
  if (value < 1024) return `${value} B`;
  if (value < 1048576) return `${(value / 1024).toFixed(1)} KiB`;
  return `${(value / 1048576).toFixed(1)} MiB`;
}

export function percent(part, all) {
  if (!all) return "0 %";
  const share = (100 * part) / all;
  return `${share < 10 && share > 0 ? share.toFixed(1) : Math.round(share)} %`;
}

/// Milliseconds: 84 ms, 1.4 s, 2 min 5 s, 1 h 3 min.
export function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60000) / 1000)} s`;
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} days`;
}

export function clock(at) {
  const time = new Date(at);
  return `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}

export function day(at) {
  const time = new Date(at);
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
}

export function moment(at) {
  return `${day(at)} ${clock(at)}`;
}

export function ago(at, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 45) return "just now";
  if (seconds < 5400) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 86400 * 45) return `${Math.round(seconds / 86400)} days ago`;
  return day(at);
}

/// The last part of a path, with its folder where that helps.
export function baseName(path) {
  const parts = String(path || "")
    .split("/")
    .filter(Boolean);
  return parts.length ? parts[parts.length - 1] : String(path || "");
}

/// Shown as `next turn`, written as `next_turn` or `NextTurn`.
export function words(name) {
  return String(name || "")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .toLowerCase();
}

export function clip(text, length) {
  const value = String(text || "");
  return value.length > length ? `${value.slice(0, length - 1).trimEnd()}…` : value;
}
