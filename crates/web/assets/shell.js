// The frame around every view: the bar on top, the theme, the keys, what is said to screen readers.
import { h, icon, replace } from "./dom.js";
import { isExport } from "./api.js";

const THEMES = { auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };
const main = h("main#main", { tabindex: "-1" });
const spoken = h("div.unseen", { role: "status", "aria-live": "polite" });
const live = h("span.live", { hidden: true });
const keys = new Map();
let current = null;

function kept(name, otherwise) {
  try {
    return localStorage.getItem(`windlass-${name}`) || otherwise;
  } catch {
    return otherwise;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`windlass-${name}`, value);
  } catch {
    /* forgotten with the page */
  }
}

function applyTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function themeButton() {
  let theme = kept("theme", "auto");
  const button = h("button.tool", { type: "button" });
  const show = () => {
    applyTheme(theme);
    button.setAttribute("aria-label", THEMES[theme]);
    button.title = THEMES[theme];
    replace(button, icon(theme));
  };
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    theme = names[(names.indexOf(theme) + 1) % names.length];
    keep("theme", theme);
    show();
    say(THEMES[theme]);
  });
  show();
  return button;
}

export function startShell() {
  const skip = h("a.skip", { href: "#main" }, "Skip to content");
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  const mark = h(
    "a.brand",
    { href: "#/" },
    h("span.mark", { "aria-hidden": "true" }, icon("brand")),
    "Windlass",
  );
  document.body.replaceChildren(
    skip,
    h(
      "header.top",
      mark,
      isExport ? h("span.faint", "exported session") : live,
      h("span.grow"),
      h(
        "button.tool",
        { type: "button", "aria-label": "Keys", title: "Keys (?)", onclick: showHelp },
        icon("help"),
      ),
      themeButton(),
    ),
    main,
    spoken,
  );
  document.addEventListener("keydown", onKey);
}

/// Says something to screen readers.
export function say(text) {
  spoken.textContent = "";
  setTimeout(() => {
    spoken.textContent = text;
  }, 30);
}

export function setLive(isLive) {
  live.hidden = false;
  live.classList.toggle("lost", !isLive);
  replace(live, h("span.dot"), isLive ? "live" : "not connected");
}

/// Puts a view into the page. A view is { node, title, keys, stop, isSame, update }.
export function show(view, moveFocus) {
  if (current && current.stop) current.stop();
  current = view;
  replace(main, view.node);
  document.title = view.title ? `${view.title} · Windlass` : "Windlass";
  keys.clear();
  addKeys(view.keys || []);
  if (moveFocus) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

export function shownView() {
  return current;
}

/// Keys are [key, what it does, function].
export function addKeys(list) {
  for (const [key, words, run] of list) keys.set(key, { words, run });
}

function isTyping(target) {
  return (
    target.isContentEditable ||
    /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
    (target.tagName === "INPUT" && !/^(checkbox|radio|button|range)$/.test(target.type))
  );
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && isTyping(event.target)) {
    event.target.blur();
    return;
  }
  if (isTyping(event.target) || document.querySelector("dialog[open]") || kept("keys", "on") === "off")
    return;
  if (event.key === "?") {
    event.preventDefault();
    showHelp();
    return;
  }
  const found = keys.get(event.key);
  if (!found) return;
  event.preventDefault();
  found.run();
}

export function showDialog(title, ...parts) {
  const close = h("button.tool", { type: "button", "aria-label": "Close" }, icon("close"));
  const dialog = h("dialog", { "aria-label": title }, h("div.dialog-head", h("h2", title), close), parts);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function showHelp() {
  const box = h("input", { type: "checkbox", checked: kept("keys", "on") === "on" });
  box.addEventListener("change", () => keep("keys", box.checked ? "on" : "off"));
  const rows = [...keys, ["?", { words: "This help" }], ["Esc", { words: "Leave a field, close a window" }]];
  showDialog(
    "Keys",
    h(
      "dl.keys",
      rows.map(([key, { words }]) => h("div", h("dt", h("kbd", key)), h("dd", words))),
    ),
    h("label.check", box, " Single keys are on"),
  );
}
