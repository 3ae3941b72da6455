import type { Subject } from "../run/subject.ts";
import { redlock5Package } from "./redlock-5-package.ts";
import { redlock5Of } from "./redlock-5-subject.ts";

/** Node-redlock 5 as this repository has it installed. */
export async function redlock5(): Promise<Subject> {
  return redlock5Of(await redlock5Package());
}

export { redlock5Source } from "./redlock-5-package.ts";
