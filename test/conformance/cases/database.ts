import { type Case, verdict } from "../case.ts";

const wanted = 5;
const bound =
  "while held the key is in database 5 of each master and in no other: a default would be database 0";

/** Locks live where the client's other data does. */
export const database: readonly Case[] = [
  {
    row: 19,
    situation: "clients configured for database 5: the lock is there",
    bound,
    masters: 3,
    async run(stage) {
      const subject = await stage.open(undefined, { database: wanted });
      const held = await subject.acquire(stage.resource, 5000);
      const found = await stage.databases([0, wanted]);
      await subject.release(held);
      return verdict(`databases ${JSON.stringify(found)}`, { "in database 5 only": found.every(isWanted) });
    },
  },
  {
    row: 19,
    situation: "clients switched with select(5) at run time: the lock is there",
    bound,
    masters: 3,
    async run(stage) {
      const subject = await stage.open();
      await subject.select(wanted);
      const held = await subject.acquire(stage.resource, 5000);
      const found = await stage.databases([0, wanted]);
      await subject.release(held);
      return verdict(`databases ${JSON.stringify(found)}`, { "in database 5 only": found.every(isWanted) });
    },
  },
];

function isWanted(found: readonly number[]): boolean {
  return found.length === 1 && found[0] === wanted;
}
