import type { Violation } from "../checkers/findings.ts";
import { escaped } from "../pictures/markup.ts";
import { axis, bar, f, faultLine, label, left, meaning, page, right, row } from "../pictures/run-strip.ts";
import { type Incident, whyBare } from "./incident.ts";

const top = 118;

/** The story as an SVG that needs nothing else: what each client waited for, held and did, and when it was stopped. */
export function incidentPicture(incident: Incident, violation: Violation, title: string): string {
  const { held, runs, asking, pauses } = incident;
  const begin = incident.beginning(violation, incident.culprits(violation));
  const end = Math.round(violation.at * 1000);
  const room = Math.max(1, end - begin) * 0.06;
  const x = (at: number): number =>
    left + ((Math.min(Math.max(at, begin), end + room) - begin) / (end + room - begin)) * (right - left);
  const isShown = ({ from, until }: { readonly from: number; readonly until: number }): boolean =>
    from < end && until > begin;
  const holds = held.map((lock) => ({
    ...lock,
    until: Math.min(lock.until, lock.over?.at ?? lock.until, end),
  }));
  const waits = asking.map(({ client, from, until = end }) => ({ client, from, until }));
  const calls = runs.filter(({ at }) => at >= begin && at <= end);
  const clients = [...new Set([...holds, ...waits].filter(isShown).map(({ client }) => client))].sort(
    (a, b) => a - b,
  );
  const y = (client: number): number => top + clients.indexOf(client) * row * 1.5;
  const bottom = top + clients.length * row * 1.5;
  const block = (kind: string, client: number, from: number, until: number, text: string): string => {
    const wide = Math.max(2, x(until) - x(from));
    const [place, high] = kind === "waits" ? [y(client) + bar + 2, 5] : [y(client), bar];
    const rect = `<rect class="${kind}" x="${f(x(from))}" y="${f(place)}" width="${f(wide)}" height="${high}" rx="2"><title>${escaped(text)}</title></rect>`;
    const isSaid = kind === "client-0" && wide > 10 * text.length;
    return isSaid
      ? `${rect}<text class="on" x="${f(x(from) + 8)}" y="${f(place + bar - 4)}">${escaped(text)}</text>`
      : rect;
  };
  const parts = [
    ...clients.map((client) => label(`client ${client}`, y(client))),
    ...holds
      .filter(isShown)
      .map(({ client, from, until, resources }) =>
        block("client-0", client, from, until, `holds ${resources.join(", ")}`),
      ),
    ...waits.filter(isShown).map(({ client, from, until }) => block("waits", client, from, until, "waits")),
    ...pauses
      .filter((pause) => isShown(pause) && clients.includes(pause.client))
      .map(({ client, from, until }) => block("both", client, from, Math.min(until, end), "is stopped")),
    ...calls.map((run) => {
      const { client, at, name } = run;
      const kind = whyBare(run) === "" ? "note" : "alarm";
      const before = calls.findLast((other) => other.client === client && other.at < at);
      const isRoom = kind === "alarm" || !before || x(at) - x(before.at) > 50;
      const dot = `<circle class="${kind}" cx="${f(x(at))}" cy="${f(y(client) + bar / 2)}" r="4"/>`;
      const words = `<text class="${kind}" text-anchor="middle" x="${f(x(at))}" y="${f(y(client) + bar + 18)}">${escaped(name)}</text>`;
      return isRoom ? dot + words : dot;
    }),
    faultLine(x(end), top - 10, bottom),
    ...axis(end + room, bottom, x, begin),
  ];
  const facts = `${violation.kind}: ${violation.detail}`.slice(0, 110);
  const grey = "<style>.waits{fill:#8a94a3}</style>";
  return page(title, facts, bottom + 34, [grey, ...legend(), ...parts]);
}

function legend(): readonly string[] {
  const kinds = [
    ["waits", "waits for a lock"],
    ["client-0", "holds it"],
    ["both", "is stopped"],
  ];
  return kinds.map(([kind, text], index) =>
    meaning(24 + index * 170, 76, `<rect class="${kind}" width="26" height="14" rx="3"/>`, text!),
  );
}
