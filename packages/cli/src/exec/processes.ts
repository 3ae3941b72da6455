import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The descriptor that all processes of a command inherit. */
export const inherited = 4;

interface Process {
  readonly pid: number;
  /** As /proc names it. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  /** Its inherited descriptor, as /proc names it. */
  readonly mark: string | undefined;
}

/**
 * The processes of a command: those of its group, those that have left the group with what all inherit, and what these have
 * started; with `own`, without the commands that a `quorlock exec` among them runs. Empty where the system has no /proc.
 */
export function processesOf(group: number, mark?: string, own = false): readonly Process[] {
  const names = existsSync("/proc") ? readdirSync("/proc") : [];
  const all = names.filter((name) => /^\d+$/.test(name)).flatMap((name) => processAt(Number(name)) ?? []);
  const isFirst = (one: Process): boolean => one.group === group || (!!mark && one.mark === mark);
  const isOther = ({ mark: its }: Process): boolean => own && !!its?.startsWith("socket:") && its !== mark;
  const found = new Set(all.filter(isFirst));
  // Those that are added are visited as well.
  for (const { pid } of found)
    for (const child of all) if (child.parent === pid && !isOther(child)) found.add(child);
  return [...found];
}

/** The inherited descriptor of a process. */
export function markOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${inherited}`);
  } catch {
    // It has none, or has ended.
    return undefined;
  }
}

function processAt(pid: number): Process | undefined {
  try {
    // After the name of the program, which is in brackets and may be anything: state, parent, group.
    const line = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [, state = "", parent, group] = /.*\) (\w) (\d+) (\d+)/s.exec(line)!;
    return { pid, state, parent: Number(parent), group: Number(group), mark: markOf(pid) };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
