import type { Plan } from "../plan/plan.ts";
import type { ReplayFile } from "../plan/replay-file.ts";
import { PlanError, validPlan } from "../plan/validate.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { stories } from "./stories.ts";

// A link to the lab is a run: everything behind its "#", in the manner of a query.

export interface LabState {
  /** A story by its name, with or without its option; or a plan. */
  readonly run: StoryRun | { readonly plan: Plan };
  /** Default: the client. */
  readonly subject?: "redlock-5";
  /** The moment that is shown, ms of true time. */
  readonly at?: number;
}

export interface StoryRun {
  readonly story: string;
  readonly seed: number;
  readonly isWith: boolean;
}

/** A scenario is a story as well, by its name. @throws PlanError for a story that does not exist. */
export function planOf({ run }: Pick<LabState, "run">): Plan {
  if ("plan" in run) return run.plan;
  const story = stories.find(({ name }) => name === run.story);
  if (story) return story.plan(run.seed, run.isWith);
  const scenario = scenarios.find(({ name }) => name === run.story);
  if (scenario) return scenario.plan(run.seed);
  throw new PlanError(
    `there is no story "${run.story}": choose from ${stories.map(({ name }) => name).join(", ")}`,
  );
}

/** The part behind the "#". */
export async function hashOf({ run, subject, at }: LabState): Promise<string> {
  const query = new URLSearchParams();
  if ("plan" in run) query.set("plan", await packed(JSON.stringify(run.plan)));
  else {
    query.set("story", run.story);
    query.set("seed", String(run.seed));
    if (!run.isWith) query.set("without", "");
  }
  if (subject) query.set("subject", subject);
  if (at !== undefined) query.set("at", String(at));
  return query.toString().replaceAll(/=(?=&|$)/g, "");
}

/** @throws PlanError for what is no link to a run. */
export async function stateOf(hash: string): Promise<LabState> {
  const query = new URLSearchParams(hash);
  const [plan, story, subject, at] = ["plan", "story", "subject", "at"].map((name) => query.get(name));
  if (subject && subject !== "redlock-5") throw new PlanError(`there is no subject "${subject}" in the lab`);
  if (at && !(Number(at) >= 0)) throw new PlanError(`at must be a time in ms, but is "${at}"`);
  const run = plan
    ? { plan: validPlan(await unpacked(plan)) }
    : { story: story ?? stories[0]!.name, seed: seedFrom(query.get("seed")), isWith: !query.has("without") };
  const state = {
    run,
    ...(subject ? { subject: "redlock-5" as const } : {}),
    ...(at ? { at: Number(at) } : {}),
  };
  planOf(state);
  return state;
}

/** A link as a file to be replayed. @throws PlanError */
export async function replayFileOf(link: string): Promise<ReplayFile> {
  const state = await stateOf(link.slice(link.indexOf("#") + 1));
  return { version: 1, plan: planOf(state), ...(state.subject ? { subject: state.subject } : {}) };
}

function seedFrom(text: string | null): number {
  const seed = Number(text ?? 1);
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new PlanError(`seed must be a whole number, but is "${text}"`);
}

/** Compressed, in the characters that a link may have. */
async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text: string): Promise<unknown> {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  } catch (error) {
    throw new PlanError(`the plan in the link cannot be read: ${String(error)}`);
  }
}
