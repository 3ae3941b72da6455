import { NotOfferedError } from "@quorlock/peers";
import { type Case, verdict } from "../case.ts";
import { outcomeOf } from "../outcome.ts";

/** The callbacks of a library. */
export const listeners: readonly Case[] = [
  {
    row: 26,
    situation:
      "an error listener calls `using` while a routine holds that resource: it does not enter the routine's lock",
    bound: "never two routines at the same time, with reentrancy switched on where the library has it",
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path, { retryCount: 0, reentrant: true });
      let inside = 0;
      let most = 0;
      const work = async (during?: () => Promise<unknown>) => {
        inside += 1;
        most = Math.max(most, inside);
        await during?.();
        inside -= 1;
      };
      let isCalled = false;
      let called!: (settled: Promise<unknown>) => void;
      const intrusion = new Promise<unknown>((resolve) => {
        called = resolve;
      });
      subject.onFault(() => {
        if (isCalled) return;
        // Its calls meet the same fault.
        isCalled = true;
        called(subject.using(fixture.resource, 5000, () => work()).catch(() => {}));
      });
      let isOver = false;
      await subject.using(fixture.resource, 5000, () =>
        work(async () => {
          await path[2]!.refuse();
          path[2]!.reset();
          const other = await outcomeOf(() => subject.acquire(`${fixture.resource}:other`, 5000), 2000);
          isOver = (await outcomeOf(() => intrusion, 2000)).kind === "resolved";
          if (other.kind === "resolved") await subject.release(other.value);
        }),
      );
      if (!isOver) throw new NotOfferedError("no event of a master that is away, or its listener waits");
      return verdict(`${most} inside at once`, { "never two": most === 1 });
    },
  },
];
