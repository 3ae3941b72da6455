import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PortTakenError, withFreePort } from "@quorlock/testbed";
import type { Redis } from "ioredis";
import { afterAll, describe, it } from "vitest";
import { lockNodeContract } from "./lock-node-contract.ts";
import { type RedisDriverOptions, redisDriver } from "./redis-driver.ts";

const directory = mkdtempSync(join(tmpdir(), "quorlock-tls-"));
const key = join(directory, "key.pem");
const certificate = join(directory, "certificate.pem");

/** The contract on a master that is reached with TLS. */
export function contractWithTls(name: string, client: RedisDriverOptions["client"]): void {
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const notReadyReason = makeCertificate();
  if (notReadyReason) {
    describe(`LockNode: ${name}`, () => {
      it(`cannot be tested here: ${notReadyReason}`, ({ skip }) => skip(notReadyReason));
    });
    return;
  }
  lockNodeContract(
    name,
    redisDriver({
      client,
      async prepare(admin) {
        const files = ["tls-key-file", key, "tls-cert-file", certificate] as const;
        await admin.config("SET", ...files, "tls-auth-clients", "no");
        return { port: await listenWithTls(admin) };
      },
    }),
  );
}

/** A key and a certificate for localhost; or why there is none. */
function makeCertificate(): string | undefined {
  const request =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost";
  try {
    execFileSync("openssl", [...request.split(" "), "-keyout", key, "-out", certificate], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return `openssl made no certificate: ${String(error)}`;
  }
}

function listenWithTls(admin: Redis): Promise<number> {
  return withFreePort(async (port) => {
    try {
      await admin.config("SET", "tls-port", port);
      return port;
    } catch (error) {
      // Otherwise this server was built without TLS.
      const isTaken = String(error).includes("Unable to listen");
      throw isTaken ? new PortTakenError(String(error), { cause: error }) : error;
    }
  });
}
