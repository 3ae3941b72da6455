import { type PeerName, peerNamed, peerNames } from "@quorlock/peers";
import { clientOptions, connected, subjectOf } from "./clients.ts";
import type { Library, Subject } from "./subject.ts";

// Each library is loaded only when it is asked for: a peer's import must not disturb another's process.

const peers = peerNames.filter((name) => name !== "sesamecare");

export const libraryNames: readonly string[] = ["quorlock", ...peers];

export async function libraryNamed(name: string): Promise<Library> {
  if (name === "quorlock") return (await import("./quorlock.ts")).quorlock;
  return peerOf(name as PeerName);
}

/** A peer, on the version of ioredis that it was used with. */
async function peerOf(name: PeerName): Promise<Library> {
  const [{ Redis }, peer] = await Promise.all([import("ioredis-5"), peerNamed(name)]);
  return {
    ...peer,
    name,
    async open(urls, options): Promise<Subject> {
      const clients = await connected(urls.map((url) => new Redis(url, clientOptions(options))));
      const subject = subjectOf(clients, peer.on(clients, options));
      if (!options.wallClock) return subject;
      // These libraries read the time from the process.
      const { now } = Date;
      Date.now = options.wallClock;
      const disconnect = (): void => {
        Date.now = now;
        subject.disconnect();
      };
      return { ...subject, disconnect };
    },
  };
}
