export interface DistanceTask {
  readonly targets: ReadonlyArray<{ readonly host: string; readonly port: number }>;
  /** How many of them are far away, the first ones, */
  readonly distant: number;
  /** and how far: ms there and back. */
  readonly latency: number;
}

export interface Listening {
  readonly kind: "listening";
  /** Where the proxies are, one for each target. */
  readonly urls: readonly string[];
}
