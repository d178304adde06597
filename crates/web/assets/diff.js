// Changes of files, line by line.
import { h } from "./dom.js";
import { plural } from "./format.js";
import { codePieces, cutPieces, languageOf, showPieces } from "./highlight.js";
import { changeCount } from "./parts.js";

const FILE_KINDS = { created: "new file", modified: "changed", deleted: "deleted" };

/// A file with its hunks; `above` stands between its name and them.
export function fileDiff(file, above, isOpen = true) {
  return h(
    "details.file",
    { open: isOpen },
    h(
      "summary",
      h("span.path", file.path),
      h("span.faint", FILE_KINDS[file.kind] || file.kind),
      changeCount(file),
    ),
    above,
    file.text === false ? h("p.empty", "Not text.") : hunks(file.hunks, file.path, languageOf(file.path)),
    file.cut ? h("p.empty", "More lines changed than are shown.") : null,
  );
}

export function hunks(list, label, language) {
  if (!list || !list.length) return h("p.empty", "No lines to show.");
  const body = h("tbody");
  list.forEach((hunk, index) => {
    if (index > 0) body.append(h("tr.gap", h("td", { colspan: "3" }, "⋯")));
    rows(hunk, body, language);
  });
  return h(
    "div.scroll",
    { tabindex: "0", role: "group", "aria-label": `Changes of ${label}` },
    h("table.diff", body),
  );
}

function rows(hunk, body, language) {
  let old = hunk.old_start;
  let fresh = hunk.new_start;
  hunk.lines.forEach(([sign, text], index) => {
    const kind = sign === "+" ? "added" : sign === "-" ? "removed" : "same";
    const partner = pairOf(hunk.lines, index);
    body.append(
      h(
        "tr",
        { class: kind },
        h("td.line", sign === "+" ? "" : String(old)),
        h("td.line", sign === "-" ? "" : String(fresh)),
        h("td.text", h("span.sign", sign === " " ? " " : sign), lineOf(text, partner, language)),
      ),
    );
    if (sign !== "+") old += 1;
    if (sign !== "-") fresh += 1;
  });
}

/// The line on the other side, where as many lines were removed as were added.
function pairOf(lines, index) {
  const sign = lines[index][0];
  if (sign === " ") return null;
  let start = index;
  while (start > 0 && lines[start - 1][0] !== " ") start -= 1;
  let minus = 0;
  while (start + minus < lines.length && lines[start + minus][0] === "-") minus += 1;
  let plus = 0;
  while (start + minus + plus < lines.length && lines[start + minus + plus][0] === "+") plus += 1;
  if (!minus || minus !== plus || minus > 40) return null;
  return lines[sign === "-" ? index + minus : index - minus][1];
}

/// A line in its colours; what differs from its partner is marked.
function lineOf(text, other, language) {
  const pieces = codePieces(text, language);
  const changed = other === null ? null : changedRange(text, other);
  if (!changed) return showPieces(pieces);
  return [
    showPieces(cutPieces(pieces, 0, changed[0])),
    h("mark", text.slice(...changed)),
    showPieces(cutPieces(pieces, changed[1], text.length)),
  ];
}

function changedRange(text, other) {
  let head = 0;
  const most = Math.min(text.length, other.length);
  while (head < most && text[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < most - head && text[text.length - 1 - tail] === other[other.length - 1 - tail]) tail += 1;
  const isMost = head + tail < text.length / 4;
  return head + tail >= text.length || isMost ? null : [head, text.length - tail];
}

export function diffSummary(diff) {
  return h("p.summary", plural(diff.files.length, "file"), " changed ", changeCount(diff));
}
