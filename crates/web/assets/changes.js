// What became of files: by session, by prompt, by file, with the calls that did it.
import { h, replace } from "./dom.js";
import { clip } from "./format.js";
import { get, isExport, of, query } from "./api.js";
import { choice, empty, failure, loading } from "./parts.js";
import { diffSummary, fileDiff } from "./diff.js";

export function changesView(session, params) {
  const body = h("div", loading());
  const { runs } = session.meta;
  let turn = params.turn || "";

  async function draw() {
    replace(body, loading("Comparing files…"));
    try {
      const diff = await get(of(session.id, `/diff${query({ turn })}`));
      if (!diff.files.length) {
        replace(body, empty(turn ? "This prompt changed no files." : "This session changed no files."));
        return;
      }
      replace(
        body,
        diffSummary(diff),
        diff.files.map((file) => fileDiff(file, byCalls(file), diff.files.length < 30)),
      );
    } catch (error) {
      replace(body, failure(error));
    }
  }

  /// From a file to the calls that wrote it, and so to their reasons.
  function byCalls(file) {
    if (!file.calls || !file.calls.length) return null;
    const link = (call, i) => {
      const button = h(
        "button.quiet",
        { type: "button" },
        file.calls.length > 1 ? `call ${i + 1}` : "one call",
      );
      button.addEventListener("click", () => goToCall(call, button));
      return button;
    };
    return h("p.by", "Written by", file.calls.slice(0, 20).map(link));
  }

  async function goToCall(call, button) {
    try {
      for (let from = 0; from < session.meta.items; from += 200) {
        const { items } = await get(of(session.id, `/items?from=${from}&to=${from + 200}`));
        const found = items.find((item) => item.call === call);
        if (found) {
          location.hash = `#/s/${encodeURIComponent(session.id)}/conversation?n=${found.n}`;
          return;
        }
      }
      button.replaceWith("a call of another session");
    } catch (error) {
      button.replaceWith(failure(error));
    }
  }

  const choices = [
    ["", "Whole session"],
    ...runs.map((run, i) => [String(i + 1), `${i + 1}. ${clip(run.prompt || "prompt", 28)}`]),
  ];
  draw();
  return {
    node: h(
      "div.narrow",
      h("h2", "Changes"),
      runs.length > 1 && !isExport
        ? choice("Which prompt", choices.slice(0, 40), turn, (value) => {
            turn = value;
            draw();
          })
        : null,
      body,
    ),
    keys: [],
  };
}
