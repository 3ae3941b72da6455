import { type Action, actions, type Knobs, type Plan, stories } from "@quorlock/simulation/lab";

// The markup of the lab's controls.

const names: Readonly<Record<Action, string>> = {
  kill: "Kill",
  cut: "Cut off",
  hang: "Hang",
  fill: "Fill",
  step: "Step its clock",
};

/** Everything but the run. */
export function controls(): string {
  const links = stories.map(
    ({ name, title }) => `<li><a href="#story=${name}&seed=1" data-story="${name}">${title}</a></li>`,
  );
  const acts = Object.entries(names).map(
    ([action, name]) =>
      `<button type="button" data-action="${action}" title="${actions[action as Action]}">${name}</button>`,
  );
  return `<nav aria-label="Stories"><ul class="stories">${links.join("")}</ul></nav>
<section aria-labelledby="title">
<h2 id="title"></h2>
<p id="text"></p>
<div class="switches">
<label><input type="checkbox" id="option"> with <code id="option-name"></code></label>
<label><input type="checkbox" id="peer"> redlock 5 in Quorlock's place</label>
<label>Seed <input type="number" id="seed" min="0" step="1" value="1"></label>
</div>
<p id="result" aria-busy="true"><strong id="verdict" class="verdict" role="status">running</strong>
<span class="hash">hash <code id="hash"></code>, <span id="took"></span></span></p>
<p id="waits"></p>
<p class="replay"><code id="replay"></code></p>
</section>
<div id="run" class="stage"></div>
<section class="hand" aria-labelledby="by-hand">
<h2 id="by-hand">By hand</h2>
<p>Move to a moment, choose a process, and do something to it: the plan runs again with it.</p>
<div class="switches"><label>Process <select id="process"></select></label>
<span id="acts">${acts.join("\n")}</span></div>
<div id="knobs" class="knobs"></div>
</section>`;
}

const knobNames: Readonly<Record<keyof Knobs, string>> = {
  masters: "Masters",
  clients: "Clients",
  ttl: "ttl, ms",
  latency: "Latency one way, ms",
  drift: "A majority's clocks too fast by, %",
};

export function knobRows(
  knobs: Knobs,
  ranges: Readonly<Record<keyof Knobs, readonly [number, number, number]>>,
): string {
  const rows = (Object.keys(knobNames) as (keyof Knobs)[]).map((name) => {
    const [least, most, step] = ranges[name];
    return `<label>${knobNames[name]}: ${knobs[name]}<input type="range" name="${name}" min="${least}" max="${most}" step="${step}" value="${knobs[name]}"></label>`;
  });
  return rows.join("\n");
}

export function processOptions({ clients, masters }: Plan): string {
  return [
    ...masters.map(
      (_, index) => `<option value="master-${index}">master ${String.fromCharCode(65 + index)}</option>`,
    ),
    ...clients.map((_, index) => `<option value="client-${index}">client ${index}</option>`),
  ].join("");
}
