import type { Call, DrawnFault, DrawnViolation, Hold, Key, Message, Overlap, Pause } from "./picture.ts";

/** Something that was drawn and can be pointed at. */
export type Thing =
  | { readonly kind: "violation"; readonly it: DrawnViolation }
  | { readonly kind: "fault"; readonly it: DrawnFault }
  | { readonly kind: "write"; readonly it: Hold; readonly write: Hold["writes"][number] }
  | { readonly kind: "message"; readonly it: Message }
  | { readonly kind: "hold"; readonly it: Hold }
  | { readonly kind: "key"; readonly it: Key; readonly master: number }
  | { readonly kind: "call"; readonly it: Call; readonly client: number }
  | { readonly kind: "overlap"; readonly it: Overlap }
  | { readonly kind: "pause"; readonly it: Pause; readonly name: string };
