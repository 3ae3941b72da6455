import { test } from "vitest";
import { compareCommands, compareReadWriteScripts } from "./differential.ts";
import { oneMaster } from "./one-master.ts";
import { refusingConfig } from "./refusing-master.ts";

const redis = oneMaster(refusingConfig);
const timeout = 300_000;

test("the model answers 1,500 sequences of random commands as Redis does", { timeout }, () =>
  compareCommands(redis(), 1_500),
);

test("the model answers 500 sequences of the scripts of readers and writers as Redis does", { timeout }, () =>
  compareReadWriteScripts(redis(), 500),
);
