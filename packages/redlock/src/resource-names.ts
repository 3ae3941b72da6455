/** The keys of readers and writers begin so. No resource of a user does: the prefix `quorlock:` is refused. */
export const readWritePrefix = "quorlock:rw:";

/** The name that the user gave: claims of readers and writers are keys that are made of it. */
export function userName(resource: string): string {
  if (!resource.startsWith(readWritePrefix)) return resource;
  return resource.slice(readWritePrefix.length + 1, resource.lastIndexOf("}"));
}

/** Of a claim of a reader or writer: whether it is a reader's. */
export function isReadClaim(resource: string): boolean {
  return resource.endsWith(":readers");
}
