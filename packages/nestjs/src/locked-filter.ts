import { type ArgumentsHost, Catch, StreamableFile } from "@nestjs/common";
import { BaseExceptionFilter } from "@nestjs/core";
import { headersOfContent, type Problem, problemFor } from "@quorlock/http";
import { RedlockError } from "@quorlock/redlock";
import { type Observable, throwError } from "rxjs";

/**
 * Answers a request that a lock refuses: 409 while another holds it, and 503 if it is lost, without a quorum, or after
 * `quit`, with `Retry-After`, as `application/problem+json`. The caller of a microservice gets `{ status: "error", code, message,
 * retryAfter }`, with the code of the error and seconds. Other errors go on to Nest, and all those of other calls.
 * @example
 * ```ts
 * providers: [{ provide: APP_FILTER, useClass: LockedFilter }]
 * ```
 */
export class LockedFilter extends BaseExceptionFilter<RedlockError> {
  /** The status while another holds the lock: 409, or 423 in a class that extends this one. */
  protected readonly status: 409 | 423 = 409;

  override catch(error: RedlockError, host: ArgumentsHost): Observable<never> | undefined {
    const problem = problemFor(error, this.status);
    const context = host.getType();
    // A filter of all contexts meets them as well. Without a result Nest ends them as each context does.
    if (context === "rpc" && problem) return throwError(() => refusalOf(error, problem));
    if (context !== "http") return undefined;
    const adapter = this.applicationRef ?? this.httpAdapterHost?.httpAdapter;
    const response = host.getArgByIndex<{ removeHeader?(name: string): unknown }>(1);
    if (!problem || !adapter || adapter.isHeadersSent(response)) {
      super.catch(error, host);
      return undefined;
    }
    for (const name of headersOfContent) response.removeHeader?.(name);
    for (const [name, value] of Object.entries(problem.headers)) adapter.setHeader(response, name, value);
    // As a file: the frameworks would add a charset to text, which JSON does not have.
    const body = new StreamableFile(problem.body, { length: problem.body.length });
    adapter.reply(response, body, problem.status);
    return undefined;
  }
}

/** The error that the caller of a microservice catches. */
function refusalOf({ code }: RedlockError, { detail, headers }: Problem): object {
  const retryAfter = Number(headers["retry-after"]) || undefined;
  return { status: "error", code, message: detail, retryAfter };
}

Catch(RedlockError)(LockedFilter);
