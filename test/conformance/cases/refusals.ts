import { startMasters } from "@quorlock/testbed";
import { type Case, type Verdict, verdict } from "../case.ts";
import { Fixture } from "../fixture.ts";
import { Hold } from "../hold.ts";
import { inWords, outcomeOf, polled } from "../outcome.ts";

const ttl = 1500;
const patient = { retryCount: 100, retryDelay: 50 };
const every = [0, 1, 2];

/** Ways in which a master answers and refuses to write, and how it is well again. */
const ways: ReadonlyArray<readonly [what: string, refuse: readonly string[], heal: readonly string[]]> = [
  ["out of memory", ["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]],
  [
    "without replicas",
    ["CONFIG", "SET", "min-replicas-to-write", "1"],
    ["CONFIG", "SET", "min-replicas-to-write", "0"],
  ],
  ["read-only", ["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]],
];

/** The keys of `token` live for less than `milliseconds`. */
async function untilLate(fixture: Fixture, token: string, milliseconds: number): Promise<void> {
  await polled(async () => {
    const left = await fixture.lifetimes(token);
    return left.every((one) => one < milliseconds) ? true : undefined;
  }, ttl);
}

/** Late in a lease its holder releases to masters that refuse, while another waits; then they write again. */
async function releaseToRefusing(
  fixture: Fixture,
  [refuse, heal]: readonly [readonly string[], readonly string[]],
): Promise<Verdict> {
  const [holder, waiter, rival] = await Promise.all([1, 2, 3].map(() => fixture.open(undefined, patient)));
  const held = await holder!.acquire(fixture.resource, ttl);
  await untilLate(fixture, held.token, 700);
  let standing = 0;
  const waiting = outcomeOf(async () => {
    const granted = await waiter!.acquire(fixture.resource, ttl);
    standing = (await fixture.tokens()).filter((token) => token === granted.token).length;
    return granted;
  }, 6000);
  await untilLate(fixture, held.token, 500);
  await fixture.tell(every, ...(refuse as [string, ...string[]]));
  const released = await outcomeOf(() => holder!.release(held), 3000);
  await untilLate(fixture, held.token, 300);
  await fixture.tell(every, ...(heal as [string, ...string[]]));
  const granted = await waiting;
  const since = performance.now();
  if (granted.kind !== "resolved") return verdict(inWords(granted), { granted: false });
  let isSecond = false;
  const other = await outcomeOf(async () => {
    await rival!.acquire(fixture.resource, ttl);
    // (One library says that it holds what has run out: it is meant to be extended.)
    isSecond = granted.value.isValid() && performance.now() - since < ttl / 2;
  }, 6000);
  const words =
    `release ${inWords(released)}; the waiter ${inWords(granted)}, with its token on ${standing} masters; ` +
    `another ${inWords(other)}${isSecond ? ", while the waiter held it" : ""}`;
  return verdict(words, {
    "its keys stood on a majority": standing >= fixture.quorum,
    "the other was granted": other.kind === "resolved",
    "never two": !isSecond,
  });
}

const full: Case = {
  row: 29,
  situation: "all masters are out of memory while a lock is kept extended: it stays held",
  bound:
    "not notified, and a majority keeps the key, for three times the ttl of 1000 ms: renewing a key takes no memory, and " +
    "Redis allows it",
  async run({ library }) {
    await using masters = await startMasters(3, { say: () => {} });
    await using fixture = await Fixture.start(library, masters.list);
    const subject = await fixture.open();
    const hold = await Hold.begin(subject, fixture.resource, 1000);
    // A master whose vote was not waited for may have none yet.
    const token = (await fixture.tokens()).find((one) => one !== undefined);
    await fixture.tell(every, "CONFIG", "SET", "maxmemory", "1");
    const notifiedAt = await hold.notifiedAt(3000);
    const kept = (await fixture.tokens()).filter((one) => one === token).length;
    await fixture.tell(every, "CONFIG", "SET", "maxmemory", "0");
    await hold.end(2000);
    const after =
      notifiedAt === undefined ? "not notified" : `notified after ${Math.round(notifiedAt - hold.begun)} ms`;
    return verdict(`${after}, ${kept} keys`, {
      "not notified": notifiedAt === undefined,
      "kept by a majority": kept >= fixture.quorum,
    });
  },
};

const release: readonly Case[] = ways.map(
  ([what, refuse, heal]): Case => ({
    row: 23,
    situation: `released to masters that are ${what} for a moment, while a client waits: never two holders`,
    bound:
      "the client that is granted the lock has its token on two of three masters then, and no other client is granted " +
      "it while it is valid",
    async run({ library }) {
      // Separate masters: other cases must not be refused.
      await using masters = await startMasters(3, { say: () => {} });
      await using fixture = await Fixture.start(library, masters.list);
      return await releaseToRefusing(fixture, [refuse, heal]);
    },
  }),
);

/** Masters that answer, and refuse to write. */
export const refusals: readonly Case[] = [...release, full];
