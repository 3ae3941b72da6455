import { afterAll, beforeAll, describe, it } from "vitest";
import { Fleet } from "../integration/fleet/fleet.ts";
import { type InjectedFault, masterFaults, pathFaults } from "./connection-faults.ts";
import { Fixture, sayWhatWasMeasured } from "./fixture.ts";

const masterCount = 3;
const extents = [
  { extent: "one of three", count: 1 },
  { extent: "two of three", count: 2 },
] as const;

/** One fault that is injected at some of the masters, while one thing is done. */
export interface Case {
  readonly fixture: Fixture;
  readonly fault: InjectedFault;
  /** Whether a majority still answers in time. */
  readonly isBearable: boolean;
  /** Whether a lease that is renewed again and again stands. */
  readonly isOutlived: boolean;
  readonly inject: () => void;
  readonly heal: () => Promise<void>;
}

/** Every fault at one moment, at a minority and at a majority of the masters. */
export function eachFault(moment: string, play: (scene: Case) => Promise<void>): void {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await Fleet.start(masterCount, { persistence: "aof-always" });
  });
  afterAll(async () => {
    sayWhatWasMeasured(moment);
    await fleet?.stop();
  });

  const playOne = async ({ fault, count }: { fault: InjectedFault; count: number }): Promise<void> => {
    await using fixture = await Fixture.start(fleet);
    const targets = fixture.targets.slice(0, count);
    const isMinority = count <= Math.floor((masterCount - 1) / 2);
    const isBearable = isMinority || fault.isHarmless === true;
    let injected: Array<Promise<void>> | undefined;
    const heal = async (): Promise<void> => {
      // A fault that is still due must not hit a master that was healed.
      await Promise.all(injected ?? []);
      await Promise.all(targets.map((target) => fault.heal(target)));
      injected = undefined;
    };
    try {
      await play({
        fixture,
        fault,
        isBearable,
        isOutlived: isBearable || fault.isShort === true || fault.isLate === true,
        inject: () => {
          injected = targets.map(async (target) => fault.inject(target));
        },
        heal,
      });
    } finally {
      // A case that fails in the middle leaves the masters as the next one needs them.
      if (injected) await heal();
    }
  };
  const caseOfEach = (faults: readonly InjectedFault[]): void => {
    for (const fault of faults) {
      for (const { extent, count } of extents) {
        it(`${fault.name} (${extent})`, () => playOne({ fault, count }));
      }
    }
  };
  // Each case has its own proxies, so these do not disturb each other.
  describe.concurrent(`${moment}, on the path:`, () => caseOfEach(pathFaults));
  describe(`${moment}, a master:`, () => caseOfEach(masterFaults));
}
