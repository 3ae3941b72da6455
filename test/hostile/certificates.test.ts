import { type AddressInfo, connect } from "node:net";
import { createServer, type Server } from "node:tls";
import type { NodeError } from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fleet, fresh, votesOf } from "../integration/fleet/fleet.ts";
import { type Certificate, type Certificates, makeCertificates } from "./certificates.ts";

const ttl = 20_000;
/** First connections do their TLS handshakes within it, in the process that serves them too, ms. */
const nodeTimeout = ttl / 4;

const made = makeCertificates();
if ("notReadyReason" in made) {
  it(`cannot be tested here: ${made.notReadyReason}`, ({ skip }) => skip(made.notReadyReason));
} else {
  describe("five masters behind TLS, of which some present a certificate that is", () => cases(made));
}

/** Lets a client in by TLS, and passes on what it says to a real master. */
async function startTls(master: Master, certificate: Certificate): Promise<Server> {
  const server = createServer(certificate, (client) => {
    const redis = connect(master.port, master.host);
    client.on("error", () => redis.destroy());
    redis.on("error", () => client.destroy());
    client.pipe(redis).pipe(client);
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
}

function cases({ authority, good, selfSigned, ofAnotherHost, expired }: Certificates): void {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await Fleet.start(5);
  });
  afterAll(() => fleet?.stop());

  const bad: readonly (readonly [string, string, Certificate])[] = [
    ["self-signed", "self-signed certificate", selfSigned],
    ["for another host", "does not match certificate's altnames", ofAnotherHost],
    ["expired", "certificate has expired", expired],
  ];

  /** The first `count` masters behind the good certificate, the others behind `certificate`. */
  async function open(count: number, certificate: Certificate) {
    const doors = await Promise.all(
      fleet.masters.map((master, index) => startTls(master, index < count ? good : certificate)),
    );
    const on = doors.map((door) => ({ host: "127.0.0.1", port: (door.address() as AddressInfo).port }));
    const opened = fleet.open({ on, nodeTimeout, retryCount: 0, client: { tls: { ca: authority } } });
    return {
      ...opened,
      on,
      [Symbol.dispose]() {
        for (const client of opened.clients) client.disconnect();
        for (const door of doors) door.close();
      },
    };
  }

  it("good: all vote", async () => {
    using fixture = await open(5, good);
    const lock = await fixture.redlock.acquire(fresh(), ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(fixture.clients, stats!)).toEqual([true, true, true, true, true]);
    await lock.release();
  });

  it.each(bad)("%s: reported, and the quorum of the others works", async (_, words, certificate) => {
    using fixture = await open(3, certificate);
    const lock = await fixture.redlock.acquire([fresh(), fresh()], ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(fixture.clients, stats!)).toEqual([true, true, true, false, false]);
    for (const client of fixture.clients.slice(3)) {
      const vote = stats!.votesAgainst.get(client) as NodeError;
      expect(vote.reason).toBe("UNREACHABLE");
      expect(vote.message).toContain(words);
      expect(fixture.errors).toContain(vote);
    }
    await lock.extend(ttl);
    expect((await lock.release()).outcome).toBe("released");
  });
}
