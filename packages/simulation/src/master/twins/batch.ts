import { type Reply, ReplyError } from "../reply.ts";
import { claim, release } from "./claims.ts";
import { checkProposal, counterOf, raise } from "./fence.ts";
import { Queue, queueOf } from "./queue.ts";
import type { Rules } from "./rules.ts";
import type { Call } from "./twin.ts";

/** One operation of a batch. */
interface Operation {
  readonly kind: string;
  readonly keys: readonly string[];
  /** Its tokens, or its token and what comes behind it. */
  readonly args: readonly string[];
  readonly numbers: readonly [number: string, ticket: string, patience: string];
  /** The fencing token that is proposed; empty for none. */
  readonly proposal: string;
}

/** Operation after operation; one that fails is a reply of its own. */
export function batch(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  [list = "", ...args]: readonly string[],
): Reply {
  return operationsIn(list, keys, args).map((operation): Reply => {
    try {
      return run(rules, call, operation);
    } catch (error) {
      if (error instanceof ReplyError) return [0, error.message];
      throw error;
    }
  });
}

/** Of each operation in the list of a batch: its kind, and what in `keys` and `args` is its own. */
export function operationsIn(
  list: string,
  keys: readonly string[],
  args: readonly string[],
): readonly Operation[] {
  let key = 0;
  let arg = 0;
  return [...list.matchAll(/([A-Za-z])(\d+),(\d+),?(\d*),?(\d*),?(\d*);/g)].map((match): Operation => {
    const [, kind = "", count, number = "", ticket = "", patience = "", proposal = ""] = match;
    const from = { key, arg };
    key += Number(count);
    if (kind === "r" || kind === "l" || kind === "i") arg += Number(number);
    else arg += kind === "q" || kind === "s" ? 2 : 1;
    return {
      kind,
      keys: keys.slice(from.key, key),
      args: args.slice(from.arg, arg),
      numbers: [number, ticket, patience],
      proposal,
    };
  });
}

function run(rules: Rules, call: Call, operation: Operation): Reply {
  const { kind, keys, args, proposal } = operation;
  if (kind === "r") return release(rules, call, keys, args);
  if (kind === "l") return new Queue(rules, call).leave(keys, args);
  if (kind === "i") {
    const [key] = keys;
    return [call("GET", key!), call("PTTL", key!), call("ZCARD", queueOf(key!))];
  }
  checkProposal(proposal);
  const reply = claimed(rules, call, operation);
  if (proposal === "" || typeof reply !== "number") return reply;
  const counter = counterOf(call, keys);
  raise(call, keys, Math.max(counter, Number(proposal)));
  return [-1, reply, String(counter)];
}

function claimed(rules: Rules, call: Call, { kind, keys, args, numbers, proposal }: Operation): Reply {
  const [number, ticket, patience] = numbers;
  const [token = "", second = ""] = args;
  if (kind === "v" && keys.length === 1 && call("SET", keys[0]!, token, "NX", "PX", number))
    return Number(number);
  if (kind === "q") {
    const enrolment = { token, ttl: number, ticket, patience, proposal, inbox: second };
    return new Queue(rules, call).enrol(keys, enrolment);
  }
  return claim(rules, call, keys, token, number, {
    create: kind !== "e",
    previous: kind === "s" ? second : undefined,
  });
}
