/** A member of a client; `undefined` where a wrapper refuses to show it. */
export function memberOf(client: object, name: string): unknown {
  try {
    return Reflect.get(client, name);
  } catch {
    return undefined;
  }
}

/** Whether a client has all of these methods. */
export function hasMethods(client: unknown, ...names: readonly string[]): client is object {
  if (typeof client !== "object" || client === null) return false;
  return names.every((name) => typeof memberOf(client, name) === "function");
}
