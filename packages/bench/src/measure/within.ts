export class TimeUpError extends Error {
  override name = "TimeUpError";
}

/** What `promise` comes to, or a {@link TimeUpError} after `limit` ms; what it comes to later is dropped. */
export async function within<T>(promise: Promise<T>, limit: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeUpError(`${what} within ${Math.round(limit)} ms`)), limit);
  });
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
