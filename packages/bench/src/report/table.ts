/** A table of a workload, independent of its output format. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: ReadonlyArray<readonly string[]>;
  /** Explanations below the table. */
  readonly notes?: readonly string[];
}

/** The table as text: the first column is aligned to the left, the others to the right. */
export function textOf(table: Table): string {
  const lines = [table.columns, ...table.rows];
  const widths = table.columns.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const aligned = lines.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join("  ")
      .trimEnd(),
  );
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  const notes = (table.notes ?? []).map((note) => `  ${note}`);
  return [table.title, aligned[0]!, rule, ...aligned.slice(1), ...notes].join("\n");
}

/** A number with three significant digits; NaN is "-", infinity is "fails". */
export function figure(value: number, digits = 3): string {
  if (Number.isNaN(value)) return "-";
  if (!Number.isFinite(value)) return "fails";
  const magnitude = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, Math.min(3, digits - 1 - magnitude)));
}
