import { type ArgumentsHost, Catch } from "@nestjs/common";
import { BaseExceptionFilter } from "@nestjs/core";
import { headersOfContent, problemFor } from "@quorlock/http";
import { RedlockError } from "@quorlock/redlock";

/**
 * Answers a request that a lock refuses: 409 while another holds it, and 503 if it is lost, without a quorum, or after
 * `quit`, with `Retry-After`, as `application/problem+json`. Other errors go on to Nest, and all those of calls that are
 * not of HTTP.
 * @example
 * ```ts
 * providers: [{ provide: APP_FILTER, useClass: LockedFilter }]
 * ```
 */
export class LockedFilter extends BaseExceptionFilter {
  /** The status while another holds the lock: 409, or 423 in a class that extends this one. */
  protected readonly status: 409 | 423 = 409;

  override catch(error: unknown, host: ArgumentsHost): void {
    // A filter of all contexts meets them as well. Without a result Nest ends them as each context does.
    if (host.getType() !== "http") return;
    const adapter = this.applicationRef ?? this.httpAdapterHost?.httpAdapter;
    const problem = problemFor(error, this.status);
    const response = host.getArgByIndex<{ removeHeader?(name: string): unknown }>(1);
    if (!problem || !adapter || adapter.isHeadersSent(response)) {
      super.catch(error, host);
      return;
    }
    for (const name of headersOfContent) response.removeHeader?.(name);
    for (const [name, value] of Object.entries(problem.headers)) adapter.setHeader(response, name, value);
    adapter.reply(response, problem.body.toString(), problem.status);
  }
}

Catch(RedlockError)(LockedFilter);
