export { turn, until } from "../../packages/testing/src/contract/until.ts";
