import type { Command } from "./command.ts";
import { moving } from "./moving.ts";
import { commands as published } from "./published/commands.ts";
import { scenarios } from "./scenarios.ts";

export const commands: Readonly<Record<string, Command>> = { ...published, scenarios, moving };
