/** A process of a `Crew`, as it sees itself. */
export interface Member<Report extends object> {
  report(report: Report): void;
  /** No order is taken any more. The process then ends by itself, unless something keeps it alive. */
  leave(): void;
}

/** Takes orders until told to leave. `abandoned` is called when the parent is gone without a word. */
export function takeOrders<Report extends object>(
  obey: (order: unknown, member: Member<Report>) => Promise<void>,
  abandoned: () => void = () => {},
): void {
  const exit = () => {
    abandoned();
    process.exit(1);
  };
  const member: Member<Report> = {
    report: (report) => void process.send?.(report),
    leave: () => {
      process.off("disconnect", exit);
      process.disconnect?.();
    },
  };
  process.on("disconnect", exit);
  // An order that fails ends the process (an unhandled rejection does), and its parent hears of that.
  process.on("message", (order) => void obey(order, member));
  if (!process.connected) exit();
}
