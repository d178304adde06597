// One item of a conversation.
import { h, icon, replace } from "./dom.js";
import { bytes, clip, clock, count, duration, money, plural, short, words } from "./format.js";
import { get, of, query } from "./api.js";
import { languageOf } from "./highlight.js";
import { changeCount, fact, failure, loading, moreButton, plain, prose, spent } from "./parts.js";
import { textBlock, ticked, timeOfDay } from "./parts.js";
import { diffSummary, fileDiff } from "./diff.js";

const PICTURE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const CALL_STATES = {
  running: "running",
  asking: "waiting for you",
  ok: "done",
  failed: "failed",
  denied: "denied",
  cancelled: "cancelled",
  unknown: "outcome unknown",
};

/// The kinds a reader can hide, with what they are called.
export const KINDS = [
  ["thinking", "Thinking"],
  ["call", "Calls"],
  ["request", "Requests"],
  ["loop", "Loop"],
  ["note", "Notes"],
];

export function kindGroup(kind) {
  if (/^(retry|retracted|sealed|repaired|switched|shrunk|continued)$/.test(kind)) return "loop";
  return kind;
}

export class ItemRenderer {
  /// `id` is the session, `project` its folder; `onRewind` is called with an item where going back is possible.
  constructor(id, project, onRewind) {
    this.id = id;
    this.project = project;
    this.onRewind = onRewind;
    this.open = new Map();
    this.opensAll = false;
  }

  isOpen(n) {
    return this.open.has(n) ? this.open.get(n) : this.opensAll;
  }

  render(item) {
    const [look, body] = this.body(item);
    const label = `item-${item.n}`;
    return h(
      "article.item",
      { class: `kind-${item.kind} ${look}`, tabindex: "-1", "aria-labelledby": label },
      h(
        "div.when",
        h(
          "a",
          {
            href: `#/s/${encodeURIComponent(this.id)}/conversation?n=${item.n}`,
            id: label,
            "aria-label": `${words(item.kind)} at ${clock(item.at)}`,
          },
          timeOfDay(item.at),
        ),
        item.kind === "answer" && item.ms ? spent(item.ms) : null,
      ),
      h("div.what", body),
    );
  }

  body(item) {
    switch (item.kind) {
      case "prompt":
        return ["", this.prompt(item)];
      case "answer":
        return item.withdrawn
          ? ["withdrawn", [h("p.unseen", "Taken back:"), this.text(item)]]
          : ["", this.text(item)];
      case "thinking":
        return ["quiet", this.thinking(item)];
      case "call":
        return [`status-${item.status}`, this.call(item)];
      case "summary":
        return ["", [h("p.label", "Summary of everything before"), this.text(item)]];
      case "note":
        return [
          "quiet",
          this.folded(
            item,
            [icon("note"), h("span.name", item.name || item.from), h("span.preview", clip(item.text, 120))],
            () => textBlock(item.text, "Note"),
          ),
        ];
      case "request":
        return ["slim", this.request(item)];
      case "end":
        return [`outcome-${item.outcome || ""}`, this.end(item)];
      default:
        return ["slim loop", this.loop(item)];
    }
  }

  prompt(item) {
    return [
      h(
        "p.label",
        icon("user"),
        item.queued ? "You, while it was running" : "You",
        this.onRewind
          ? h("button.quiet", { type: "button", onclick: () => this.onRewind(item) }, "Rewind to before this")
          : null,
      ),
      this.text(item),
      this.media(item.media),
    ];
  }

  /// A text, with a button for the rest of it.
  text(item) {
    const box = h("div.text", item.nodes ? prose(item.nodes) : h("div.said", plain(item.text || "")));
    if (item.cut)
      box.append(
        moreButton(item, async () => {
          const all = await get(of(this.id, `/content${query({ seq: item.text_seq || item.seq })}`));
          replace(box, all.nodes ? prose(all.nodes) : h("div.said", plain(all.text)));
        }),
      );
    return box;
  }

  folded(item, summary, body) {
    const inside = h("div.inside");
    const details = h(
      "details.fold",
      { open: false },
      h("summary", h("span.turner", { "aria-hidden": "true" }, icon("chevron")), summary),
      inside,
    );
    const filled = () => {
      if (!inside.hasChildNodes()) inside.append(...[body()].flat(4).filter(Boolean));
    };
    if (this.isOpen(item.n)) {
      filled();
      details.open = true;
    }
    details.addEventListener("toggle", () => {
      if (details.open) filled();
      if (details.open !== this.isOpen(item.n)) this.open.set(item.n, details.open);
    });
    return details;
  }

  thinking(item) {
    return this.folded(
      item,
      [
        icon("think"),
        h("span.name", item.ms ? `Thought for ${duration(item.ms)}` : "Thought"),
        h("span.preview", clip(plain(item.text), 140)),
      ],
      () => this.text(item),
    );
  }

  call(item) {
    const state = CALL_STATES[item.status] || item.status;
    return this.folded(
      item,
      [
        h("span.tool-name", item.tool),
        h("span.preview.mono", plain(callTitle(item, this.project))),
        h(
          "span.ends",
          changeCount(item.changes),
          item.status === "denied" ? null : spent(item.ms),
          item.status === "ok"
            ? h("span.status.is-ok", { role: "img", "aria-label": state }, icon("done"))
            : h("span.status", { class: `is-${item.status}` }, state),
        ),
      ],
      () => this.callBody(item),
    );
  }

  callBody(item) {
    return [
      item.agent
        ? h(
            "p",
            h(
              "a.button",
              { href: `#/s/${encodeURIComponent(item.agent)}` },
              icon("agent"),
              "Open the agent's own page",
            ),
          )
        : null,
      this.ruling(item.ruling),
      this.changes(item),
      item.changes ? h("details.more", h("summary", "Input"), this.input(item)) : this.input(item),
      item.progress && item.progress.length
        ? textBlock(item.progress.join("\n"), "Progress", "pre.code.soft")
        : null,
      this.result(item),
    ];
  }

  ruling(ruling) {
    if (!ruling) return null;
    const asked = ruling.asked;
    const verdict = { allow: "Allowed", ask: "Asked", deny: "Denied" }[ruling.decision] || ruling.decision;
    return h(
      "div.ruling",
      { class: `ruling-${ruling.decision}` },
      h("p", h("strong", verdict), ruling.why ? [": ", ticked(ruling.why)] : ""),
      h(
        "dl.facts",
        ruling.rule ? fact("Rule", h("code", ruling.rule)) : null,
        ruling.source ? fact("From", h("code", ruling.source.replace(`${this.project}/`, ""))) : null,
        asked
          ? fact(
              "Answer",
              asked.answer || "none yet",
              asked.by ? ` by ${asked.by}` : "",
              asked.waited_ms ? ` after ${duration(asked.waited_ms)}` : "",
            )
          : null,
        asked && asked.remember && asked.remember.length
          ? fact(
              "Remembered",
              asked.remember.map((rule) => h("code", rule)),
            )
          : null,
        asked && asked.message ? fact("Said", asked.message) : null,
      ),
    );
  }

  input(item) {
    if (item.input === null || item.input === undefined) {
      const box = h("div", item.input_text ? textBlock(item.input_text.text, "Input") : null);
      if (item.input_text && item.input_text.cut)
        box.append(
          moreButton(item.input_text, async () => {
            replace(
              box,
              textBlock(
                (await get(of(this.id, `/content${query({ seq: item.seq, what: "input" })}`))).text,
                "Input",
              ),
            );
          }),
        );
      return item.input_text ? h("section", h("p.label", "Input"), box) : null;
    }
    if (typeof item.input !== "object")
      return h("section", h("p.label", "Input"), textBlock(JSON.stringify(item.input), "Input"));
    return h(
      "section",
      h("p.label", "Input"),
      h(
        "dl.input",
        Object.entries(item.input).map(([name, value]) => inputFact(name, value, inputLanguage(item, name))),
      ),
    );
  }

  result(item) {
    const result = item.result;
    if (!result)
      return h(
        "p.empty",
        { running: "Still running.", asking: "Waiting for an answer.", denied: "It did not run." }[
          item.status
        ] || "No result.",
      );
    const show = (text) => textBlock(text, "Result", "pre.code", resultLanguage(item));
    const box = h("div", result.text ? show(result.text) : null);
    if (result.cut)
      box.append(
        moreButton(result, async () => {
          replace(
            box,
            show(
              (
                await get(
                  of(
                    this.id,
                    `/content${query({ seq: result.text_seq || result.seq || item.seq, what: "result" })}`,
                  ),
                )
              ).text,
            ),
          );
        }),
      );
    return h(
      "section",
      { class: result.is_error ? "is-error" : "" },
      h(
        "p.label",
        result.is_error ? "Result, an error" : "Result",
        " ",
        h("span.faint", bytes(result.bytes)),
      ),
      box,
      this.media(result.media),
    );
  }

  media(list) {
    if (!list || !list.length) return null;
    return h(
      "div.media",
      list.map((media) => {
        const name = media.name || media.media_type;
        const box = h("figure", h("figcaption", `${name}, ${bytes(media.bytes)}`));
        if (PICTURE_TYPES.has(media.media_type)) this.picture(media, box, name);
        return box;
      }),
    );
  }

  async picture(media, box, name) {
    try {
      const found = await get(of(this.id, `/content${query({ seq: media.seq, part: media.part })}`));
      if (!found.data || !PICTURE_TYPES.has(found.media_type)) return;
      box.prepend(
        h("img", { src: `data:${found.media_type};base64,${found.data}`, alt: `Picture: ${name}` }),
      );
    } catch {
      /* its name stands there */
    }
  }

  changes(item) {
    if (!item.changes || item.changes.files === 0) return null;
    const box = h("section", loading("Loading the changes…"));
    get(of(this.id, `/diff${query({ call: item.call })}`)).then(
      (diff) =>
        replace(
          box,
          h("p.label", "Changes"),
          diff.files.length > 1 ? diffSummary(diff) : null,
          diff.files.map((file) => fileDiff(file)),
        ),
      (error) => replace(box, failure(error)),
    );
    return box;
  }

  request(item) {
    const cached = item.cache_read_tokens || 0;
    const all = item.input_tokens || 0;
    return h(
      "p.line",
      icon("model"),
      h("span.name", item.model || "request"),
      item.status === "ok"
        ? [
            h(
              "span",
              { title: `${count(all)} tokens in, ${count(cached)} of them from the cache` },
              `${short(all)} in`,
              cached ? h("span.faint", ` (${Math.round((100 * cached) / all)} % cached)`) : "",
            ),
            h("span", `${short(item.output_tokens)} out`),
            h("span", money(item.cost_micro_usd)),
            spent(item.ms),
          ]
        : [
            h("span.status", { class: `is-${item.status}` }, item.status),
            item.failure ? h("span", clip(item.failure.split(":")[0], 60)) : null,
            spent(item.ms),
          ],
      item.cache_miss ? h("span.warn", `cache miss: ${item.cache_miss}`) : null,
      item.source && item.source !== "main" ? h("span.faint", words(item.source)) : null,
    );
  }

  loop(item) {
    const name =
      {
        retry: "Retry",
        retracted: "Answer taken back",
        sealed: "Answer sealed",
        repaired: "Request repaired",
        switched: "Model switched",
        shrunk: `Context shrunk, level ${item.level}`,
        continued: words(item.transition) || "continued",
      }[item.kind] || words(item.kind);
    const said =
      item.kind === "retry" && item.failure
        ? `${item.attempt} of ${item.attempts_max}: ${item.failure}`
        : item.words || item.failure || item.text || "";
    const line = [h("span.name", name), h("span", ticked(said))];
    if (item.kind === "retry" && item.wait_ms) line.push(h("span.faint", `waited ${duration(item.wait_ms)}`));
    if (item.kind === "shrunk" && item.freed_tokens)
      line.push(h("span.faint", `${short(item.freed_tokens)} tokens freed`));
    return [
      h("p.line", line),
      item.losses && item.losses.length
        ? h(
            "ul.losses",
            item.losses.slice(0, 50).map((loss) => h("li", loss)),
          )
        : null,
    ];
  }

  end(item) {
    return h(
      "p.ending",
      h("span.chip", words(item.terminal)),
      h("span", item.words),
      h("span.faint", plural(item.turns, "turn"), ", ", money(item.cost_micro_usd), " so far"),
    );
  }
}

/// What a call is about: without the tool's name, and with paths as the project sees them.
export function callTitle(item, project) {
  if (item.agent && item.input && item.input.description) return item.input.description;
  if (item.input && typeof item.input.pattern === "string") return item.input.pattern;
  let title = item.title || "";
  if (title.startsWith(`${item.tool} `)) title = title.slice(item.tool.length + 1);
  return project ? title.replaceAll(`${project}/`, "") : title;
}

/// What language an input is written in.
function inputLanguage(item, name) {
  if (name === "command") return "sh";
  const path = item.input.file_path || item.input.notebook_path;
  return /^(content|new_string|old_string|new_source)$/.test(name) ? languageOf(path) : "json";
}

/// What was read is written in the language of its file.
function resultLanguage(item) {
  return item.tool === "Read" && item.input ? languageOf(item.input.file_path) : "";
}

function inputFact(name, value, language) {
  const isShort =
    value === null ||
    (typeof value !== "object" &&
      String(value).length <= 90 &&
      !String(value).includes("\n") &&
      name !== "command");
  if (isShort) return fact(name, h("code", String(value)));
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const isCode = typeof value !== "string" || language !== "json";
  return h("div.block", h("dt", name), h("dd", textBlock(text, name, "pre.code", isCode ? language : "")));
}
