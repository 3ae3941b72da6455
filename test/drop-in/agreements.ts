import { fresh } from "../integration/fleet/fleet.ts";
import { type Line, thrown } from "./bench.ts";

/** Lines that come out the same, which no behaviour of the client holds. */
export const agreements: Readonly<Record<string, Line>> = {
  "a released lock cannot be extended: an ExecutionError without attempts": async (bench) => {
    const lock = await bench.held(bench.redlock(), fresh());
    await lock.release();
    const error = await thrown(() => lock.extend(5000));
    return [error instanceof bench.library.ExecutionError, error.attempts];
  },
  "using, lock.extend and lock.release call the methods of a subclass": async (bench) => {
    const calls: string[] = [];
    const redlock = bench.redlock();
    for (const name of ["acquire", "extend", "release"]) {
      const inherited = redlock[name].bind(redlock);
      redlock[name] = (...args: unknown[]) => {
        calls.push(name);
        return inherited(...args);
      };
    }
    await redlock.using([fresh()], 5000, async () => 1);
    await (await (await redlock.acquire([fresh()], 5000)).extend(5000)).release();
    return calls;
  },
};
