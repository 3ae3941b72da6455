/** One question of a batch. */
interface Question {
  readonly kind: string;
  readonly keys: readonly string[];
  /** Its token, and what comes behind it. */
  readonly args: readonly string[];
  readonly numbers: readonly [number: string, ticket: string, patience: string];
  /** The fencing token that is proposed; empty for none. */
  readonly proposal: string;
}

/** Of each question in the list of a batch: its kind, and what in `keys` and `args` is its own. */
export function questionsIn(
  list: string,
  keys: readonly string[],
  args: readonly string[],
): readonly Question[] {
  let key = 0;
  let arg = 0;
  const entries = [...list.matchAll(/(\d*)([A-Za-z])(\d+),(\d+),?(\d*),?(\d*),?(\d*);/g)];
  return entries
    .flatMap((entry) => Array.from({ length: Number(entry[1] || 1) }, () => entry))
    .map((entry): Question => {
      const [, , kind = "", count, number = "", ticket = "", patience = "", proposal = ""] = entry;
      const from = { key, arg };
      key += Number(count);
      if (kind === "q") arg += 2;
      else if ("vuperlgm".includes(kind)) arg += 1;
      return {
        kind,
        keys: keys.slice(from.key, key),
        args: args.slice(from.arg, arg),
        numbers: [number, ticket, patience],
        proposal,
      };
    });
}

/** Those that have a reply: the restart guard only watches. */
export function repliedIn(questions: readonly Question[]): readonly Question[] {
  return questions.filter(({ kind }) => kind !== "g");
}

/** The questions of this kind in a batch that a master has run, each with its reply; most batches have none. */
export function answeredIn(
  args: readonly (string | number)[],
  reply: unknown,
  wanted: string,
): ReadonlyArray<Question & { readonly reply: unknown }> {
  const end = 2 + Number(args[1]);
  const list = args[end];
  if (!Array.isArray(reply) || typeof list !== "string" || !list.includes(wanted)) return [];
  const [keys, words] = [args.slice(2, end).map(String), args.slice(end + 1).map(String)];
  return repliedIn(questionsIn(list, keys, words))
    .map((question, index) => ({ ...question, reply: reply[index] as unknown }))
    .filter(({ kind }) => kind === wanted);
}
