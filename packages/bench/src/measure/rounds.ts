import { figure, type Table } from "../report/table.ts";
import { median, pairwiseRatios, type Spread, spreadOf } from "./statistics.ts";

/** The figures of each contender by name, one entry per round; entries with the same index were taken side by side. */
export type Rounds<Q extends string> = ReadonlyMap<string, readonly Readonly<Record<Q, number>>[]>;

/** One quantity of one contender, as it is stored and drawn. */
export interface Measurement extends Spread {
  /** The table it is in. */
  readonly title: string;
  readonly contender: string;
  readonly quantity: string;
  /** One value per round; a failure is infinite. */
  readonly rounds: readonly number[];
}

export interface Column<Q extends string> {
  readonly quantity: Q;
  /** Includes the unit. */
  readonly title: string;
}

export function valuesOf<Q extends string>(rounds: Rounds<Q>, name: string, quantity: Q): readonly number[] {
  return (rounds.get(name) ?? []).map((round) => round[quantity]);
}

/** The ratio of `name` to `base`, round by round; `undefined` if one of them did not take part. */
export function ratioOf<Q extends string>(
  rounds: Rounds<Q>,
  name: string,
  base: string | undefined,
  quantity: Q,
): Spread | undefined {
  if (base === undefined || !rounds.has(name) || !rounds.has(base)) return undefined;
  return spreadOf(pairwiseRatios(valuesOf(rounds, name, quantity), valuesOf(rounds, base, quantity)));
}

/** The contender of `names` with the best median, among those that took part. */
export function bestOf<Q extends string>(
  rounds: Rounds<Q>,
  names: readonly string[],
  quantity: Q,
  better: "more" | "less",
): string | undefined {
  const medianOf = (name: string): number => median(valuesOf(rounds, name, quantity));
  const present = names.filter((name) => Number.isFinite(medianOf(name)));
  const sorted = present.toSorted((a, b) => medianOf(a) - medianOf(b));
  return better === "more" ? sorted.at(-1) : sorted[0];
}

/** A row for each contender: medians, and for the first quantity also the spread and the ratio to `base`. */
export function tableOf<Q extends string>(
  title: string,
  rounds: Rounds<Q>,
  columns: readonly Column<Q>[],
  base: string,
  notes: readonly string[] = [],
): Table {
  const [first] = columns;
  const rows = [...rounds.keys()].map((name) => {
    const medians = columns.map(({ quantity }) => figure(median(valuesOf(rounds, name, quantity))));
    const own = spreadOf(valuesOf(rounds, name, first!.quantity));
    const ratio = ratioOf(rounds, name, base, first!.quantity);
    return [name, medians[0]!, rangeText(own), ratioText(ratio), ...medians.slice(1)];
  });
  const [, ...others] = columns.map((column) => column.title);
  const count = [...rounds.values()][0]?.length ?? 0;
  return {
    title,
    columns: ["", first!.title, "95 %", `x ${base}`, ...others],
    rows,
    notes: [`${count} rounds, taken in turn; medians.`, ...notes],
  };
}

export function measurementsOf<Q extends string>(
  title: string,
  rounds: Rounds<Q>,
  columns: readonly Column<Q>[],
): Measurement[] {
  return [...rounds.keys()].flatMap((contender) =>
    columns.map((column) => {
      const values = valuesOf(rounds, contender, column.quantity);
      return { title, contender, quantity: column.title, ...spreadOf(values), rounds: values };
    }),
  );
}

function rangeText({ low, high }: Spread): string {
  return `${figure(low)}..${figure(high)}`;
}

function ratioText(ratio: Spread | undefined): string {
  return ratio ? `${figure(ratio.median)} (${rangeText(ratio)})` : "-";
}
