import { Layout, type State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";

/**
 * A semaphore of two permits over three masters, by slots: each an ordinary quorum lock (PROTOCOL 10).
 *
 * An attempt chooses what it wants: one slot or the other, or both at once. Each node gives it all of that or none.
 * Requests and roll-backs arrive at any later time, or never; each attempt has a token of its own, so one that tries
 * another slot is another attempt. Leases end when their holders say so: time is the business of other models.
 *
 * The mutant has no slots: each node admits as many as there are permits, and whoever has a majority holds.
 */
export const semaphoreMutants = ["each node admits as many as there are permits"] as const;
export type SemaphoreMutant = (typeof semaphoreMutants)[number];

const permits = 2;

/** What an attempt is doing. */
const idle = 0;
const voting = 1;
const holding = 2;
const over = 3;

/** What became of a vote. */
const underWay = 1;
const yes = 2;
/** Given, and to be taken back. */
const released = 3;

export function semaphore({ attempts: count }: { readonly attempts: number }, mutant?: SemaphoreMutant): Model {
  const layout = new Layout();
  const nodes = layout.sort(3, { interchangeable: true });
  const slots = layout.sort(permits, { interchangeable: true });
  const attempts = layout.sort(count, { interchangeable: true });

  const phase = layout.field([attempts]);
  const wants = layout.field([attempts, slots]);
  /** A node has what it gave and did not take back, so the masters need no numbers of their own. */
  const vote = layout.field([attempts, nodes]);

  const wantedBy = (now: State, attempt: number): number[] =>
    slots.all.filter((slot) => wants.get(now, attempt, slot) > 0);
  const has = (now: State, attempt: number, node: number): boolean =>
    vote.get(now, attempt, node) === yes || vote.get(now, attempt, node) === released;

  function choose(now: State, step: Step, attempt: number): void {
    if (phase.get(now, attempt) !== idle) return;
    for (const choice of [...slots.all.map((slot) => [slot]), [...slots.all]]) {
      step(
        () => `attempt ${attempt} asks for slot ${choice.join(" and ")}`,
        (next) => {
          phase.set(next, voting, attempt);
          for (const slot of choice) wants.set(next, 1, attempt, slot);
          for (const node of nodes.all) vote.set(next, underWay, attempt, node);
        },
      );
    }
  }

  function isFree(now: State, attempt: number, node: number): boolean {
    const owners = attempts.all.filter((other) => has(now, other, node));
    const wanted = wantedBy(now, attempt);
    if (mutant === "each node admits as many as there are permits") {
      return owners.reduce((sum, other) => sum + wantedBy(now, other).length, wanted.length) <= permits;
    }
    return owners.every((other) => wanted.every((slot) => wants.get(now, other, slot) === 0));
  }

  function goOn(now: State, step: Step, attempt: number): void {
    const doing = phase.get(now, attempt);
    const votes = nodes.all.filter((node) => vote.get(now, attempt, node) === yes);
    if (doing === voting && votes.length >= 2) {
      step(
        () => `attempt ${attempt} has a quorum, and holds`,
        (next) => phase.set(next, holding, attempt),
      );
    }
    if (doing !== voting && doing !== holding) return;
    step(
      () => `attempt ${attempt} ${doing === holding ? "releases" : "rolls back"}`,
      (next) => {
        phase.set(next, over, attempt);
        for (const node of votes) vote.set(next, released, attempt, node);
      },
    );
  }

  function atNode(now: State, step: Step, attempt: number, node: number): void {
    if (vote.get(now, attempt, node) === underWay && isFree(now, attempt, node)) {
      step(
        () => `node ${node} votes for attempt ${attempt}`,
        (next) => vote.set(next, phase.get(now, attempt) === over ? released : yes, attempt, node),
      );
    }
    if (vote.get(now, attempt, node) === released) {
      step(
        () => `node ${node} takes back its vote for attempt ${attempt}, or it expires`,
        (next) => vote.set(next, 0, attempt, node),
      );
    }
  }

  const holders = (now: State): number[] => attempts.all.filter((attempt) => phase.get(now, attempt) === holding);

  function violation(now: State): string | undefined {
    const held = holders(now).reduce((sum, attempt) => sum + wantedBy(now, attempt).length, 0);
    return held > permits ? `${held} permits of ${permits} are held, by ${holders(now).length}` : undefined;
  }

  return {
    layout,
    initial: [layout.blank()],
    steps(now, step) {
      for (const attempt of attempts.all) {
        choose(now, step, attempt);
        goOn(now, step, attempt);
        for (const node of nodes.all) atNode(now, step, attempt, node);
      }
    },
    violation,
    sights: {
      "both permits, held by two": (now) => holders(now).length === permits,
      "both permits, held by one after another has released": (now) =>
        holders(now).some((attempt) => wantedBy(now, attempt).length === permits) &&
        attempts.all.some((attempt) => phase.get(now, attempt) === over),
    },
  };
}
