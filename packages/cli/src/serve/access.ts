import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

// Whom the page answers.

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

export function isLoopback(host: string): boolean {
  const version = isIP(host);
  if (version === 0) return host.toLowerCase() === "localhost";
  return loopback.check(host, version === 6 ? "ipv6" : "ipv4");
}

/** As a URL has it. */
export function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

/**
 * Whether a request is for this server by a name that is its own. A page of another site whose name was made to lead
 * here (DNS rebinding) has that name in the Host header; an address cannot be rebound.
 */
export function isOwnHost(header: string | undefined, host: string, port: number): boolean {
  const [, name = "", given = "80"] =
    /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(header?.toLowerCase() ?? "") ?? [];
  if (Number(given) !== port) return false;
  const own = ["localhost", "127.0.0.1", "[::1]", bracketed(host.toLowerCase())];
  const listensEverywhere = host === "0.0.0.0" || host === "::";
  return own.includes(name) || (listensEverywhere && isIP(name.replace(/^\[|\]$/g, "")) !== 0);
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(first!, second!);
}

/** Compares what a request shows with the token, in a time that does not depend on either. */
export class Access {
  readonly #token: string;
  readonly #cookieName: string;
  /** Tells nothing about the token, and ends with this process. */
  readonly #session: string;

  /** `port`: cookies are shared by all ports of a host. */
  constructor(token: string, port: number) {
    this.#token = token;
    this.#cookieName = `quorlock-${port}`;
    this.#session = createHmac("sha256", randomBytes(32)).update(token).digest("hex");
  }

  isToken(text: string): boolean {
    return isSame(text, this.#token);
  }

  isGranted({ headers }: IncomingMessage): boolean {
    const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
    if (bearer !== undefined) return this.isToken(bearer);
    const prefix = `${this.#cookieName}=`;
    const cookie = (headers.cookie ?? "").split(/; */).find((part) => part.startsWith(prefix));
    return cookie !== undefined && isSame(cookie.slice(prefix.length), this.#session);
  }

  /** The cookie that a browser keeps until it is closed. */
  get cookie(): string {
    return `${this.#cookieName}=${this.#session}; HttpOnly; SameSite=Strict; Path=/`;
  }
}
