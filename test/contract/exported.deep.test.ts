import { startMasters } from "@quorlock/testbed";
import { contract } from "@quorlock/testing/contract";
import { Redis } from "ioredis";
import * as vitest from "vitest";
import { afterAll } from "vitest";
// The package makes connections of clients and exports no function for it: here they are the adapter of an author.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";

// The suite as an author of an adapter calls it: with an embedded master, and with a Redis.

contract({
  name: "as an author calls it, embedded master",
  connect: ({ host, port }) => connectionOf(new Redis(port, host).on("error", () => {})),
  framework: vitest,
});

const masters = await startMasters(1, { config: ["--requirepass", "a secret"], say: () => {} });
afterAll(() => masters.stop());

const { host, port } = masters.list[0]!;

contract({
  name: "as an author calls it, with the url of a Redis, a prefix and a database",
  redis: `redis://:a%20secret@${host}:${port}/3`,
  keyPrefix: "app:",
  connect: ({ url }) => connectionOf(new Redis(url, { keyPrefix: "app:" }).on("error", () => {})),
  framework: vitest,
});
