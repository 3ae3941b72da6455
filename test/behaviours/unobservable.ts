/** The rules of docs/protocol.md that have no case here, and why. */
export const unobservable: Readonly<Record<string, string>> = {
  "1.1": "An assumption. Rule 3.1 allows for it.",
  "1.2": "An assumption. Section 9 is about masters that break it.",
  "1.3": "An assumption. Section 11 is about clocks that break it.",
  "1.4": "An assumption: no process can notice it.",
  "1.5": "An assumption about the holder.",
  "1.6": "An assumption: rule 3.6 is what holds without it.",
  "1.7": "An assumption. test/hostile has the masters that lie.",
  "1.8": "An assumption about other programs.",
  "1.12": "Not promised.",
  "2.16": "It is about connections: test/contract, by each library.",
  "2.18": "It is about the dials of a library's client: test/contract and test/integration/connections.",
  "5.8":
    "Only the simulator: a late entry has to meet an earlier waiter that one master alone knows. The seed bank has a run.",
  "7.14":
    "It bounds the time of a script: test/integration/waiting/queue-bounds, and `pnpm bench --only scripts`.",
};
