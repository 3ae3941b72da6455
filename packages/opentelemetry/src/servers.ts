import type { Attributes } from "@opentelemetry/api";

/** The attributes of requests to masters: each combination is one object, since there are few and requests are many. */
export class Servers {
  readonly #known = new Map<string, Map<string, Attributes>>();

  attributesOf(master: string, operation: string, errorReason: string | undefined): Attributes {
    const ofMaster = this.#known.get(master) ?? new Map<string, Attributes>();
    if (ofMaster.size === 0) this.#known.set(master, ofMaster);
    const key = errorReason === undefined ? operation : `${operation} ${errorReason}`;
    const known = ofMaster.get(key);
    if (known) return known;
    const attributes = {
      ...addressOf(master),
      "quorlock.operation": operation,
      ...(errorReason === undefined ? {} : { "error.type": errorReason }),
    };
    ofMaster.set(key, attributes);
    return attributes;
  }
}

/** A socket in the file system and a name of Sentinel have no port. */
function addressOf(master: string): Attributes {
  const [, address = master, port] = /^(?:cluster at )?\[?(.*?)\]?:(\d+)$/.exec(master) ?? [];
  return { "server.address": address, ...(port === undefined ? {} : { "server.port": Number(port) }) };
}
