/** Milliseconds on the machine's monotonic clock. Its zero is the same in every process, so readings compare. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
