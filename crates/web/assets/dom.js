// Makes elements. Text always becomes text nodes; no string is ever parsed as markup.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function fill(node, parts) {
  for (const part of parts) {
    if (part === null || part === undefined || part === false || part === true) continue;
    if (Array.isArray(part)) fill(node, part);
    else node.append(part instanceof Node ? part : String(part));
  }
  return node;
}

function attribute(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name === "style") for (const [key, to] of Object.entries(value)) node.style.setProperty(key, to);
  else if (name === "data") Object.assign(node.dataset, value);
  else if (name === "value" || name === "checked" || name === "open") node[name] = value;
  else node.setAttribute(name, value === true ? "" : String(value));
}

/// `h("p.note#id", { title: "…" }, "text", child)`; attributes may be left out.
export function h(what, ...parts) {
  return create(document.createElement(/^[a-z0-9]+/.exec(what)[0]), what, parts);
}

/// The same for drawings.
export function s(what, ...parts) {
  return create(document.createElementNS(SVG_SPACE, /^[a-zA-Z0-9]+/.exec(what)[0]), what, parts);
}

function create(node, what, parts) {
  const classes = what.match(/\.[\w-]+/g);
  const id = /#([\w-]+)/.exec(what);
  if (classes) node.setAttribute("class", classes.map((name) => name.slice(1)).join(" "));
  if (id) node.id = id[1];
  const [first] = parts;
  const plain = first && typeof first === "object" && !(first instanceof Node) && !Array.isArray(first);
  if (plain)
    for (const [name, value] of Object.entries(first)) {
      if (name !== "class") attribute(node, name, value);
      else if (value) node.setAttribute("class", `${node.getAttribute("class") || ""} ${value}`.trim());
    }
  return fill(node, plain ? parts.slice(1) : parts);
}

export function replace(node, ...parts) {
  node.replaceChildren();
  return fill(node, parts);
}

/// A link out of the page. Anything but http and https stays text.
export function outsideLink(url, ...parts) {
  let parsed = null;
  try {
    parsed = new URL(url);
  } catch {
    /* not a link */
  }
  if (!parsed || (parsed.protocol !== "https:" && parsed.protocol !== "http:"))
    return fill(document.createDocumentFragment(), parts);
  return h("a.outside", { href: parsed.href, rel: "noopener noreferrer", target: "_blank" }, parts);
}

const ICONS = {
  brand:
    "M8 11.500a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM8 1v2.500M8 11.500V15M1.5 7.500H4M12 7.500h2.500M8 7.500v.01",
  back: "M10 3 5 8l5 5",
  chevron: "m6 3 5 5-5 5",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  help: "M5.8 6a2.2 2.2 0 1 1 3.3 1.9c-.8.5-1.1.9-1.1 1.7M8 12.4v.1M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14Z",
  light:
    "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  dark: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z",
  auto: "M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14ZM8 1v14M8 4h5.6M8 8h7M8 12h5.6",
  link: "M6.5 9.5a3 3 0 0 0 4.3 0l2.3-2.3a3 3 0 0 0-4.3-4.3L8 3.7M9.5 6.5a3 3 0 0 0-4.3 0L2.9 8.800a3 3 0 0 0 4.3 4.300L8 12.3",
  running: "M8 2a6 6 0 1 1-6 6",
  waiting: "M5 3v10M11 3v10",
  done: "m3 8.5 3.2 3.200L13 4.8",
  failed: "m4 4 8 8M12 4l-8 8",
  interrupted: "M4 4h8v8H4Z",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14a5.5 5.5 0 0 1 11 0",
  model: "M8 1.5 9.8 6.2 14.5 8 9.8 9.8 8 14.5 6.2 9.8 1.5 8l4.7-1.800Z",
  tool: "m3 4 4 4-4 4M8.5 12.500H13",
  agent: "M4 2v6a3 3 0 0 0 3 3h6M10 8l3 3-3 3",
  note: "M8 4.500v4M8 11.400v.1M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14Z",
  think: "M4.5 11.500a3 3 0 0 1-.8-5.8 4.5 4.5 0 0 1 8.7.3 2.8 2.8 0 0 1-.4 5.500ZM5.5 14.200h.1",
  close: "m4 4 8 8M12 4l-8 8",
  print: "M4.5 6V2h7v4M4.5 12H2.500V6.500h11V12h-2M4.5 10h7v4h-7Z",
  compare: "M6 3H2v10h4M10 3h4v10h-4M8 1v14",
};

export function icon(name) {
  return s(
    "svg.icon",
    { viewBox: "0 0 16 16", "aria-hidden": "true", class: `icon-${name}` },
    s("path", { d: ICONS[name] || ICONS.note }),
  );
}
