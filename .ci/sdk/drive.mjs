// Drives the binary named by WINDLASS through the npm agent SDK: permissions, hooks, servers inside the
// client, sessions, interrupts. Exits with 1 at the first thing that is not as it should be.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const made = [];
const fresh = () => {
  made.push(realpathSync(mkdtempSync(join(tmpdir(), "sdk-"))));
  return made.at(-1);
};
const home = fresh();

function options(more = {}) {
  const env = { ...process.env, HOME: home };
  return { pathToClaudeCodeExecutable: process.env.WINDLASS, cwd: fresh(), env, ...more };
}

async function ask(prompt, more) {
  const messages = [];
  for await (const message of query({ prompt, options: options(more) })) messages.push(message);
  const results = messages.filter((message) => message.type === "result");
  assert.equal(results.length, 1);
  return { messages, result: results[0] };
}

const tests = {
  async "a prompt is answered"() {
    const { messages, result } = await ask("hello");
    assert.equal(messages[0].subtype, "init");
    assert.equal(result.subtype, "success");
  },
  async "canUseTool is asked, and its yes counts"() {
    const asked = [];
    const cwd = fresh();
    const canUseTool = async (name, input) => {
      asked.push(name);
      return { behavior: "allow", updatedInput: input };
    };
    await ask("Run: touch made", { canUseTool, cwd });
    assert.deepEqual(asked, ["Bash"]);
    assert.ok(existsSync(join(cwd, "made")));
  },
  async "canUseTool is asked, and its no counts"() {
    const cwd = fresh();
    const canUseTool = async () => ({ behavior: "deny", message: "not today" });
    const { result } = await ask("Run: touch made", { canUseTool, cwd });
    assert.equal(result.permission_denials.length, 1);
    assert.ok(!existsSync(join(cwd, "made")));
  },
  async "hooks are asked"() {
    const asked = [];
    const hook = async (input) => {
      asked.push(input.hook_event_name);
      return {};
    };
    const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [hook] }], PostToolUse: [{ hooks: [hook] }] };
    await ask("Run: echo hooked", { hooks, allowedTools: ["Bash"] });
    assert.deepEqual(asked, ["PreToolUse", "PostToolUse"]);
  },
  async "a server inside the client is called"() {
    const heard = [];
    const echo = tool("echo", "Echoes", { text: z.string() }, async ({ text }) => {
      heard.push(text);
      return { content: [{ type: "text", text: `echo: ${text}` }] };
    });
    const mcpServers = { test: createSdkMcpServer({ name: "test", version: "1.0.0", tools: [echo] }) };
    const { messages } = await ask("Call the mcp__test__echo tool", { mcpServers, allowedTools: ["mcp__test__echo"] });
    assert.deepEqual(heard, ["test"]);
    assert.deepEqual(messages[0].mcp_servers, [{ name: "test", status: "connected" }]);
  },
  async "a session goes on"() {
    const cwd = fresh();
    const first = await ask("hello", { cwd });
    const second = await ask("hello again", { cwd, resume: first.result.session_id });
    assert.equal(second.result.session_id, first.result.session_id);
    const third = await ask("hello again", { cwd, resume: first.result.session_id, forkSession: true });
    assert.notEqual(third.result.session_id, first.result.session_id);
  },
  async "an interrupt ends the turn with a result"() {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    async function* prompts() {
      yield { type: "user", message: { role: "user", content: "Take for ever" }, parent_tool_use_id: null, session_id: "" };
      await held;
    }
    const run = query({ prompt: prompts(), options: options({ includePartialMessages: true }) });
    let result;
    for await (const message of run) {
      if (message.type === "stream_event" && message.event.type === "content_block_delta") await run.interrupt();
      if (message.type === "result") {
        result = message;
        release();
        break;
      }
    }
    assert.equal(result.terminal_reason, "aborted_streaming");
  },
  async "servers come on the way, and everything in force is told"() {
    const heard = [];
    const echo = tool("echo", "Echoes", { text: z.string() }, async ({ text }) => {
      heard.push(text);
      return { content: [{ type: "text", text: `echo: ${text}` }] };
    });
    let release;
    const held = new Promise((resolve) => (release = resolve));
    const prompt = (content) => ({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" });
    let ask;
    const asked = new Promise((resolve) => (ask = resolve));
    async function* prompts() {
      await asked;
      yield prompt("Call the mcp__test__echo tool");
      await held;
    }
    const run = query({ prompt: prompts(), options: options({ allowedTools: ["mcp__test__echo"] }) });
    const answering = (async () => {
      for await (const message of run) if (message.type === "result") return message;
    })();
    const set = await run.setMcpServers({ test: createSdkMcpServer({ name: "test", version: "1.0.0", tools: [echo] }) });
    assert.deepEqual(set.added, ["test"]);
    await run.applyFlagSettings({ effortLevel: "low" });
    assert.ok((await run.supportedModels()).length > 1);
    assert.ok((await run.supportedCommands()).some((command) => command.name === "compact"));
    assert.equal((await run.getContextUsage()).isAutoCompactEnabled, true);
    await run.setModel("haiku");
    await run.setMaxThinkingTokens(null);
    assert.equal(await run.backgroundTasks(), false);
    await assert.rejects(run.stopTask("nothing"));
    ask();
    const result = await answering;
    release();
    assert.deepEqual(heard, ["test"]);
    assert.equal(result.subtype, "success");
  },
  async "files, questions aside and what was written since are served"() {
    const cwd = fresh();
    writeFileSync(join(cwd, "a.txt"), "alpha\n");
    let release;
    const held = new Promise((resolve) => (release = resolve));
    async function* prompts() {
      await held;
    }
    const run = query({ prompt: prompts(), options: options({ cwd, settingSources: ["project"] }) });
    const reading = (async () => {
      for await (const _ of run);
    })();
    const read = await run.readFile("a.txt");
    assert.deepEqual([read.contents, read.absPath], ["alpha\n", join(cwd, "a.txt")]);
    assert.equal(await run.readFile(join(fresh(), "b.txt")), null);
    await run.seedReadState(join(cwd, "a.txt"), Date.now());
    mkdirSync(join(cwd, ".claude", "commands"), { recursive: true });
    writeFileSync(join(cwd, ".claude", "commands", "late.md"), "Is it late?");
    assert.ok((await run.reloadSkills()).skills.some((skill) => skill.name === "late"));
    assert.ok((await run.reloadOutputStyles()).available_output_styles.includes("default"));
    assert.match((await run.askSideQuestion("And why?")).response, /Hello/);
    release();
    await reading;
  },
  async "a plugin is loaded"() {
    const path = fresh();
    mkdirSync(join(path, "commands"));
    writeFileSync(join(path, "commands", "low.md"), "When is low water?");
    const { messages } = await ask("hello", { plugins: [{ type: "local", path }] });
    assert.equal(messages[0].plugins.length, 1);
    assert.ok(messages[0].slash_commands.some((name) => name.endsWith(":low")));
  },
  async "a system prompt and a schema are taken"() {
    const schema = { type: "object", properties: { word_count: { type: "number" } }, required: ["word_count"] };
    const { result } = await ask("Count the words in: Hello world", {
      systemPrompt: "You count.",
      outputFormat: { type: "json_schema", schema },
    });
    assert.equal(result.structured_output.word_count, 2);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await Promise.race([test(), new Promise((_, no) => setTimeout(() => no(new Error("too late")), 30_000).unref())]);
    console.log(`npm ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`npm FAILED  ${name}\n${error.stack}`);
  }
}
for (const folder of made) rmSync(folder, { recursive: true, force: true });
console.log(`${Object.keys(tests).length - failed} of ${Object.keys(tests).length} passed`);
process.exit(failed ? 1 : 0);
