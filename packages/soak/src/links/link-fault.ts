import type { Direction } from "@quorlock/testbed";

/** A fault of the connection between a worker and a master. */
export type LinkFault =
  /** Bytes are dropped: in one direction, or in both if none is given. */
  | { readonly kind: "cut"; readonly direction?: Direction }
  /** Bytes are held back, and arrive late and in order. */
  | { readonly kind: "hold"; readonly direction?: Direction }
  | { readonly kind: "slow"; readonly direction?: Direction; readonly milliseconds: number }
  /** The connections are reset at once; new ones are accepted. */
  | { readonly kind: "reset" }
  /** Existing connections stay open but silent, even after the fault ends; new ones work. */
  | { readonly kind: "freeze" }
  /** The next request is executed, its reply lost, and the connection reset. */
  | { readonly kind: "reply-lost" };
