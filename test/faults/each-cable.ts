import { afterAll, beforeAll, describe, it } from "vitest";
import { Fleet } from "../integration/fleet/fleet.ts";
import { type Cable, lineCables, masterCables } from "./cables.ts";
import { Fixture, sayWhatWasMeasured } from "./fixture.ts";

const masterCount = 3;
const extents = [
  { extent: "one of three", count: 1 },
  { extent: "two of three", count: 2 },
] as const;

/** One cable that is pulled at some of the masters, while one thing is done. */
export interface Case {
  readonly fixture: Fixture;
  readonly cable: Cable;
  /** Whether a majority answers in time all the same. */
  readonly isBearable: boolean;
  /** Whether a lease that is renewed again and again stands. */
  readonly isOutlived: boolean;
  readonly pull: () => void;
  readonly heal: () => Promise<void>;
}

/** Every cable at one moment, at a minority and at a majority of the masters. */
export function eachCable(moment: string, play: (scene: Case) => Promise<void>): void {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await Fleet.start(masterCount, { persistence: "aof-always" });
  });
  afterAll(async () => {
    sayWhatWasMeasured(moment);
    await fleet?.stop();
  });

  const playOne = async ({ cable, count }: { cable: Cable; count: number }): Promise<void> => {
    await using fixture = await Fixture.start(fleet);
    const targets = fixture.targets.slice(0, count);
    const isMinority = count <= Math.floor((masterCount - 1) / 2);
    const isBearable = isMinority || cable.isHarmless === true;
    let pulled: Array<Promise<void>> | undefined;
    const heal = async (): Promise<void> => {
      // A fault that is still due must not hit a master that was healed.
      await Promise.all(pulled ?? []);
      await Promise.all(targets.map((target) => cable.heal(target)));
      pulled = undefined;
    };
    try {
      await play({
        fixture,
        cable,
        isBearable,
        isOutlived: isBearable || cable.isShort === true || cable.isLate === true,
        pull: () => {
          pulled = targets.map(async (target) => cable.pull(target));
        },
        heal,
      });
    } finally {
      // A case that fails in the middle leaves the masters as the next one needs them.
      if (pulled) await heal();
    }
  };
  const caseOfEach = (cables: readonly Cable[]): void => {
    for (const cable of cables) {
      for (const { extent, count } of extents) {
        it(`${cable.name} (${extent})`, () => playOne({ cable, count }));
      }
    }
  };
  // The lines are each case's own, so these do not disturb each other.
  describe.concurrent(`${moment}, a line:`, () => caseOfEach(lineCables));
  describe(`${moment}, a master:`, () => caseOfEach(masterCables));
}
