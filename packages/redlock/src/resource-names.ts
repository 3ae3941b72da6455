/**
 * The prefix of the keys of readers and writers. A user's resource never begins with it: the prefix `quorlock:` is
 * refused.
 */
export const readWritePrefix = "quorlock:rw:";

/** The name that the user passed: the claims of readers and writers are keys derived from it. */
export function userName(resource: string): string {
  if (!resource.startsWith(readWritePrefix)) return resource;
  return resource.slice(readWritePrefix.length + 1, resource.lastIndexOf("}"));
}

/** Whether a claim of a ReadWriteLock is a reader's. */
export function isReadClaim(resource: string): boolean {
  return resource.endsWith(":readers");
}
