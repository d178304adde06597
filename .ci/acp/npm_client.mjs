// The published TypeScript client drives an agent through every method it has for one.
//
//   node npm_client.mjs windlass DIRECTORY PROGRAM [ARGUMENT...]   windlass itself
//   node npm_client.mjs adapter DIRECTORY PROGRAM [ARGUMENT...]    an adapter that has windlass below it
//   node npm_client.mjs older-adapter DIRECTORY PROGRAM [ARGUMENT...]    the one before it
//
// Run it from the folder that has node_modules.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const resolve = createRequire(`${process.cwd()}/`).resolve;
const { client, methods, ndJsonStream } = await import(
  pathToFileURL(resolve("@agentclientprotocol/sdk"))
);
const [kind, cwd, program, ...programArguments] = process.argv.slice(2);
const known = { cwd, mcpServers: [] };

/**
 * Starts the agent, gives `drive` a client of it, and expects it to end when its input ends. The older
 * adapter does not: it waits for the program below it and never ends that one's input. So it is ended.
 */
async function withAgent(answerPermission, drive) {
  const agent = spawn(program, programArguments, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(agent, "exit");
  const updates = [];
  const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  await client({ name: "ci" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => answerPermission(params))
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
    })
    .connectWith(stream, async (agentSide) => {
      const call = (method, params) => agentSide.request(method, params);
      const started = await call(methods.agent.initialize, {
        protocolVersion: 1,
        clientCapabilities: {},
      });
      assert.equal(started.protocolVersion, 1);
      const prompt = (sessionId, text) =>
        call(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
      const cancel = (sessionId) => agentSide.notify(methods.agent.session.cancel, { sessionId });
      await drive({ call, prompt, cancel, updates, started });
    });
  agent.stdin.end();
  if (kind === "older-adapter") agent.kill("SIGKILL");
  const overdue = setTimeout(() => agent.kill("SIGKILL"), 30_000);
  const [code, signal] = await exited;
  clearTimeout(overdue);
  if (kind === "windlass") assert.equal(code, 0, "the agent ends when its input ends");
  // An adapter that still has an update to send finds the pipe closed, and fails with that.
  if (kind === "adapter") assert.equal(signal, null, "the adapter ends when its input ends");
}

const choose = (wanted) => ({ options }) => {
  const option = options.find((one) => one.kind === wanted);
  assert.ok(option, `no option of kind ${wanted}: ${JSON.stringify(options)}`);
  return { outcome: { outcome: "selected", optionId: option.optionId } };
};
const kinds = (updates) => new Set(updates.map((update) => update.sessionUpdate));
const said = (updates) =>
  updates
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .map((update) => update.content.text)
    .join("");
const { session } = methods.agent;

async function everyMethod() {
  await withAgent(choose("allow_once"), async ({ call, prompt, cancel, updates, started }) => {
    if (started.authMethods?.length > 0) {
      await call(methods.agent.authenticate, { methodId: started.authMethods[0].id });
    }
    const opened = await call(session.new, known);
    const { sessionId } = opened;
    for (const text of ["hello", "write a file", "run a command", "make a plan"]) {
      assert.deepEqual(await prompt(sessionId, text), { stopReason: "end_turn" }, text);
    }
    const wanted = ["agent_message_chunk", "tool_call", "tool_call_update", "plan"];
    for (const one of wanted) assert.ok(kinds(updates).has(one), one);
    await call(session.setMode, { sessionId, modeId: "plan" });
    await call(session.setMode, { sessionId, modeId: "default" });
    const [{ id: configId, currentValue: value }] = opened.configOptions;
    await call(session.setConfigOption, { sessionId, configId, value });
    updates.length = 0;
    const waiting = prompt(sessionId, "wait for ever");
    while (!updates.some((update) => update.status === "in_progress")) {
      await new Promise((done) => setImmediate(done));
    }
    await cancel(sessionId);
    assert.deepEqual(await waiting, { stopReason: "cancelled" });
    await call(session.close, { sessionId });
    const { sessions } = await call(session.list, { cwd });
    assert.ok(sessions.some((one) => one.sessionId === sessionId));
    updates.length = 0;
    await call(session.load, { sessionId, ...known });
    assert.ok(kinds(updates).has("user_message_chunk"));
    await call(session.close, { sessionId });
    await call(session.resume, { sessionId, ...known });
    await call(session.close, { sessionId });
    await call(session.delete, { sessionId });
    // The key is given by the environment, and cannot be taken away from here.
    await assert.rejects(call(methods.agent.logout, {}), /ANTHROPIC_API_KEY/);
  });
}

/** What adapters once got wrong with an agent below them. */
async function throughAdapter() {
  let sessionId;
  await withAgent(choose("reject_once"), async ({ call, prompt, cancel, updates }) => {
    const opened = await call(session.new, known);
    ({ sessionId } = opened);
    assert.equal((await prompt(sessionId, "hello")).stopReason, "end_turn");
    assert.equal(said(updates), "Hello.", "what came as it was written is not shown again");
    await call(session.setMode, { sessionId, modeId: "plan" });
    if (kind === "adapter") {
      const rejected = await prompt(sessionId, "propose a plan");
      assert.equal(rejected.stopReason, "cancelled", "a rejected plan ends the turn as cancelled");
      const effort = opened.configOptions.find((option) => option.id === "effort");
      assert.ok(effort?.options.length > 1, "the effort of a model that has one can be chosen");
    } else {
      // It takes every run that was stopped for a failure.
      await assert.rejects(prompt(sessionId, "propose a plan"), /interrupted/);
    }
    assert.equal((await prompt(sessionId, "hello")).stopReason, "end_turn");
    updates.length = 0;
    const waiting = prompt(sessionId, "wait for ever");
    while (!updates.some((update) => update.sessionUpdate === "tool_call")) {
      await new Promise((done) => setImmediate(done));
    }
    await cancel(sessionId);
    assert.equal((await waiting).stopReason, "cancelled");
  });
  // At once, while the first process may still hold the session.
  await withAgent(choose("allow_once"), async ({ call, prompt, updates }) => {
    await call(session.load, { sessionId, ...known });
    assert.ok(kinds(updates).has("user_message_chunk"), "the session is replayed");
    assert.equal((await prompt(sessionId, "hello")).stopReason, "end_turn");
  });
}

await (kind === "windlass" ? everyMethod() : throughAdapter());
console.log(`the TypeScript client is content with ${kind}`);
