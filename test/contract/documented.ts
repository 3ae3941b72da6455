const emitter = ["on", "once", "off", "emit", "removeListener"];

/** The members that the documentation of ioredis names of its clients, as far as any program may use it to send commands. */
export const documentedByIoredis: ReadonlySet<string> = new Set([
  ...emitter,
  ...["status", "options", "connect", "disconnect", "quit", "duplicate", "call", "nodes"],
  ...["ping", "subscribe", "unsubscribe"],
]);

/** The same of node-redis. */
export const documentedByNodeRedis: ReadonlySet<string> = new Set([
  ...emitter,
  ...["isOpen", "isReady", "options", "connect", "close", "destroy", "duplicate", "sendCommand"],
  ...["subscribe", "unsubscribe"],
]);

/** The client, and those that it makes of itself, by the members that its documentation names; all others throw. */
export function documented<Client extends object>(client: Client, names: ReadonlySet<string>): Client {
  const check = (name: string | symbol): void => {
    if (typeof name === "string" && !names.has(name)) throw new Error(`${name} is not documented`);
  };
  return new Proxy(client, {
    get(target, name) {
      // The clients of other libraries are told apart by what they have.
      if (!(name in target)) return undefined;
      check(name);
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "duplicate") return value.bind(target) as unknown;
      return (...options: unknown[]) => documented(Reflect.apply(value, target, options) as object, names);
    },
    set(target, name, value) {
      check(name);
      return Reflect.set(target, name, value, target);
    },
  });
}
