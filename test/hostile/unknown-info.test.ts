import { Redlock } from "@quorlock/redlock";
import { createClient } from "redis";
import { expect, it } from "vitest";
import { rejection } from "../integration/fleet/fleet.ts";
import { startHostileServer } from "./hostile-server.ts";

const refusals = [
  "ERR unknown command 'INFO'",
  "ERR Unknown command: INFO",
  "ERR Unknown subcommand or wrong number of arguments for 'INFO'",
  "ERR Command not supported",
];

it.each(refusals)("a server that says %s has no id, and is asked for its vote", async (refusal) => {
  await using server = await startHostileServer(
    (socket, command) => {
      const isGreeting = command === "CLIENT" || command === "SELECT";
      socket.write(command === "INFO" ? `-${refusal}\r\n` : isGreeting ? "+OK\r\n" : "-ERR no vote here\r\n");
    },
    { greets: false },
  );
  const client = createClient({ RESP: 2, socket: { host: server.host, port: server.port } });
  client.on("error", () => {});
  await client.connect();
  const redlock = new Redlock([client], { retryCount: 0, nodeTimeout: 5000 });
  redlock.on("error", () => {});
  expect(String(await rejection(redlock.acquire("resource", 20_000)))).toContain(": ERR no vote here [");
  client.destroy();
});
