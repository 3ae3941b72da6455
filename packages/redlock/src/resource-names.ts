/** The prefix of this library's own keys. A user's resource never begins with it. */
export const ownPrefix = "quorlock:";

/** The name that the user passed. A key of this library's own has it in braces. */
export function userName(resource: string): string {
  if (!resource.startsWith(ownPrefix)) return resource;
  return resource.slice(resource.indexOf("{") + 1, resource.lastIndexOf("}"));
}
