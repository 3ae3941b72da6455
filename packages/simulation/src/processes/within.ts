/** Settles as `promise` does, or rejects after `limit` ms; a later result is dropped. */
export async function within<T>(promise: Promise<T>, limit: number, what: string): Promise<T> {
  if (limit === Number.POSITIVE_INFINITY) return promise;
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} within ${Math.round(limit)} ms`)), limit);
  });
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
