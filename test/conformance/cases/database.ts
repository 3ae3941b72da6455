import { type Case, verdict } from "../case.ts";
import { Hold } from "../hold.ts";
import { inWords, outcomeOf } from "../outcome.ts";

const wanted = 5;
const bound = "while held the key is in database 5 of each master and in no other: the default is database 0";

/** A holder, and another client that wants the same. */
const switched: Case = {
  row: 28,
  situation:
    "the application selects another database on its clients while a lock is held: never two holders",
  bound:
    "another client is granted the lock only after the holder was notified of the loss: the holder's key in its " +
    "database must not expire unnoticed (ttl 1000, observed for 5000 ms)",
  mostlyWaits: true,
  async run(fixture) {
    const [subject, rival] = await Promise.all([
      fixture.open(),
      fixture.open(undefined, { retryCount: 200, retryDelay: 25 }),
    ]);
    const hold = await Hold.begin(subject, fixture.resource, 1000);
    await subject.select(1);
    let notifiedAt: number | undefined;
    const granted = await outcomeOf(async () => {
      await rival.acquire(fixture.resource, 1000);
      notifiedAt = await hold.notifiedAt(0);
    }, 5000);
    await subject.select(0);
    await hold.end(2000);
    const words = `the holder was ${notifiedAt === undefined ? "not notified" : "notified"}; another ${inWords(granted)}`;
    return verdict(words, { "notified before": granted.kind !== "resolved" || notifiedAt !== undefined });
  },
};

/** Locks live where the client's other data does. */
export const database: readonly Case[] = [
  switched,
  {
    row: 19,
    situation: "clients configured for database 5: the lock is in it",
    bound,
    async run(fixture) {
      const subject = await fixture.open(undefined, { database: wanted });
      const held = await subject.acquire(fixture.resource, 5000);
      const found = await fixture.databases([0, wanted]);
      await subject.release(held);
      return verdict(`databases ${JSON.stringify(found)}`, { "in database 5 only": found.every(isWanted) });
    },
  },
  {
    row: 19,
    situation: "clients switched with select(5) at run time: the lock is in database 5",
    bound,
    async run(fixture) {
      const subject = await fixture.open();
      await subject.select(wanted);
      const held = await subject.acquire(fixture.resource, 5000);
      const found = await fixture.databases([0, wanted]);
      await subject.release(held);
      return verdict(`databases ${JSON.stringify(found)}`, { "in database 5 only": found.every(isWanted) });
    },
  },
];

function isWanted(found: readonly number[]): boolean {
  return found.length === 1 && found[0] === wanted;
}
