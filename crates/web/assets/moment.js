// The time machine: the state at any event, the request as it was, and what makes two requests differ.
import { h, replace } from "./dom.js";
import { bytes, clip, count, plural, short, words } from "./format.js";
import { get, isExport, of, query } from "./api.js";
import { choice, empty, facts, failure, loading, moreButton, plain, stackedBar } from "./parts.js";
import { textBlock, timeOfDay } from "./parts.js";
import { componentName } from "./context.js";
import { hunks } from "./diff.js";
import { say } from "./shell.js";

export function momentView(session, params) {
  const { id } = session;
  let last = Math.max(1, session.meta.seq);
  const clamp = (value) => Math.max(1, Math.min(last, Math.round(Number(value)) || last));
  let at = clamp(params.at || last);
  let control = new AbortController();
  let timer = 0;
  let form = "wire";
  const state = h("div.moment", loading());
  const slider = h("input#event-slider", {
    type: "range",
    min: 1,
    max: last,
    value: at,
    "aria-label": "Event",
  });
  const number = h("input", {
    type: "number",
    min: 1,
    max: last,
    value: at,
    "aria-label": "Number of the event",
    inputmode: "numeric",
  });
  const whole = h("span.faint", `of ${count(last)}`);
  const requests = h("div", loading());
  const replayed = h("div");

  function set(value, isQuiet) {
    at = clamp(value);
    slider.value = String(at);
    number.value = String(at);
    slider.setAttribute("aria-valuetext", `event ${at} of ${last}`);
    history.replaceState(null, "", `#/s/${encodeURIComponent(id)}/time?at=${at}`);
    clearTimeout(timer);
    timer = setTimeout(load, isQuiet ? 0 : 140);
  }

  async function load() {
    control.abort();
    control = new AbortController();
    state.setAttribute("aria-busy", "true");
    try {
      draw(await get(of(id, `/at/${at}`), control.signal));
    } catch (error) {
      if (error.name !== "AbortError") replace(state, failure(error));
    }
    state.removeAttribute("aria-busy");
  }

  function draw(moment) {
    say(`Event ${moment.seq}: ${moment.event}`);
    replace(
      state,
      h(
        "section.panel",
        h("h3", `Event ${count(moment.seq)}`, " ", h("span.faint", timeOfDay(moment.at))),
        h("p.event", moment.event),
        h(
          "p",
          h("span.phase", words(moment.before)),
          " → ",
          h("span.phase", words(moment.after)),
          h(
            "span.faint",
            ` run ${moment.run}, turn ${moment.turn}${moment.transition ? `, ${words(moment.transition)}` : ""}`,
          ),
        ),
        moment.ending
          ? h(
              "p",
              h("strong", "Ends: "),
              typeof moment.ending === "string" ? moment.ending : words(moment.ending.terminal || ""),
            )
          : null,
        steps("To be done next", moment.effects),
        steps("Told", moment.notices),
        facts(moment.facts),
      ),
      moment.context
        ? h(
            "section.panel",
            h("h3", "The window then"),
            h("p", `${count(moment.context.total)} of ${count(moment.context.window)} tokens`),
            stackedBar(
              moment.context.parts.map((part) => ({
                kind: `part-${part.component.split(":")[0]}`,
                name: componentName(part.component),
                value: part.tokens,
              })),
              count,
              "The window",
            ),
          )
        : null,
      h(
        "section.panel",
        h("h3", "What the model knew"),
        h(
          "p.faint",
          `${plural(moment.transcript.total, "message")}${moment.transcript.total > moment.transcript.messages.length ? `, the last ${moment.transcript.messages.length} are shown` : ""}`,
        ),
        moment.transcript.messages.length
          ? h(
              "ol.transcript",
              { tabindex: "0", "aria-label": "Messages" },
              moment.transcript.messages.map(message),
            )
          : empty("Nothing yet."),
        moment.request ? requestButton(moment.request) : null,
      ),
    );
  }

  function steps(name, list) {
    return list && list.length
      ? h(
          "div",
          h("p.label", name),
          h(
            "ul.steps",
            list.map((step) => h("li", step)),
          ),
        )
      : null;
  }

  function message(one) {
    return h(
      "li",
      { class: `role-${one.role}` },
      h(
        "p.label",
        one.role,
        one.origin && one.origin !== one.role ? h("span.faint", ` ${words(one.origin)}`) : null,
        h("span.faint", ` ${one.id}`),
      ),
      one.text ? h("div.said", plain(clip(one.text, 1200))) : null,
      one.calls && one.calls.length
        ? h(
            "p.faint",
            one.calls
              .map((call) => `→ ${typeof call === "string" ? call : call.name || call.tool || ""}`)
              .join("  "),
          )
        : null,
    );
  }

  function requestButton(request) {
    const box = h("div");
    const show = () => showRequest(request.seq, box);
    const forms = formChoice(show);
    forms.hidden = true;
    const button = h("button", { type: "button" }, `Show the last request before this, event ${request.seq}`);
    button.addEventListener("click", () => {
      forms.hidden = false;
      show();
    });
    return h("div", h("div.pair", button, forms), box);
  }

  /// On the wire of a provider, or in the form that all wires are made from.
  function formChoice(again) {
    const forms = [
      ["wire", "On the wire"],
      ["engine", "Before the wire"],
    ];
    return choice("Form of the request", forms, form, (value) => {
      form = value;
      again();
    });
  }

  async function showRequest(seq, box, wire) {
    replace(box, loading("Making the request again…"));
    try {
      const request = await get(of(id, `/request/${seq}${query({ form, wire })}`));
      const block = (text) => textBlock(text, "Request", "pre.code.tall", "json");
      const text = request.text.slice(0, 60000);
      const shown = h("div", block(text));
      if (text.length < request.text.length)
        shown.append(moreButton({ bytes: request.bytes }, async () => replace(shown, block(request.text))));
      replace(
        box,
        aboutRequest(request, (other) => showRequest(seq, box, other)),
        shown,
        request.cut ? h("p.empty", "Longer than is shown.") : null,
      );
    } catch (error) {
      replace(box, failure(error));
    }
  }

  function aboutRequest(request, onWire) {
    if (request.form !== "wire") return h("p.faint", `${bytes(request.bytes)} to ${request.model}`);
    const wires = h(
      "select",
      { "aria-label": "Wire" },
      request.wires.map((name) => h("option", { value: name, selected: name === request.wire }, words(name))),
    );
    wires.addEventListener("change", () => onWire(wires.value));
    return [
      h(
        "div.pair",
        h("label.pick-one", h("span", "Wire "), wires),
        h("code", `POST ${request.path}`),
        h("span.faint", `${bytes(request.bytes)} on one line; keys are never part of it`),
      ),
      request.headers.map(([name, value]) => h("p.faint", h("code", `${name}: ${value}`))),
      h("p.faint", wireOrigin(request)),
      request.notes.map((note) => h("p.warn", note)),
      request.refusal ? h("p.warn", `It would not be sent: ${request.refusal}`) : null,
    ];
  }

  /// The journal keeps the request, not the bytes that were sent.
  function wireOrigin({ model, wire, recorded, configured }) {
    const made = "Made again from the journal, with the server settings of today.";
    if (recorded && recorded !== wire) return `${made} ${model} answered over ${words(recorded)} in this session.`;
    const now = configured ? `configured for ${words(configured)} now` : "not configured here now";
    if (recorded) return `${made} ${model} answered over this wire in this session${configured === wire ? "" : `; it is ${now}`}.`;
    if (configured === wire) return `${made} ${model} is configured for this wire now.`;
    return `${made} ${model} is ${now}${configured ? "" : ": the wire is a guess"}.`;
  }

  async function loadRequests() {
    try {
      const list = (await get(of(id, "/requests"))).requests;
      if (!list.length) {
        replace(requests, empty("No request was made yet."));
        return;
      }
      const pickA = requestPick("Before", list, Math.max(0, list.length - 2));
      const pickB = requestPick("After", list, list.length - 1);
      const out = h("div");
      const compare = async () => {
        replace(out, loading("Comparing…"));
        try {
          const diff = await get(
            of(id, `/request-diff${query({ a: pickA.select.value, b: pickB.select.value, form })}`),
          );
          replace(
            out,
            h("p", diff.words),
            h(
              "p.faint",
              `${bytes(diff.shared_bytes)} in common, of ${bytes(diff.a_bytes)} and ${bytes(diff.b_bytes)}`,
            ),
            diff.insertions === null
              ? h("p.empty", "Too long to compare line by line.")
              : [
                  h("p.faint", `${plural(diff.deletions, "line")} removed, ${count(diff.insertions)} added`),
                  hunks(diff.hunks, "the request", "json"),
                  diff.cut ? h("p.empty", "More lines differ than are shown.") : null,
                ],
          );
        } catch (error) {
          replace(out, failure(error));
        }
      };
      replace(
        requests,
        h(
          "div.scroll",
          { tabindex: "0", role: "group", "aria-label": "Requests" },
          h(
            "table.data",
            h("caption", "Each request against the one before"),
            h(
              "thead",
              h(
                "tr",
                ["Request", "Turn", "Messages", "Bytes", "From the cache", "Against the one before"].map(
                  (name, i) => h("th", { scope: "col", class: i && i < 5 ? "number" : "" }, name),
                ),
              ),
            ),
            h(
              "tbody",
              list
                .slice(-300)
                .map((row) =>
                  h(
                    "tr",
                    h(
                      "td",
                      h(
                        "a",
                        { href: `#/s/${encodeURIComponent(id)}/time?at=${row.seq}` },
                        `event ${row.seq}`,
                      ),
                    ),
                    h("td.number", String(row.turn)),
                    h("td.number", count(row.messages)),
                    h("td.number", bytes(row.bytes)),
                    h("td.number", short(row.cache_read_tokens)),
                    h(
                      "td",
                      row.appended
                        ? h("span.good", "only added to")
                        : h("span.warn", `changed: ${row.changed.join(", ")}`),
                      row.cache_miss ? h("span.warn", `, cache miss: ${row.cache_miss}`) : "",
                    ),
                  ),
                ),
            ),
          ),
        ),
        isExport || list.length < 2
          ? null
          : h(
              "div.pair",
              pickA.node,
              pickB.node,
              formChoice(() => (out.hasChildNodes() ? compare() : null)),
              h("button", { type: "button", onclick: compare }, "Show the difference"),
            ),
        out,
      );
    } catch (error) {
      replace(requests, failure(error));
    }
  }

  function requestPick(label, list, chosen) {
    const select = h(
      "select",
      list
        .slice(-300)
        .map((row) =>
          h(
            "option",
            { value: row.seq, selected: row === list[chosen] },
            `event ${row.seq}, turn ${row.turn}, ${bytes(row.bytes)}`,
          ),
        ),
    );
    return { select, node: h("label.pick-one", h("span", `${label} `), select) };
  }

  async function replay() {
    replace(replayed, loading("Replaying…"));
    try {
      const result = await get(of(id, "/replay"));
      replace(
        replayed,
        h("p", { class: result.matches ? "good" : "warn", role: "status" }, result.words),
        h(
          "p.faint",
          `${plural(result.records, "record")} in ${result.ms} ms${result.missing ? `, ${result.missing} missing` : ""}${result.damaged ? `, ${result.damaged} damaged` : ""}`,
        ),
        result.difference ? textBlock(String(result.difference), "Difference") : null,
      );
    } catch (error) {
      replace(replayed, failure(error));
    }
  }

  slider.addEventListener("input", () => set(slider.value));
  number.addEventListener("change", () => set(number.value, true));
  if (isExport)
    replace(
      state,
      empty(
        "An exported file holds the session, not its states. `windlass view` shows the state at every event.",
      ),
    );
  else set(at, true);
  loadRequests();
  return {
    node: h(
      "div.narrow.full",
      h(
        "div.view-head",
        h("h2", "Time machine"),
        h(
          "p.faint",
          "The session is replayed up to an event: what it waited for, what it knew, what it was about to do.",
        ),
      ),
      isExport
        ? null
        : h(
            "div.slider.panel",
            h(
              "button.tool",
              { type: "button", "aria-label": "Event before", onclick: () => set(at - 1, true) },
              "‹",
            ),
            slider,
            h(
              "button.tool",
              { type: "button", "aria-label": "Next event", onclick: () => set(at + 1, true) },
              "›",
            ),
            number,
            whole,
          ),
      state,
      h("section.panel", h("h3", "Requests"), requests),
      h(
        "section.panel",
        h(
          "div.panel-head",
          h("h3", "Replay check"),
          h("button", { type: "button", onclick: replay }, "Replay the whole session"),
        ),
        h(
          "p.faint",
          "Every decision is taken again and compared with the journal. Costs nothing; no model is asked.",
        ),
        replayed,
      ),
    ),
    keys: [
      ["j", "Next event", () => set(at + 1, true)],
      ["k", "Event before", () => set(at - 1, true)],
    ],
    update(next) {
      if (next.at) set(next.at, true);
    },
    onMeta() {
      last = Math.max(1, session.meta.seq);
      slider.max = String(last);
      number.max = String(last);
      whole.textContent = `of ${count(last)}`;
    },
    stop() {
      control.abort();
      clearTimeout(timer);
    },
  };
}
