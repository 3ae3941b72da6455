// oxlint-disable-next-line import/no-unassigned-import -- the imports behind it need it.
import "./without-node.ts";
import {
  type Action,
  actions,
  faultOf,
  hashOf,
  type Knobs,
  knobsOf,
  type LabState,
  type Process,
  planOf,
  ranges,
  scenarios,
  stage,
  stateOf,
  stories,
  turned,
  withFault,
} from "@quorlock/simulation/lab";
import { View } from "@quorlock/simulation/viewer";
import { controls, knobRows, processOptions } from "./controls.ts";
import { type Run, Runner } from "./runner.ts";
import { adoptStyle } from "./style.ts";

/** Puts the lab into an element, and returns how to end it. */
export function mountLab(host: HTMLElement): () => void {
  const lab = new Lab(host);
  return () => lab.end();
}

/** The address has the run; each change of it is a new run from the beginning. */
class Lab {
  readonly #root: ShadowRoot;
  readonly #runner = new Runner();
  readonly #ended = new AbortController();
  #state: LabState = { run: { story: stories[0]!.name, seed: 1, isWith: true } };
  #view: View | undefined;
  /** Numbers what was asked for: only the last answer is shown. */
  #asked = 0;

  constructor(host: HTMLElement) {
    this.#root = host.attachShadow({ mode: "open" });
    adoptStyle(this.#root, this.#ended.signal);
    const content = document.createElement("div");
    content.className = "lab";
    content.innerHTML = controls();
    this.#root.append(content);
    this.#listen();
    void this.#read();
  }

  end(): void {
    this.#ended.abort();
    this.#view?.end();
    this.#runner.end();
  }

  #element(id: string): HTMLElement {
    return this.#root.querySelector<HTMLElement>(`#${id}`)!;
  }

  #input(id: string): HTMLInputElement {
    return this.#element(id) as HTMLInputElement;
  }

  #listen(): void {
    const { signal } = this.#ended;
    window.addEventListener("hashchange", () => void this.#read(), { signal });
    const change = (id: string, act: () => LabState): void =>
      this.#element(id).addEventListener("change", () => void this.#go(act()));
    change("option", () => this.#withStory({ isWith: this.#input("option").checked }));
    change("seed", () => {
      const seed = Number(this.#input("seed").value);
      // No link has another one.
      return Number.isSafeInteger(seed) && seed >= 0 ? this.#withStory({ seed }) : this.#state;
    });
    change("peer", () => {
      const { run, at } = this.#state;
      const isPeer = this.#input("peer").checked;
      return { run, ...(at === undefined ? {} : { at }), ...(isPeer ? { subject: "redlock-5" } : {}) };
    });
    this.#element("knobs").addEventListener("change", ({ target }) => {
      const { name, value } = target as HTMLInputElement;
      const plan = turned(planOf(this.#state), name as keyof Knobs, Number(value));
      void this.#go({ ...this.#state, run: { plan } });
    });
    this.#element("acts").addEventListener("click", ({ target }) => {
      const action = (target as HTMLElement).dataset["action"];
      if (action !== undefined && action in actions) void this.#act(action as Action);
    });
  }

  /** The settings of a story; a plan of one's own stays as it is. */
  #withStory(change: Partial<{ seed: number; isWith: boolean }>): LabState {
    const { run } = this.#state;
    if ("plan" in run)
      return { ...this.#state, run: { plan: { ...run.plan, seed: change.seed ?? run.plan.seed } } };
    return { ...this.#state, run: { ...run, ...change } };
  }

  /** Does something to a process at the moment that is shown. */
  async #act(action: Action): Promise<void> {
    const [kind, number] = this.#input("process").value.split("-");
    const process: Process = kind === "client" ? { client: Number(number) } : { master: Number(number) };
    const at = Math.round(this.#view?.player.at ?? 0) / 1000;
    const plan = planOf(this.#state);
    const fault = faultOf(action, process, at, plan);
    if (fault) await this.#go({ ...this.#state, run: { plan: withFault(plan, fault) }, at });
  }

  /** From the address. */
  async #read(): Promise<void> {
    try {
      this.#state = await stateOf(location.hash.slice(1));
    } catch (error) {
      this.#say(String(error), true);
      return;
    }
    await this.#run();
  }

  /** To another run, which becomes the address. */
  async #go(state: LabState): Promise<void> {
    this.#state = state;
    history.replaceState(history.state, "", `#${await hashOf(state)}`);
    await this.#run();
  }

  async #run(): Promise<void> {
    this.#asked += 1;
    const number = this.#asked;
    this.#showState();
    this.#element("result").setAttribute("aria-busy", "true");
    const { subject = "quorlock" } = this.#state;
    try {
      const run = await this.#runner.run({ plan: planOf(this.#state), subject });
      if (number === this.#asked && !this.#ended.signal.aborted) await this.#show(run);
    } catch (error) {
      if (number === this.#asked) this.#say(String(error), true);
    }
  }

  #showState(): void {
    const { run, subject } = this.#state;
    const plan = planOf(this.#state);
    const name = "plan" in run ? "" : run.story;
    const story = stories.find((candidate) => candidate.name === name);
    const scenario = scenarios.find((candidate) => candidate.name === name);
    const { title = "A run of your own" } = story ?? scenario ?? {};
    this.#element("title").textContent = title;
    this.#element("text").innerHTML = (
      story?.text ??
      scenario?.story ??
      "The plan is in the address."
    ).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
    const option = this.#input("option");
    option.parentElement!.hidden = story?.option === undefined;
    option.checked = !("plan" in run) && run.isWith;
    this.#element("option-name").textContent = story?.option ?? "";
    this.#input("peer").checked = subject !== undefined;
    this.#input("seed").value = String(plan.seed);
    this.#element("knobs").innerHTML = knobRows(knobsOf(plan), ranges);
    this.#element("process").innerHTML = processOptions(plan);
    for (const link of this.#root.querySelectorAll<HTMLElement>("[data-story]")) {
      if (link.dataset["story"] === story?.name) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  async #show(run: Run): Promise<void> {
    const { at, subject } = this.#state;
    this.#view?.end();
    const parts = this.#element("run");
    parts.innerHTML = stage(run.picture.violations.length);
    this.#view = new View(parts, run.picture, { hrefOf: (rule) => `/evidence/protocol#rule-${rule}` });
    const name = subject === undefined ? "Quorlock" : "redlock 5";
    this.#say(`${name}: ${run.verdict}`, run.verdict !== "ok");
    this.#element("waits").textContent = waited(run);
    this.#element("hash").textContent = run.hash;
    this.#element("took").textContent =
      `${Math.round(run.simulated).toLocaleString("en")} ms simulated in ${Math.round(run.took).toLocaleString("en")} ms`;
    await this.#showLink();
    if (at === undefined) this.#view.playStory();
    else {
      this.#view.showAll();
      this.#view.player.moveTo(at * 1000);
    }
    this.#view.player.onStopped = (moment) => {
      this.#state = { ...this.#state, at: moment / 1000 };
      void this.#showLink().then((hash) => history.replaceState(history.state, "", `#${hash}`));
    };
    this.#element("result").setAttribute("aria-busy", "false");
  }

  async #showLink(): Promise<string> {
    const hash = await hashOf(this.#state);
    this.#element("replay").textContent = `npx -y pnpm@12 sim replay '#${hash}'`;
    return hash;
  }

  #say(text: string, isDanger: boolean): void {
    const verdict = this.#element("verdict");
    verdict.textContent = text;
    verdict.className = isDanger ? "verdict violated" : "verdict ok";
  }
}

function many(count: number): string {
  return Math.round(count).toLocaleString("en");
}

function waited({ waits: { granted, longest, overtaken } }: Run): string {
  const passed =
    overtaken === 0 ? "no call is overtaken" : `a call is overtaken up to ${many(overtaken)} times`;
  return `${many(granted)} locks; the longest wait is ${many(longest)} ms; ${passed}`;
}
