import { now } from "@quorlock/simulation/processes";

export interface Progress {
  readonly grants: number;
  readonly faults: number;
  readonly lost: number;
}

/** The interval of the progress line, ms: rewritten on a terminal, a new line elsewhere. */
const interval = process.stdout.isTTY ? 500 : 10_000;

/** Prints the progress of the run until it is disposed of. */
export function showProgress(until: number, progress: () => Progress): Disposable {
  const show = (): void => {
    const { grants, faults, lost } = progress();
    const left = Math.max(0, Math.ceil((until - now()) / 1000));
    const time = `${Math.floor(left / 60)}:${`${left % 60}`.padStart(2, "0")}`;
    const line = `${time} left   grants ${grants}   faults ${faults}   lost updates ${lost}`;
    if (process.stdout.isTTY) process.stdout.write(`\r${line}\u001b[K`);
    else console.log(line);
  };
  const timer = setInterval(show, interval);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      if (process.stdout.isTTY) process.stdout.write("\n");
    },
  };
}
