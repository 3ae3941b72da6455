import { type Case, verdict } from "../case.ts";
import { outcomeOf } from "../outcome.ts";
import { NotOfferedError } from "../subject.ts";

/** What is called back by a library. */
export const listeners: readonly Case[] = [
  {
    row: 26,
    situation:
      "a listener of errors calls `using` while a routine holds that resource: it is not let in beside it",
    bound: "never two routines inside at once, with re-entry switched on where the library has it",
    masters: 3,
    async run(stage) {
      const subject = await stage.open(undefined, { retryCount: 0, reentrant: true });
      let inside = 0;
      let most = 0;
      const work = async (during?: () => Promise<unknown>) => {
        inside += 1;
        most = Math.max(most, inside);
        await during?.();
        inside -= 1;
      };
      let called!: (settled: Promise<unknown>) => void;
      const intrusion = new Promise<unknown>((resolve) => {
        called = resolve;
      });
      subject.onFault(() => called(subject.using(stage.resource, 5000, () => work()).catch(() => {})));
      const spoilt = `${stage.resource}:spoilt`;
      await stage.tell([0, 1, 2], "RPUSH", spoilt, "no lock");
      stage.onDispose(() => stage.remove(spoilt));
      let intruded = false;
      await subject.using(stage.resource, 5000, () =>
        work(async () => {
          await subject.acquire(spoilt, 5000).catch(() => {});
          const outcome = await outcomeOf(() => intrusion, 2000);
          intruded = outcome.kind === "resolved";
        }),
      );
      if (!intruded) throw new NotOfferedError("no such event, or it waits");
      return verdict(`${most} inside at once`, { "never two": most === 1 });
    },
  },
];
