/** A shell that waits, and then becomes the command. */
interface Gate {
  readonly script: string;
  /** The first arguments, before those of the command. */
  readonly restorer: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * A shell passes on no variable whose name is not an identifier, corrects PWD, and sets some others itself. These get a second name for the way, and
 * `env -S` takes their values from there: as its arguments they would be in the list of processes.
 */
export function gateFor(environment: NodeJS.ProcessEnv): Gate {
  const open = 'read -r QUORLOCK_GATE <&3 && unset QUORLOCK_GATE && exec "$@" 3<&-';
  const script = environment["PWD"] === undefined ? `unset PWD; ${open}` : open;
  const names = Object.keys(environment).filter((name) => !isKept(name, environment[name]));
  if (names.length === 0) return { script, restorer: [], environment };
  const carriers = names.map((_, index) => `QUORLOCK_CARRIED_${index}`);
  const quoted = names.map((name, index) => `"${name.replace(/["\\$]/g, "\\$&")}=\${${carriers[index]}}"`);
  const split = `${carriers.map((carrier) => `-u ${carrier}`).join(" ")} -- ${quoted.join(" ")}`;
  return {
    // The env of BusyBox cannot do it.
    script: `/usr/bin/env -S true 2>/dev/null || { shift 3; unset ${carriers.join(" ")}; }; ${script}`,
    restorer: ["/usr/bin/env", "-S", split],
    environment: {
      ...environment,
      ...Object.fromEntries(carriers.map((carrier, index) => [carrier, environment[names[index]!]])),
    },
  };
}

const ofShell = /^(IFS|OPTIND|PPID)$/;

/** Whether a shell passes this variable on as it is. */
function isKept(name: string, value: string | undefined): boolean {
  // Node knows the name of a variable such as `1=x`, and no value.
  if (name === "" || value === undefined) return true;
  if (ofShell.test(name)) return false;
  if (name !== "PWD") return /^[A-Za-z_]\w*$/.test(name);
  try {
    return value === process.cwd();
  } catch {
    // The directory was removed.
    return false;
  }
}
