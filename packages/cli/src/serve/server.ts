import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { jsonOf } from "../output.ts";
import { Access, bracketed, isOwnHost } from "./access.ts";
import type { Looker, State } from "./looker.ts";
import { loginPage, mainPage, type Page } from "./pages.ts";

const maxConnections = 100;
/** Of one address: a page has two, and a proxy in front has its own limits. */
const maxConnectionsFrom = 32;
/** A connection that sends no request is closed, ms: else a hundred of them would keep everybody out. */
const headersTimeout = 5000;
/** Of a login form. */
const maxBody = 4096;
/** A page that does not read what it is sent misses states instead of filling the memory. */
const maxUnsent = 1_000_000;

export interface ServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** `undefined`: everybody who can connect may look. */
  readonly token: string | undefined;
}

export interface RunningServer extends AsyncDisposable {
  /** `http://host:port/` */
  readonly url: string;
}

/** Every answer has these. */
const securityHeaders = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
} as const;

/** Serves the page, its state and its events until it is disposed of. Rejects if it cannot listen. */
export async function startServer(looker: Looker, options: ServerOptions): Promise<RunningServer> {
  const server = createServer({ headersTimeout, connectionsCheckingInterval: 1000 });
  server.maxConnections = maxConnections;
  limitEach(server);
  const port = await listening(server, options);
  const { host, token } = options;
  const site = new Site(looker, {
    host,
    port,
    access: token === undefined ? undefined : new Access(token, port),
  });
  server.on("request", (request, response) => {
    site.answer(request, response).catch(() => response.destroy());
  });
  return {
    url: `http://${bracketed(host)}:${port}/`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      looker.stop();
    },
  };
}

/** Closes the connections of an address that has too many. */
function limitEach(server: Server): void {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    const own = [...open].filter(({ remoteAddress }) => remoteAddress === socket.remoteAddress);
    if (own.length > maxConnectionsFrom) socket.destroy();
  });
}

function listening(server: Server, { host, port }: ServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

interface SiteOptions extends Pick<ServerOptions, "host" | "port"> {
  readonly access: Access | undefined;
}

class Site {
  readonly #looker: Looker;
  readonly #options: SiteOptions;
  readonly #main: Page = mainPage();
  readonly #login: Page = loginPage();

  constructor(looker: Looker, options: SiteOptions) {
    this.#looker = looker;
    this.#options = options;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { host, port, access } = this.#options;
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    if (!isOwnHost(request.headers.host, host, port))
      return refuse(response, 421, "not the name of this server");
    // Another site could hold connections, although it could not read them.
    if (request.headers["sec-fetch-site"] === "cross-site" && request.url?.startsWith("/api/"))
      return refuse(response, 403, "asked by another site");
    const path = request.url?.split("?")[0] ?? "/";
    const isLogin = access !== undefined && path === "/login";
    if (isLogin && request.method === "POST") return await this.#logIn(access, request, response);
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", isLogin ? "GET, HEAD, POST" : "GET, HEAD");
      return refuse(response, 405, "only GET and HEAD");
    }
    if (access && !access.isGranted(request)) {
      response.setHeader("WWW-Authenticate", "Bearer");
      return path.startsWith("/api/")
        ? refuse(response, 401, "a token is needed")
        : send(response, 401, this.#login);
    }
    if (path === "/") return send(response, 200, this.#main);
    if (path === "/api/state") return sendJson(response, await this.#looker.now());
    if (path === "/api/events") return this.#sendEvents(request, response);
    return isLogin ? redirect(response) : refuse(response, 404, "no such page");
  }

  async #logIn(access: Access, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { origin, host } = request.headers;
    // TLS may end at a proxy.
    if (origin !== undefined && origin.replace(/^https?:\/\//, "") !== host)
      return refuse(response, 403, "asked by another site");
    const body = await bodyOf(request);
    if (body === undefined) {
      response.setHeader("Connection", "close");
      return refuse(response, 413, "too long");
    }
    if (!access.isToken(new URLSearchParams(body).get("token") ?? "")) {
      const html = this.#login.html.replace(" hidden>", ">");
      return send(response, 401, { ...this.#login, html });
    }
    response.setHeader("Set-Cookie", access.cookie);
    redirect(response);
  }

  #sendEvents({ method }: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
    if (method === "HEAD") return void response.end();
    // Of a lost connection, ms.
    response.write("retry: 2000\n\n");
    const leave = this.#looker.watch((state: State) => {
      if (response.writableLength < maxUnsent)
        response.write(`event: state\ndata: ${JSON.stringify(state)}\n\n`);
    });
    response.once("close", leave);
  }
}

function send(response: ServerResponse, status: number, { html, policy }: Page): void {
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policy,
  });
  response.end(html);
}

function sendJson(response: ServerResponse, value: object, status = 200): void {
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8" });
  response.end(jsonOf(value));
}

function refuse(response: ServerResponse, status: number, error: string): void {
  sendJson(response, { error }, status);
}

function redirect(response: ServerResponse): void {
  response.writeHead(303, { Location: "/" });
  response.end();
}

/** `undefined`: too long. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += (part as Buffer).length;
    if (length > maxBody) return undefined;
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString();
}
