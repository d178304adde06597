// Starts a session in a fleet and prints what it says, with nothing but HTTP.
//
//     WINDLASS_SERVER=http://127.0.0.1:7117 WINDLASS_TOKEN=... node follow_session.ts "the prompt"
//
// Node runs it as it is from version 22.18 on; before, `tsc` or `esbuild` removes the types.

type Block = { type: string; text?: string };
type Frame = { type: string; message?: { content: Block[] } };

const server: string = process.env.WINDLASS_SERVER ?? "http://127.0.0.1:7117";
const token: string = process.env.WINDLASS_TOKEN ?? "";

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...init.headers, Authorization: `Bearer ${token}` };
  const response = await fetch(server + path, { ...init, headers });
  if (!response.ok) {
    throw new Error((await response.json()).error.message);
  }
  return response;
}

// Frames until the session ends. A broken connection is resumed after the last frame.
async function* events(session: string): AsyncGenerator<Frame> {
  let last = "0";
  for (let attempt = 0; attempt < 60; attempt += 1) {
    try {
      const headers = { "Last-Event-ID": last };
      const response = await call(`/v1/sessions/${session}/events`, { headers });
      const decoder = new TextDecoder();
      let rest = "";
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        const parts = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) {
          const fields = new Map<string, string>();
          for (const line of part.split("\n")) {
            const [name, ...value] = line.split(": ");
            fields.set(name, value.join(": "));
          }
          if (fields.get("event") === "end") return;
          last = fields.get("id") ?? last;
          const data = fields.get("data");
          if (data !== undefined) yield JSON.parse(data) as Frame;
        }
      }
    } catch (error) {
      if (attempt === 0 && last === "0") throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new Error("the gateway breaks off again and again");
}

async function main(): Promise<void> {
  const body = JSON.stringify({ prompt: process.argv[2] });
  const headers = { "Content-Type": "application/json" };
  const created = await call("/v1/sessions", { method: "POST", body, headers });
  const session: string = (await created.json()).id;
  for await (const frame of events(session)) {
    if (frame.type !== "assistant" || frame.message === undefined) continue;
    for (const block of frame.message.content) {
      if (block.type === "text") console.log(block.text);
    }
  }
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
