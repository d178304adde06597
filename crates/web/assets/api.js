// Where answers come from: the server that gave us this page, or the data inside an exported file.

const SECONDS_MAX = 60;
const embedded = readEmbedded();
let bearer = "";

function readEmbedded() {
  const node = document.getElementById("windlass-data");
  return node ? JSON.parse(node.textContent) : null;
}

export const isExport = embedded !== null;

/// What was taken out of an exported file.
export function redactions() {
  return (embedded && embedded.redactions) || [];
}

/// Takes the token out of the address, so that it stands in no history. Returns the session that was named.
export function takeToken() {
  const found = new URLSearchParams(location.hash.startsWith("#token=") ? location.hash.slice(1) : "");
  if (found.get("token")) {
    bearer = found.get("token");
    try {
      sessionStorage.setItem("windlass-token", bearer);
    } catch {
      /* kept in memory alone */
    }
    const session = found.get("session");
    history.replaceState(null, "", session ? `#/s/${encodeURIComponent(session)}` : "#/");
  } else if (!isExport) {
    try {
      bearer = sessionStorage.getItem("windlass-token") || "";
    } catch {
      /* none was kept */
    }
  }
}

export class ApiError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, {
      ...options,
      credentials: "omit",
      cache: "no-store",
      headers: { ...options.headers, authorization: `Bearer ${bearer}` },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(
      "offline",
      error.name === "TimeoutError"
        ? `No answer within ${SECONDS_MAX} seconds.`
        : "The server is gone. Start `windlass view` again.",
    );
  }
  if (response.ok) return response;
  let told = {};
  try {
    told = (await response.json()).error || {};
  } catch {
    /* not ours */
  }
  throw new ApiError(
    told.code || String(response.status),
    told.message || `The server answered ${response.status}.`,
  );
}

function bounded(signal) {
  const limit = AbortSignal.timeout(SECONDS_MAX * 1000);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

const awaited = new Map();

/// Asks for something that will be wanted at once, so that it is on its way.
export function expect(path) {
  if (isExport) return;
  const answer = ask(path, { signal: bounded() }).then((response) => response.json());
  answer.catch(() => {});
  awaited.set(path, answer);
  setTimeout(() => awaited.delete(path), 5000);
}

export async function get(path, signal) {
  const early = awaited.get(path);
  if (early) {
    awaited.delete(path);
    return early;
  }
  if (isExport) {
    if (Object.hasOwn(embedded, path)) return embedded[path];
    throw new ApiError("not_exported", "This is not part of the exported file. `windlass view` shows it.");
  }
  return (await ask(path, { signal: bounded(signal) })).json();
}

export async function post(path, body) {
  const options = {
    method: "POST",
    signal: bounded(),
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  return (await ask(path, options)).json();
}

/// The address of something of a session.
export function of(id, rest = "") {
  return `/api/sessions/${encodeURIComponent(id)}${rest}`;
}

export function query(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== "" && value !== null && value !== undefined) found.set(name, value);
  const text = found.toString();
  return text ? `?${text}` : "";
}

/// Reads server-sent events until `stop` is called. A broken stream is taken up again where it was.
export function listen(session, onEvent, onState) {
  const control = new AbortController();
  let after = "";
  let pause = 500;
  async function read() {
    const response = await ask(`/api/events${query({ session, after })}`, {
      signal: control.signal,
      headers: {},
    });
    onState(true);
    pause = 500;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        tell(rest.slice(0, end));
        rest = rest.slice(end + 2);
      }
    }
  }
  function tell(text) {
    let kind = "";
    const data = [];
    for (const line of text.split("\n")) {
      if (line.startsWith("id:")) after = line.slice(3).trim();
      else if (line.startsWith("event:")) kind = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5));
    }
    if (kind && data.length) onEvent(kind, JSON.parse(data.join("\n")));
  }
  (async () => {
    while (!control.signal.aborted && !isExport) {
      try {
        await read();
      } catch (error) {
        if (error.code === "unauthorized") return onState(false);
      }
      if (control.signal.aborted) return;
      onState(false);
      await new Promise((go) => setTimeout(go, pause));
      pause = Math.min(pause * 2, 10000);
    }
  })();
  return () => control.abort();
}

/// Runs something when it is asked for, but never twice at once, and not more often than this.
export function atMostEvery(ms, run) {
  let isBusy = false;
  let isWanted = false;
  return async function wish() {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    while (isWanted) {
      isWanted = false;
      try {
        await run();
      } catch {
        /* the next time shows it */
      }
      await new Promise((go) => setTimeout(go, ms));
    }
    isBusy = false;
  };
}
