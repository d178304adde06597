// The published TypeScript client drives an agent through every method it has for one.
//
//   node npm_client.mjs windlass DIRECTORY PROGRAM [ARGUMENT...]   windlass itself
//   node npm_client.mjs adapter DIRECTORY PROGRAM [ARGUMENT...]    an adapter that has windlass below it
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

/** Starts the agent, gives `drive` a client of it, and expects it to end when its input ends. */
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
  const overdue = setTimeout(() => agent.kill("SIGKILL"), 30_000);
  const [code] = await exited;
  clearTimeout(overdue);
  assert.equal(code, 0, "the agent ends when its input ends");
}

const choose = (wanted) => ({ options }) => {
  const option = options.find((one) => one.kind === wanted);
  assert.ok(option, `no option of kind ${wanted}: ${JSON.stringify(options)}`);
  return { outcome: { outcome: "selected", optionId: option.optionId } };
};
const kinds = (updates) => new Set(updates.map((update) => update.sessionUpdate));
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
  });
}

/** What an adapter once got wrong with an agent below it. */
async function throughAdapter() {
  let sessionId;
  await withAgent(choose("reject_once"), async ({ call, prompt }) => {
    ({ sessionId } = await call(session.new, known));
    assert.equal((await prompt(sessionId, "hello")).stopReason, "end_turn");
    await call(session.setMode, { sessionId, modeId: "plan" });
    const rejected = await prompt(sessionId, "propose a plan");
    assert.equal(rejected.stopReason, "cancelled", "a rejected plan ends the turn as cancelled");
    assert.equal((await prompt(sessionId, "hello")).stopReason, "end_turn");
  });
  // At once, while the first process may still hold the session.
  await withAgent(choose("allow_once"), async ({ call, prompt, updates }) => {
    await call(session.load, { sessionId, ...known });
    assert.ok(kinds(updates).has("user_message_chunk"), "the session is replayed");
    assert.equal((await prompt(sessionId, "hello")).stopReason, "end_turn");
  });
}

await (kind === "adapter" ? throughAdapter() : everyMethod());
console.log(`the TypeScript client is content with ${kind}`);
