import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { mastersFrom } from "../masters.ts";
import { Looker, type State } from "./looker.ts";
import { type RunningServer, startServer } from "./server.ts";

const token = "a-token-of-32-characters-or-so-0";
let server: RunningServer;

afterEach(() => server[Symbol.asyncDispose]());

/** Its masters are not there: what it serves is about them. */
async function start(options: { readonly token?: string; readonly linger?: number } = {}): Promise<Looker> {
  const { linger = 0 } = options;
  const masters = mastersFrom(["127.0.0.1:1", "127.0.0.1:2"], {}, {});
  const looker = new Looker(masters, { interval: 20, timeout: 1000, linger });
  server = await startServer(looker, { host: "127.0.0.1", port: 0, token: options.token });
  return looker;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** By node:http: `fetch` does not let a test choose the Host header. */
async function ask(path: string, { method = "GET", headers = {}, body = "" }: Asked = {}): Promise<Answer> {
  const asked = request(new URL(path, server.url), { method, headers });
  asked.end(body);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once("response", resolve).once("error", reject);
  });
  let text = "";
  for await (const part of answer.setEncoding("utf8")) text += part as string;
  return { status: answer.statusCode, headers: answer.headers, body: text };
}

describe("without a token", () => {
  test("the state is JSON", async () => {
    await start();
    const { status, headers, body } = await ask("/api/state");
    expect({ status, type: headers["content-type"] }).toEqual({
      status: 200,
      type: "application/json; charset=utf-8",
    });
    const { masters, locks, hasQuorum, changes } = JSON.parse(body) as State;
    expect({ locks, hasQuorum }).toEqual({ locks: [], hasQuorum: false });
    expect(masters[0]).toEqual({
      name: "127.0.0.1:1",
      reachable: false,
      error: "ECONNREFUSED",
      slow: false,
    });
    expect(changes.map(({ change, master }) => `${change} ${master}`)).toEqual([
      "unreachable 127.0.0.1:2",
      "unreachable 127.0.0.1:1",
    ]);
  });

  test("the page runs its own script and style sheet, and loads nothing", async () => {
    await start();
    const { status, headers, body } = await ask("/");
    expect(status).toBe(200);
    const policy = headers["content-security-policy"];
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-\S+'; style-src 'sha256-\S+'; connect-src 'self';/,
    );
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(body).not.toMatch(/<script><|<style><|\b(src|href)="(?!data:,")/);
  });

  test.each(["/", "/api/state", "/nothing"])("the answer to %s has headers for safety", async (path) => {
    await start();
    const { headers } = await ask(path);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cache-control": "no-store",
      "cross-origin-resource-policy": "same-origin",
      "content-security-policy": expect.stringMatching(
        /^default-src 'none';.*frame-ancestors 'none'/,
      ) as string,
    });
    expect(headers).not.toHaveProperty("access-control-allow-origin");
  });

  test.each(["POST", "PUT", "DELETE", "OPTIONS"])("%s is refused", async (method) => {
    await start();
    for (const path of ["/", "/api/state", "/login"]) {
      const { status, headers } = await ask(path, { method });
      expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: "GET, HEAD" });
    }
  });

  test.each(["/", "/api/state", "/api/events"])("HEAD %s has the headers, and no body", async (path) => {
    await start();
    const { status, headers, body } = await ask(path, { method: "HEAD" });
    expect({ status, body }).toEqual({ status: 200, body: "" });
    expect(headers["x-frame-options"]).toBe("DENY");
  });

  test("a hundred silent connections keep others out for no time, and their own address for seconds", async () => {
    await start();
    const { port } = new URL(server.url);
    const closed = Array.from({ length: 100 }, async () => {
      const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress: "127.0.0.2" });
      socket.on("error", () => {}).resume();
      await once(socket, "close");
    });
    expect((await ask("/api/state")).status).toBe(200);
    // Those that were let in are closed because they ask nothing.
    await Promise.all(closed);
    expect((await ask("/api/state")).status).toBe(200);
  });

  test.each(["attacker.example", "localhost", "127.0.0.1:1"])("the Host %s is refused", async (host) => {
    await start();
    for (const path of ["/", "/api/state", "/api/events"])
      expect((await ask(path, { headers: { host } })).status).toBe(421);
  });

  test("another site gets no state, and an unknown path no page", async () => {
    await start();
    expect((await ask("/api/events", { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
    expect((await ask("/../package.json")).status).toBe(404);
    expect((await ask("/login")).status).toBe(404);
  });
});

function form(text: string): Asked {
  return {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ token: text }).toString(),
  };
}

describe("with a token", () => {
  test("nothing is shown without it, and the page asks for it", async () => {
    await start({ token });
    for (const path of ["/api/state", "/api/events"]) {
      const { status, headers, body } = await ask(path);
      expect({ status, asks: headers["www-authenticate"] }).toEqual({ status: 401, asks: "Bearer" });
      expect(body).not.toContain("127.0.0.1");
    }
    const { status, body, headers } = await ask("/");
    expect(status).toBe(401);
    expect(body).toContain('<p id="wrong" role="alert" hidden>');
    expect(headers["content-security-policy"]).toContain("script-src 'none'");
  });

  test("a program shows it in its header", async () => {
    await start({ token });
    expect((await ask("/api/state", { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    expect((await ask("/api/state", { headers: { authorization: `Bearer ${token}x` } })).status).toBe(401);
  });

  test("the form gives a cookie for it", async () => {
    await start({ token });
    const { status, headers } = await ask("/login", form(token));
    expect({ status, to: headers.location }).toEqual({ status: 303, to: "/" });
    const [cookie] = headers["set-cookie"]![0]!.split(";");
    expect((await ask("/api/state", { headers: { cookie: cookie! } })).status).toBe(200);
  });

  test("the form refuses another one, a form of another site, and what is too long", async () => {
    await start({ token });
    const wrong = await ask("/login", form(`${token}x`));
    expect({ status: wrong.status, cookie: wrong.headers["set-cookie"] }).toEqual({
      status: 401,
      cookie: undefined,
    });
    expect(wrong.body).toContain('<p id="wrong" role="alert">');
    const { headers, ...rest } = form(token);
    const other = await ask("/login", {
      ...rest,
      headers: { ...headers, origin: "http://attacker.example" },
    });
    expect({ status: other.status, cookie: other.headers["set-cookie"] }).toEqual({
      status: 403,
      cookie: undefined,
    });
    expect((await ask("/login", form("x".repeat(5000)))).status).toBe(413);
  });
});

describe("events", () => {
  test("come as it happens, the first at once, to all who listen", async () => {
    await start();
    const states = await Promise.all([readStates(3), readStates(3)]);
    for (const [first, second, third] of states) {
      expect(first!.since).toBe(third!.since);
      expect(first!.time < second!.time && second!.time < third!.time).toBe(true);
    }
    // One looker for all.
    expect(states[0]?.[0]?.since).toBe(states[1]?.[0]?.since);
  });

  test("end when nobody listens, and begin with a new look", async () => {
    await start();
    const [before] = await readStates(1);
    // The server hears a little later that a reader has left.
    await expect
      .poll(async () => (await readStates(1))[0]!.since, { timeout: 10_000 })
      .not.toBe(before!.since);
  });

  test("go on for a while when nobody listens, so that a page that is loaded again misses nothing", async () => {
    await start({ linger: 60_000 });
    const [before] = await readStates(1);
    const [after] = await readStates(1);
    expect(after!.since).toBe(before!.since);
  });
});

/** The first states of a new stream, which ends with them. */
async function readStates(count: number): Promise<readonly State[]> {
  const response = await fetch(new URL("/api/events", server.url));
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of response.body!) {
    text += decoder.decode(part as Uint8Array, { stream: true });
    const states = [...text.matchAll(/^event: state\ndata: (.+)\n\n/gm)].map(
      ([, data]) => JSON.parse(data!) as State,
    );
    // This leaves the stream.
    if (states.length >= count) return states.slice(0, count);
  }
  throw new Error("the stream ended");
}
