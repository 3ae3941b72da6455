import { expect, test } from "vitest";
import {
  ReconnectingClient,
  type SingleConnection,
  type SingleConnectionEvents,
} from "./reconnecting-client.ts";
import { NotSent } from "./session.ts";

// PROTOCOL 2.2.

class Client extends ReconnectingClient<SingleConnection> {
  lose: (error: unknown) => void = () => {};

  constructor() {
    super({ status: "ready", isErrorReply: (error): error is Error => error instanceof TypeError }, {});
  }

  protected override open({ onReady, onLost }: SingleConnectionEvents): SingleConnection {
    this.lose = onLost;
    onReady();
    return { connect: async () => {}, send: async () => "OK", destroy: () => {} };
  }

  protected override delayAfter(): number {
    return 1000;
  }
}

test("a command between two connections rejects, and nothing is sent", async () => {
  const client = new Client();
  await client.connect();
  expect(await client.send("SET", ["a", "b"])).toBe("OK");
  client.lose(new Error("the cable is cut"));
  const sent = client.send("PING", []);
  await expect(sent).rejects.toThrow(NotSent);
  await expect(sent).rejects.toThrow("the cable is cut");
  client.drop();
  await expect(client.send("PING", [])).rejects.toThrow(NotSent);
});
