import { Redis } from "ioredis";

type Call = (this: unknown, ...words: readonly unknown[]) => Promise<unknown>;

const { call } = Redis.prototype as unknown as { readonly call: Call };
/** As of a version whose method sends by nothing but its own client. */
const calling = Object.create(Redis.prototype, {
  call: {
    value(this: unknown, ...words: readonly unknown[]) {
      if (!(this instanceof Redis)) throw new Error("only by its own client");
      return call.apply(this, [...words]);
    },
  },
}) as object;

/** A client whose command class cannot be replaced: its commands are sent by `call`, each with a promise. */
export function callingClient(port: number): Redis {
  const client = new Redis(port, "127.0.0.1");
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => Object.setPrototypeOf(duplicate(override), calling) as Redis;
  return client;
}
