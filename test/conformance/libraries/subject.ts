import { type Held, type Locker, NotOfferedError, type Peer } from "@quorlock/peers";

/** A library on the clients of an application: a case is written against it, so that it runs on all of them. */
export interface Subject extends Locker {
  /** The application's own, whose options ioredis looks at whenever it connects. */
  readonly clients: readonly { readonly options: object }[];
  /** Gives a lock away, as text that travels. */
  detach?(held: Held): Promise<string>;
  /** Goes on, for `ttl` ms, with a lock that was given away. */
  resume?(detached: string, ttl: number): Promise<Held>;
  /** A lock to write, where many may read. Its key is `writeKeyOf(resource)`. */
  write?(resource: string, ttl: number): Promise<Held>;
  /** Switches the database of the clients that the library was given, at run time. */
  select(database: number): Promise<void>;
  /** Without such an event nothing is reported. */
  onFault(listener: (error: unknown) => void): void;
  /** The library's own way to end. */
  quit(): Promise<void>;
  /** Cuts every connection at once, for when `quit` does not settle. */
  disconnect(): void;
}

/** Absent options have the default of the library. */
export interface SubjectOptions {
  /** Attempts after the first; -1 is without end. */
  readonly retryCount?: number;
  /** Between two attempts, ms, without jitter. */
  readonly retryDelay?: number;
  /** How long before the end `using` extends, ms. */
  readonly extensionThreshold?: number;
  /** The database that the clients are configured for. */
  readonly database?: number;
  /** The clients connect again if a server says that it is a replica. */
  readonly reconnectOnReadonly?: boolean;
  /** Stands in for the wall clock of the holder's machine: ms since the epoch. */
  readonly wallClock?: () => number;
  /** If the library can: masters whose clocks are set are left out. */
  readonly clockWatch?: boolean;
  /** If the library can: masters that may have forgotten votes give none for this time, ms. */
  readonly restartGuard?: number;
  /** If the library can: who holds a lock may take it again. */
  readonly reentrant?: boolean;
}

export interface Library extends Omit<Peer, "on"> {
  /** Its name in the table. */
  readonly name: string;
  /** Connects to each master (or has failed to, once) and makes the library ready to lock. */
  open(urls: readonly string[], options: SubjectOptions): Promise<Subject>;
}

/** How long a library may take to quit before its connections are cut, ms. */
export const quitLimit = 2000;

/** A call that only some libraries have. */
export function offered<K extends "detach" | "resume" | "write">(
  subject: Subject,
  name: K,
): NonNullable<Subject[K]> {
  const call = subject[name];
  if (!call) throw new NotOfferedError(`no such call: ${name}`);
  return call.bind(subject) as NonNullable<Subject[K]>;
}
