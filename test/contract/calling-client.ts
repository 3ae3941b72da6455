import { Redis } from "ioredis";

/** A client whose command class cannot be replaced: its commands are sent by `call`, each with a promise. */
export function callingClient(port: number): Redis {
  const client = new Redis(port, "127.0.0.1");
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => {
    const own = duplicate(override);
    const call = own.call.bind(own);
    return Object.assign(own, {
      call(this: unknown, command: string, args: string[]) {
        if (this !== own) throw new Error("only by its own client");
        return call(command, args);
      },
    });
  };
  return client;
}
