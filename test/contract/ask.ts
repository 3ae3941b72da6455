export { ask } from "../../packages/testing/src/contract/ask.ts";
