// The keys of locks whose claims may be shared: many readers or one writer (PROTOCOL 10.3). A script of their own has their
// questions: see lua/shared.

const prefix = "quorlock:rw:";

/** The keys of the claims on a lock that may be shared; a claim on one of them is exclusive or shared. */
export function claimKeysOf(name: string): { readonly exclusive: string; readonly shared: string } {
  return { exclusive: `${prefix}{${name}}:write`, shared: `${prefix}{${name}}:readers` };
}

/** Users cannot name a resource so: names with the prefix of the library's own keys are refused. */
export function isSharable(key: string): boolean {
  return key.startsWith(prefix);
}

/** The other keys that a question on `key` reads or writes: a Cluster has to know them while the slot moves. */
export function companionsOf(key: string): readonly string[] {
  const lock = key.slice(0, key.lastIndexOf(":"));
  return parts.map((part) => `${lock}:${part}`).filter((other) => other !== key);
}

const parts = ["write", "readers", "rounds", "marks"];
