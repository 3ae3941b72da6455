/** True time as an axis and a tooltip give it: ms, as exact as is asked for. */
export function ms(us: number, digits = 3): string {
  return `${(us / 1000).toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: digits })} ms`;
}

/** With its sign, and a minus that is as wide as a plus. */
export function signed(value: number, digits = 1): string {
  const text = Math.abs(value).toLocaleString("en", { maximumFractionDigits: digits });
  return value === 0 ? "±0" : `${value < 0 ? "−" : "+"}${text}`;
}

/** How much too fast a clock goes: ppm, or per cent where those would be many. */
export function rate(ppm: number): string {
  return Math.abs(ppm) >= 10_000 ? `${signed(ppm / 10_000, 2)} %` : `${signed(ppm, 0)} ppm`;
}

/** The offset of a clock: ms, or seconds if there would be many. */
export function offset(value: number): string {
  return Math.abs(value) >= 10_000 ? `${signed(value / 1000, 2)} s` : `${signed(value)} ms`;
}
