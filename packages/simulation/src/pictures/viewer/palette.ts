/** The page's colours, as its style sheet has them for light and for dark. */
export interface Palette {
  readonly ground: string;
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly faint: string;
  /** For what there is a lot of. */
  readonly faintInk: string;
  readonly danger: string;
  readonly dangerBand: string;
  readonly onHolder: string;
  readonly holders: readonly string[];
  readonly font: string;
}

const holderColours = 6;

export function readPalette(root: Element): Palette {
  const style = getComputedStyle(root);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ground: colour("panel"),
    ink: colour("ink"),
    muted: colour("muted"),
    line: colour("line"),
    faint: colour("faint"),
    faintInk: colour("faint-ink"),
    danger: colour("danger"),
    dangerBand: colour("danger-band"),
    onHolder: colour("on-holder"),
    holders: Array.from({ length: holderColours }, (_, index) => colour(`holder-${index}`)),
    font: style.fontFamily,
  };
}

export function holderColour({ holders, muted }: Palette, client: number): string {
  return holders[client % holders.length] ?? muted;
}
