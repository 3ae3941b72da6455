import { env } from "node:process";
import { contract } from "@quorlock/testing/contract";
// The package makes connections of clients by itself and has no name for it.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";

// Run by Bun, see bun.deep.test.ts.

declare const Bun: {
  readonly RedisClient: new (
    url: string,
    options: { readonly autoReconnect: boolean },
  ) => Parameters<typeof connectionOf>[0];
};

/** The types of Bun are not installed. */
const frameworkOfBun: string = "bun:test";
const framework = (await import(frameworkOfBun)) as NonNullable<Parameters<typeof contract>[0]["framework"]>;

contract({
  framework,
  name: "Bun.RedisClient",
  redis: env["MASTER"]!,
  connect: ({ url }) => connectionOf(new Bun.RedisClient(url, { autoReconnect: false })),
});
