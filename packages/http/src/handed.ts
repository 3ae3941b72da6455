/** Of an answer that a problem replaces: they describe its content, or let it be stored. */
export const headersOfContent: readonly string[] = [
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-range",
  "etag",
  "expires",
  "last-modified",
];

/**
 * The response of a framework as a handler has it. Once `isOver()` is true, calls of `answering` do nothing, and properties of
 * these names keep their values: a problem has been sent, and the framework may not have read it yet. The response itself stays
 * as it is, since the framework answers with it.
 *
 * `natives`: its methods run on the response itself. Node compares it with that of the socket.
 */
export function handed<Response extends object>(
  response: Response,
  answering: ReadonlySet<string | symbol>,
  natives: object,
  isOver: () => boolean,
): Response {
  const proxy: Response = new Proxy(response, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function" || !answering.has(name)) return value;
      return (...parameters: unknown[]) => {
        if (isOver()) {
          const callback = parameters.at(-1);
          // The handler may wait for it. (The functions of these two of Fastify are no callbacks.)
          if (typeof callback === "function" && name !== "serializer" && name !== "trailer")
            process.nextTick(callback, new Error("The loss of the lock has been answered"));
          return proxy;
        }
        // Later calls of another one, such as in a callback, are dropped as well.
        const result: unknown = value.apply(name in natives ? target : proxy, parameters);
        return result === target ? proxy : result;
      };
    },
    set: (target, name, value) =>
      (isOver() && answering.has(name)) || Reflect.set(target, name, value, target),
  });
  return proxy;
}
