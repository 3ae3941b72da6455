/**
 * The error of a command whose connection was lost. Those of ioredis advise options that have no effect here, because
 * the connections of locks override them; and that it cannot be written to says less than the error before.
 */
export function withoutAdvice(error: unknown): unknown {
  const advises =
    error instanceof Error && /\b(maxRetriesPerRequest|enableOfflineQueue|EPIPE)\b/.test(error.message);
  return advises ? new Error("the connection was lost") : error;
}
