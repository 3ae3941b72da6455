/**
 * - `signals`: the listeners of a signal, behind one native listener.
 * - `connections`: the connection of a client, which all its Redlocks share.
 * - `transactions`: that of a client without scripts: WATCH and MULTI apply to a whole connection.
 * - `registries`: removes the listeners of collected owners from a client.
 * - `timeOuts`: the latest time-out of a master, by its node: thousands of rounds may have it, and an error is slow to build.
 * - `commands`: how commands without promises are made of the class of a copy of a library: one class for all connections
 *   is fast.
 */
type Kind = "signals" | "connections" | "transactions" | "registries" | "timeOuts" | "commands";

/** Each is made when it is first used. */
const stores = new Map<Kind, WeakMap<object, object>>();

/**
 * A value that is kept beside an object of a user, for as long as that exists; the first who asks makes it. No object of the client can
 * own it, because all Redlocks of a process share it. Nothing else at the top of a module changes, but for the `Turn` of the
 * masters: test/architecture/fields.test.ts.
 */
export function keptFor<T extends object>(kind: Kind, owner: object, make: () => T): T {
  const store = stores.get(kind) ?? new WeakMap<object, object>();
  stores.set(kind, store);
  const found = store.get(owner);
  if (found) return found as T;
  const made = make();
  store.set(owner, made);
  return made;
}

export function forget(kind: Kind, owner: object): void {
  stores.get(kind)?.delete(owner);
}
