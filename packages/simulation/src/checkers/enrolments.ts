import { operationsIn, repliedIn } from "../master/twins/batch.ts";

/** A claim that waits where it is refused, as one master has answered it. */
export interface AnsweredEnrolment {
  readonly keys: readonly string[];
  readonly token: string;
  readonly isGranted: boolean;
}

/** The enrolments in a batch, which mostly there are none in. `args` are those of a script. */
export function enrolmentsIn(
  args: readonly (string | number)[],
  reply: unknown,
): readonly AnsweredEnrolment[] {
  if (!Array.isArray(reply)) return [];
  const count = Number(args[1]);
  const list = args[2 + count];
  if (typeof list !== "string" || !list.includes("q")) return [];
  const keys = args.slice(2, 2 + count).map(String);
  const words = args.slice(3 + count).map(String);
  return repliedIn(operationsIn(list, keys, words)).flatMap(({ kind, keys, args: [token] }, index) => {
    const itsReply: unknown = reply[index];
    const isGranted = typeof itsReply === "number" || (Array.isArray(itsReply) && itsReply[0] === -1);
    return kind === "q" ? [{ keys, token: token!, isGranted }] : [];
  });
}
