import type { Master, Masters } from "@quorlock/testbed";

/** What some of the masters are made to suffer. */
export interface Failure {
  readonly name: string;
  readonly kind: "hung" | "refusing";
  readonly count: number;
}

/** `hung`: stopped, so that connections stand and nothing answers. `refusing`: killed, connections are lost. */
export async function inflict(failure: Failure, masters: Masters): Promise<void> {
  await Promise.all(
    victimsOf(failure, masters).map((master) => (failure.kind === "hung" ? master.hang() : master.kill())),
  );
}

export async function repair(failure: Failure, masters: Masters): Promise<void> {
  await Promise.all(
    victimsOf(failure, masters).map((master) =>
      failure.kind === "hung" ? master.resume() : master.restart(),
    ),
  );
}

/** Why nothing can be inflicted on these masters, or nothing. */
export function untouchable(masters: Masters): string | undefined {
  if (masters.list.every((master) => master.controllable)) return undefined;
  return `not run: the masters (${masters.source}) are not ours to stop`;
}

function victimsOf(failure: Failure, masters: Masters): readonly Master[] {
  return masters.list.slice(0, failure.count);
}
