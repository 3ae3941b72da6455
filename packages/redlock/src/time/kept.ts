type Kind = "signals" | "connections" | "transactions" | "registries" | "timeOuts" | "commands";

const stores: Readonly<Record<Kind, WeakMap<object, object>>> = {
  /** The listeners of a signal, behind one native listener. */
  signals: new WeakMap<object, object>(),
  /** The connection of a client, which all its Redlocks share. */
  connections: new WeakMap<object, object>(),
  /** That of a client without scripts: WATCH and MULTI apply to a whole connection. */
  transactions: new WeakMap<object, object>(),
  /** Removes the listeners of collected owners from a client. */
  registries: new WeakMap<object, object>(),
  /** The latest time-out of a master, by its node: thousands of rounds may have it, and an error is slow to build. */
  timeOuts: new WeakMap<object, object>(),
  /** How commands without promises are made of the class of a copy of a library: one class for all connections is fast. */
  commands: new WeakMap<object, object>(),
};

/**
 * A value that is kept beside an object of a user, for as long as that exists; the first who asks makes it. No object of the client can
 * own it, because all Redlocks of a process share it. Nothing else at the top of a module changes, but for the `Turn` of the
 * masters: test/architecture/fields.test.ts.
 */
export function keptFor<T extends object>(kind: Kind, owner: object, make: () => T): T {
  const found = stores[kind].get(owner);
  if (found) return found as T;
  const made = make();
  stores[kind].set(owner, made);
  return made;
}

export function forget(kind: Kind, owner: object): void {
  stores[kind].delete(owner);
}
