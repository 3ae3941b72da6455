import { counted } from "../pictures/markup.ts";
import type { Picture } from "../pictures/picture.ts";
import { pictureOf } from "../pictures/picture-of.ts";
import { record } from "../pictures/recording.ts";
import { tellRun } from "../pictures/telling.ts";
import { type ClientPlan, type Plan, styles, weightOf } from "../plan/plan.ts";
import type { RunOptions } from "../run/run-plan.ts";
import { mostTelling } from "./most-telling.ts";

/** A description of the events: the processes, every fault, and the locks in question. */
export async function storyOf(
  plan: Plan,
  options: Omit<RunOptions, "onEvent"> = {},
): Promise<readonly string[]> {
  const recording = await record(plan, options);
  const violation = mostTelling(recording.outcome.violations);
  if (!violation) return [...cast(plan), "nothing was violated"];
  const { at, kind, detail } = violation;
  const picture = pictureOf(recording);
  const decisive = decisiveIn(picture, 1000 * at, detail);
  const told = tellRun(picture).filter(
    (sentence) =>
      sentence.at <= 1000 * at &&
      !sentence.isDanger &&
      (sentence.hold === undefined || decisive.has(sentence.hold)),
  );
  const lines = told.map((sentence) => line(sentence.at, sentence.text));
  return [...cast(plan), ...lines, line(1000 * at, `${kind}: ${detail}`)];
}

/** The holds that a violation names; else the last of each client that it names. */
function decisiveIn({ holds, clients }: Picture, end: number, detail: string): ReadonlySet<number> {
  const named = Array.from(detail.matchAll(/hold (\d+)/g), ([, number]) => Number(number));
  if (named.length > 0) return new Set(named);
  const early = holds.filter(({ from, client }) => from <= end && detail.includes(clients[client]!.name));
  return new Set(new Map(early.map(({ client, number }) => [client, number])).values());
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
