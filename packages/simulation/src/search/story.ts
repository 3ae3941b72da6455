import type { TraceValue } from "../engine/trace.ts";
import { describeFault } from "../pictures/fault-words.ts";
import { counted } from "../pictures/markup.ts";
import type { Fault } from "../plan/fault.ts";
import { type ClientPlan, type Plan, styles, weightOf } from "../plan/plan.ts";
import { type RunOptions, runPlan } from "../run/run-plan.ts";
import { mostTelling } from "./most-telling.ts";

/** A description of the events: the processes, every fault, and the locks in question. */
export async function storyOf(
  plan: Plan,
  options: Omit<RunOptions, "onEvent"> = {},
): Promise<readonly string[]> {
  const reader = new TraceReader();
  const outcome = await runPlan(plan, { ...options, onEvent: (time, entry) => reader.add(time, entry) });
  const violation = mostTelling(outcome.violations);
  if (!violation) return [...cast(plan), "nothing was violated"];
  const { at, kind, detail } = violation;
  return [...cast(plan), ...reader.until(at * 1000, detail), line(at * 1000, `${kind}: ${detail}`)];
}

function cast({ masters, clients, settings, workload, network }: Plan): string[] {
  const used = styles.filter((style) => weightOf(workload, style) > 0);
  const does = workload.script ? "by a script" : `by ${used.join(", ")}`;
  const { ttl, driftFactor } = settings;
  const off = [
    ...masters.flatMap((master, index) => [
      ...clockLines(`master-${index}`, master),
      ...(master.persistence.mode === "aof-always"
        ? []
        : [`master-${index} keeps its memory by ${master.persistence.mode}`]),
    ]),
    ...clients.flatMap((client, index) => [
      ...clockLines(`client-${index}`, client),
      ...listLines(`client-${index}`, client),
    ]),
  ];
  return [
    `${counted(masters.length, "master")}, ${counted(clients.length, "client")}; locks of ${ttl} ms ${does}, drift factor ${driftFactor}, ` +
      `${network.latency.shape} latency`,
    ...off,
  ];
}

function listLines(name: string, { masters, startsAt = 0, endsAt }: ClientPlan): string[] {
  if (!masters) return [];
  const until = endsAt === undefined ? "" : ` to ${endsAt} ms`;
  return [`${name} has the masters ${masters.join(", ")} from ${startsAt} ms${until}`];
}

function clockLines(
  name: string,
  { offset, rate }: { readonly offset: number; readonly rate: number },
): string[] {
  if (rate === 0 && offset === 0) return [];
  const wall = offset === 0 ? "" : `, and shows ${offset > 0 ? "+" : ""}${offset} ms`;
  return [`the clock of ${name} runs at ${rate > 0 ? "+" : ""}${rate} ppm${wall}`];
}

function line(time: number, text: string): string {
  return `${(time / 1000).toFixed(3).padStart(12)} ms  ${text}`;
}

interface StoryLine {
  readonly time: number;
  readonly text: string;
  /** The hold that it is about. */
  readonly hold?: number;
}

/** Reads the trace. */
class TraceReader {
  readonly #lines: StoryLine[] = [];
  /** Which token each master has for each resource. */
  readonly #votes = new Map<string, Map<string, TraceValue>>();
  readonly #holders = new Map<number, string>();

  add(time: number, [actor, verb, ...args]: readonly TraceValue[]): void {
    if (actor === "fault") this.#fault(time, String(verb), args.map(String));
    else if (verb === "keeps") this.#votesOf(String(args[0])).set(String(actor), args[1]!);
    else if (verb === "drops") this.#votesOf(String(args[0])).delete(String(actor));
    else if (verb === "goes down" || verb === "comes up") this.#add(time, `${actor} ${verb}`);
    else if (verb === "begins") this.#begin(time, String(actor), args);
    else if (verb === "gives up") this.#add(time, `${actor} gives up hold ${args[0]}`, Number(args[0]));
    else if (verb === "is over")
      this.#add(time, `${actor} sees that hold ${args[0]} is over`, Number(args[0]));
    else if (verb === "writes")
      this.#add(time, `${actor} writes to "${args[0]}" in hold ${args[1]}`, Number(args[1]));
  }

  /** The lines up to `end`, without repetition: the faults, and the locks that `detail` names. */
  until(end: number, detail: string): string[] {
    const early = this.#lines.filter(({ time }) => time <= end);
    const decisive = this.#decisive(early, detail);
    const seen = new Set<string>();
    return early
      .filter(({ hold }) => hold === undefined || decisive.has(hold))
      .filter(({ text }) => !seen.has(text) && seen.add(text))
      .map(({ time, text }) => line(time, text));
  }

  /** Those that it names; else the last of each client that it names. */
  #decisive(early: readonly StoryLine[], detail: string): ReadonlySet<number> {
    const named = Array.from(detail.matchAll(/hold (\d+)/g), ([, number]) => Number(number));
    if (named.length > 0) return new Set(named);
    const last = new Map<string, number>();
    for (const { hold } of early) {
      const holder = hold === undefined ? undefined : this.#holders.get(hold);
      if (holder !== undefined && detail.includes(holder)) last.set(holder, hold!);
    }
    return new Set(last.values());
  }

  #fault(time: number, text: string, struck: readonly string[]): void {
    this.#add(time, `fault: ${describeFault(JSON.parse(text) as Fault, struck, time).words}`);
  }

  #begin(time: number, client: string, [number, token, ...resources]: readonly TraceValue[]): void {
    this.#holders.set(Number(number), client);
    const votes = this.#votesOf(String(resources[0]));
    const voters = [...votes].filter(([, vote]) => vote === token).map(([master]) => master);
    const what = resources.map((resource) => `"${resource}"`).join(" and ");
    const by = voters.length === 0 ? "no master any more" : voters.sort().join(", ");
    this.#add(time, `${client} is given ${what} (hold ${number}), held by ${by}`, Number(number));
  }

  #add(time: number, text: string, hold?: number): void {
    this.#lines.push({ time, text, ...(hold === undefined ? {} : { hold }) });
  }

  #votesOf(resource: string): Map<string, TraceValue> {
    const votes = this.#votes.get(resource) ?? new Map<string, TraceValue>();
    this.#votes.set(resource, votes);
    return votes;
  }
}
