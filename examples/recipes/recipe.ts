/** A recipe: code to copy, and a scene that plays it on real masters. */
export interface Recipe {
  readonly title: string;
  /** Resolves to a sentence about the outcome; rejects if the recipe does not keep its promise. */
  readonly play: (stage: Stage) => Promise<string>;
}

/** The Redis masters of a scene. */
export interface Stage {
  readonly urls: readonly string[];
  readonly say: (line: string) => void;
}

export function check(isTrue: boolean, otherwise: string): void {
  if (!isTrue) throw new Error(otherwise);
}
