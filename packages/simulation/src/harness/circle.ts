import type { AcquireMessage, HoldMessage } from "@quorlock/redlock/tracing";
import type { Process } from "../engine/process.ts";

/** A client of the code under test, as its calls show it. */
export interface Caller {
  readonly name: string;
  readonly process: Process;
  /** Its calls for locks that have not settled. */
  readonly asking: Set<AcquireMessage>;
  readonly holding: Set<HoldMessage>;
  /** Pauses, and calls to the resource, that are under way. */
  busy: number;
  /** By resource: since when it asks for it in this round, us, and how many who asked later were served before it. */
  readonly unserved: Map<string, { readonly since: number; passed: number }>;
}

/**
 * The clients that can only wait, and only for each other: each of their calls wants what one of them holds, and none has
 * anything else to do. So nobody will release anything. (A client may be a circle by itself: two callers in one process, or
 * one that locks twice what it holds.)
 */
export function circleIn(clients: readonly Caller[]): readonly Caller[] {
  let circle = clients.filter(
    ({ asking, busy, process }) => asking.size > 0 && busy === 0 && !process.isFrozen && !process.isDead,
  );
  for (;;) {
    const held = new Set(circle.flatMap(resourcesHeld));
    const left = circle.filter(({ asking }) =>
      [...asking].every(({ resources }) => resources.some((resource) => held.has(resource))),
    );
    if (left.length === circle.length) return circle;
    circle = left;
  }
}

/** The clients that wait for each other, and for what. A client that others of the circle do not wait for is not named. */
export function wordsOf(circle: readonly Caller[]): string {
  const wanted = new Set(circle.flatMap(resourcesWanted));
  const members = circle.filter((client) => resourcesHeld(client).some((resource) => wanted.has(resource)));
  const clauses = members.map((client) => {
    const waits = [...new Set(resourcesWanted(client))].flatMap((resource) => {
      const holders = members
        .filter((holder) => resourcesHeld(holder).includes(resource))
        .map((holder) => (holder === client ? "it holds itself" : `${holder.name} holds`));
      return holders.length === 0 ? [] : [`for ${quoted([resource])}, which ${holders.join(" and ")}`];
    });
    return `${client.name} holds ${quoted(resourcesHeld(client))} and waits ${waits.join(", and ")}`;
  });
  return clauses.join("; ");
}

function resourcesHeld({ holding }: Caller): readonly string[] {
  return [...holding].flatMap(({ resources }) => resources);
}

function resourcesWanted({ asking }: Caller): readonly string[] {
  return [...asking].flatMap(({ resources }) => resources);
}

/** As its user names it: the keys of a semaphore are its own. */
export function quoted(resources: readonly string[]): string {
  return resources
    .map((resource) => {
      const [, name, slot] = ofSemaphore.exec(resource) ?? [];
      if (name === undefined) return `"${resource}"`;
      return slot === undefined ? `the first place in the queue of "${name}"` : `permit ${slot} of "${name}"`;
    })
    .join(" and ");
}

const ofSemaphore = /^\{(.*)\}:(?:slot:(\d+)|admission)$/;
