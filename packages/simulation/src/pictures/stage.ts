// The parts of a page that shows a run: of `sim --html`, and of the lab.

const bar = (style: string): string => `<rect x="1" y="3" width="26" height="12" rx="3" ${style}/>`;

const toolbar = (violations: number): string => `<div class="toolbar" role="toolbar" aria-label="View">
<button type="button" class="square" id="further" aria-label="Zoom out">−</button>
<button type="button" class="square" id="nearer" aria-label="Zoom in">+</button>
<button type="button" id="all">Whole run</button>
<button type="button" id="previous"${violations === 0 ? " disabled" : ""}>Previous violation</button>
<button type="button" id="next"${violations === 0 ? " disabled" : ""}>Next violation</button>
<span id="range"></span>
</div>`;

/** Plays the run: the moment that is shown goes on. */
const player = `<div class="player" role="toolbar" aria-label="Playback">
<button type="button" id="play" aria-pressed="false">Play</button>
<button type="button" id="back">Step back</button>
<button type="button" id="step">Step</button>
<label>Speed <select id="speed">
<option value="20">20 ms a second</option><option value="100">100 ms a second</option>
<option value="400" selected>400 ms a second</option><option value="2000">2 s a second</option>
<option value="10000">10 s a second</option></select></label>
<input type="range" id="head" min="0" value="0" step="any" aria-label="Moment">
<output id="moment" for="head"></output>
</div>
<p id="sentence" role="status"></p>`;

/** The meaning of each shape; the shapes are drawn here as the chart draws them. */
const legend = `<ul class="legend" aria-label="Legend">
${[
  [
    `${bar('fill="var(--holder-0)"')}<text x="14" y="13" text-anchor="middle" font-size="11" font-weight="650" fill="var(--on-holder)">7</text>`,
    "hold 7: a client holds a lock, by its own clock",
  ],
  [
    bar('fill="none" stroke="var(--holder-0)" stroke-width="1.5"'),
    "expired by its own clock, not yet released",
  ],
  [bar('fill="var(--holder-0)" fill-opacity=".28"'), "key on a master, in its holder’s colour"],
  [
    `<rect x="1" y="0" width="26" height="18" fill="var(--danger-band)"/><path d="M1 0v18M27 0v18" stroke="var(--danger)"/>`,
    "two holders at once",
  ],
  [`<path d="M14 2l7 7-7 7-7-7z" fill="var(--danger)"/>`, "violation"],
  [
    `<path d="M1 16l14-14M8 16l14-14M15 16l12-12" stroke="var(--muted)" fill="none"/>`,
    "frozen, suspended (dense), down (crossed)",
  ],
  [`<path d="M14 5l4 7h-8z" fill="var(--holder-0)"/>`, "write"],
  [
    `<path d="M8 2v14" stroke="var(--muted)" stroke-width="1.5"/><path d="M8 2l9 4-9 4z" fill="var(--ink)"/>`,
    "fault",
  ],
  [`<path d="M2 2L26 16" stroke="var(--holder-0)" stroke-width="1.5"/>`, "request, and its reply dotted"],
  [
    `<path d="M1 13c8 0 12-8 26-8" stroke="var(--muted)" stroke-width="1.5" fill="none"/>`,
    "wall clock: below a name, how far it is off from true time; the line rises where it gains",
  ],
]
  .map(([shape, text]) => `<li><svg width="28" height="18" aria-hidden="true">${shape}</svg>${text}</li>`)
  .join("\n")}
</ul>`;

/** Everything that a `View` draws into, for a run with so many violations. */
export function stage(violations: number): string {
  return `${toolbar(violations)}
${player}
${legend}
<svg id="overview" aria-hidden="true"></svg>
<svg id="chart" tabindex="0" role="application" aria-label="Timeline of the run" aria-describedby="keys"></svg>
<p class="keys" id="keys"><kbd>←</kbd> <kbd>→</kbd> move, <kbd>+</kbd> <kbd>−</kbd> or the wheel zoom, <kbd>0</kbd>
the whole run, <kbd>n</kbd> <kbd>p</kbd> next and previous violation, <kbd>,</kbd> <kbd>.</kbd> from event to event,
<kbd>Space</kbd> plays, a click shows the rule</p>
<div id="detail" hidden></div>
<div id="tooltip" role="tooltip" hidden></div>
<p id="spoken" class="unseen" aria-live="polite"></p>`;
}
