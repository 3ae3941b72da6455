import { test } from "vitest";
import { compareCommands, compareReadWriteScripts } from "./differential.ts";
import { oneMaster } from "./one-master.ts";
import { refusingConfig } from "./refusing-master.ts";

const redis = oneMaster(refusingConfig);
const timeout = 60_000;

test("the model answers 250 sequences of random commands as Redis does", { timeout }, () =>
  compareCommands(redis(), 250),
);

test("the model answers 50 sequences of the scripts of readers and writers as Redis does", { timeout }, () =>
  compareReadWriteScripts(redis(), 50),
);
