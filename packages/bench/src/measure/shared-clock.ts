/** ms on a clock that all processes of this machine share, and that never steps. */
export function sharedNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1_000_000;
}

/** How long it is until `moment`, ms; never below 0. */
export function untilShared(moment: number): number {
  return Math.max(0, moment - sharedNow());
}
