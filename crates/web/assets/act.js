// Taking part, where the page was started with --act: answers to questions, messages, interrupt, rewind.
import { h, icon, replace } from "./dom.js";
import { clip } from "./format.js";
import { atMostEvery, get, of, post } from "./api.js";
import { failure, plain, textBlock, ticked } from "./parts.js";
import { say, showDialog } from "./shell.js";

export function actPanel(session) {
  const { id } = session;
  const node = h("section.act", { "aria-label": "Take part" });
  const trouble = h("div");
  const questions = h("div");
  const draft = h("div");
  const held = h("div");
  const field = h("textarea#message", { rows: 2, placeholder: "Send a message", "aria-label": "Message" });
  const send = h("button.primary", { type: "submit" }, "Send");
  const interrupt = h("button", { type: "button", hidden: true }, "Interrupt");
  const close = h("button.quiet", { type: "button", hidden: true }, "Give back");
  let shown = "";

  async function act(name, body) {
    replace(trouble);
    try {
      draw(await post(of(id, `/act/${name}`), body));
      return true;
    } catch (error) {
      replace(trouble, failure(error));
      return false;
    }
  }

  async function refresh() {
    try {
      draw(await get(of(id, "/act")));
    } catch (error) {
      replace(trouble, failure(error));
    }
  }

  function draw(state) {
    interrupt.hidden = !state.is_running;
    close.hidden = !state.is_open;
    const isHeld = Boolean(state.held_by);
    field.disabled = isHeld || !state.can_act;
    send.disabled = field.disabled;
    replace(
      held,
      isHeld
        ? h(
            "p.faint",
            `Process ${state.held_by.pid} on ${state.held_by.host} has this session. Answer there, or end it first.`,
          )
        : null,
      state.queued && state.queued.length
        ? h("p.faint", `Waiting to be said: ${state.queued.map((text) => clip(text, 60)).join(" · ")}`)
        : null,
    );
    replace(
      draft,
      state.draft
        ? h(
            "div.draft",
            h("p.label", icon("model"), "Answering"),
            h("div.said", plain(state.draft.slice(-2000))),
          )
        : null,
    );
    const now = JSON.stringify(state.questions || []);
    if (now !== shown) {
      shown = now;
      replace(questions, (state.questions || []).map(question));
      if (state.questions && state.questions.length)
        say(`Windlass asks whether ${state.questions[0].tool} may run`);
    }
  }

  function question(one) {
    const message = h("input", {
      type: "text",
      "aria-label": "What to say with a no",
      placeholder: "What to do instead",
    });
    const remember = (one.suggestions || []).map((rule) =>
      h(
        "button",
        { type: "button", onclick: () => answer(one, "allow", [rule]) },
        "Always allow ",
        h("code", rule),
      ),
    );
    return h(
      "div.question",
      { role: "group", "aria-label": `May ${one.tool} run?` },
      h(
        "p.question-head",
        icon("waiting"),
        h("strong", `May ${one.tool} run?`),
        one.agent ? h("span.faint", ` asked by ${one.agent}`) : null,
      ),
      h("p", ticked(one.why)),
      inputOf(one.input),
      h(
        "div.answers",
        h("button.primary", { type: "button", onclick: () => answer(one, "allow", []) }, "Allow once"),
        remember,
        h(
          "span.deny",
          message,
          h(
            "button.danger",
            { type: "button", onclick: () => answer(one, "deny", [], message.value) },
            "Deny",
          ),
        ),
      ),
    );
  }

  async function answer(one, verdict, remember, message) {
    if (await act("answer", { ticket: one.ticket, answer: verdict, remember, message: message || undefined }))
      say(verdict === "allow" ? "Allowed" : "Denied");
  }

  const form = h("form.composer", field, h("div.composer-tools", send, interrupt, close));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    if (await act("prompt", { text: field.value })) {
      field.value = "";
      session.follow();
      say("Sent");
    }
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  interrupt.addEventListener("click", () => act("interrupt", {}));
  close.addEventListener("click", () => act("close", {}));
  replace(node, questions, draft, held, trouble, form);
  refresh();
  return {
    node,
    refresh: atMostEvery(150, refresh),
    rewind(item) {
      const files = h("input", { type: "checkbox", checked: true });
      const go = h("button.danger", { type: "button" }, "Rewind");
      const dialog = showDialog(
        "Rewind",
        h("p", "The conversation goes back to before this message:"),
        h("blockquote", clip(item.text, 300)),
        h("label.check", files, " Files go back too"),
        h("p.faint", "What is forgotten stays in the journal. `windlass rewind --undo` takes it back."),
        h("div.answers", go),
      );
      go.addEventListener("click", async () => {
        dialog.close();
        if (await act("rewind", { item: item.n, files: files.checked })) say("Rewound");
      });
    },
    focus: () => field.focus(),
  };
}

function inputOf(input) {
  if (!input || typeof input !== "object") return null;
  if (typeof input.command === "string") return textBlock(input.command, "Command");
  return textBlock(JSON.stringify(input, null, 2), "Input", "pre.code.short");
}
