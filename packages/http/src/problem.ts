import { RedlockError, ResourceLockedError } from "@quorlock/redlock";

/**
 * An answer as RFC 9457 defines it. It names neither the resource nor its holder: the client that reads it may be
 * anybody.
 */
export interface Problem {
  readonly status: ContendedStatus | 503;
  readonly detail: string;
  readonly headers: { readonly "content-type": string; readonly "retry-after"?: string };
  /** As bytes: the frameworks would add a charset to text, which JSON does not have. */
  readonly body: Buffer;
}

/** The status of the answer while another request holds the lock. */
export type ContendedStatus = 409 | 423;

const titles = { 409: "Conflict", 423: "Locked", 503: "Service Unavailable" } as const;

/** Nothing is known about the time in which masters come back, s. */
const soon = 1;

/** The answer to a request for which `error` leaves no lock; `undefined` for an error that is no matter of the lock. */
export function problemFor(error: unknown, contended: ContendedStatus): Problem | undefined {
  if (error instanceof ResourceLockedError) {
    return problem(contended, "Another request holds the lock.", secondsFor(error.remaining));
  }
  switch (error instanceof RedlockError ? error.code : undefined) {
    case "NO_QUORUM":
      return problem(503, "Too few of the lock's servers have answered.", soon);
    case "LOCK_LOST":
      return problem(503, "The lock was lost before the request was done.", soon);
    case "CLOSED":
      return problem(503, "The service is shutting down.", soon);
    default:
      return undefined;
  }
}

/** The remaining ms of a lock as whole seconds, after which it has ended; `undefined` for one that does not expire. */
function secondsFor(remaining: number): number | undefined {
  return Number.isFinite(remaining) ? Math.max(1, Math.ceil(remaining / 1000)) : undefined;
}

function problem(status: Problem["status"], detail: string, retryAfter: number | undefined): Problem {
  const headers = { "content-type": "application/problem+json" };
  return {
    status,
    detail,
    headers: retryAfter === undefined ? headers : { ...headers, "retry-after": String(retryAfter) },
    body: Buffer.from(JSON.stringify({ type: "about:blank", title: titles[status], status, detail })),
  };
}
