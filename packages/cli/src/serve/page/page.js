// The script of the page: shows each state that /api/events sends. Names come from outside: they are text, never HTML.

const announcementPause = 5000;

/** As output.ts has it: control characters, and those that change the direction of the text around them. */
const commands = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

function escaped(text) {
  return text.replace(commands, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function titleOf({ tag, name, host, pid }) {
  return escaped(name === undefined ? tag : `${name} (pid ${pid}, host ${host ?? ""})`);
}

const levels = { "owner-gone": "warn", revoked: "warn", "no-quorum": "bad", unknown: "warn" };

function duration(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Cells are { text, level?, notes?, list?, sort? }: `sort` is what a column is ordered by, if not by the text.

function contentOf({ text = "", level, notes = [], list = [] }) {
  const main = element("span", { textContent: text, title: text });
  if (level) main.dataset.level = level;
  const parts = text === "" ? [] : [main];
  if (list.length > 0)
    parts.push(element("ol", {}, ...list.map((item) => element("li", { textContent: item }))));
  return [...parts, ...notes.map((note) => element("div", { className: "note", textContent: note }))];
}

function textOf({ text = "", notes = [], list = [] }) {
  return [text, ...list, ...notes].join(" ");
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), undefined, { numeric: true });
}

const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };

function roleOf({ tagName, scope }) {
  return roles[tagName] ?? (scope === "col" ? "columnheader" : "rowheader");
}

/** A table whose rows are kept from state to state, so that selections and screen readers keep their place. */
class Table {
  #columns;
  #none;
  #order;
  #rows = new Map();
  #items = [];
  #headers;
  #body = element("tbody");
  #caption;
  #describe;

  /** `columns`: { title, width, cell(item) }; `describe`: the caption, from the number of items. */
  constructor(id, { title, columns, none, order, describe }) {
    this.#columns = columns;
    this.#none = none;
    this.#order = order;
    this.#describe = describe;
    this.#caption = element("caption", { textContent: describe(0) });
    this.#headers = columns.map((column, index) => {
      // The arrow; `aria-sort` says it to screen readers.
      const arrow = element("span", { ariaHidden: "true" });
      const button = element("button", { type: "button" }, column.title, arrow);
      button.addEventListener("click", () => this.#sortBy(index));
      return element("th", { scope: "col" }, button);
    });
    const widths = columns.map(({ width }) => {
      const column = element("col");
      column.style.width = width;
      return column;
    });
    const head = element("thead", {}, element("tr", {}, ...this.#headers));
    const table = element("table", {}, this.#caption, element("colgroup", {}, ...widths), head, this.#body);
    // A narrow screen shows rows as cards. Browsers take what is no longer laid out as a table for none, without roles.
    for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, th")]) part.role = roleOf(part);
    const frame = element("div", { className: "frame" }, table);
    document.getElementById(id).append(element("h2", { id: `${id}-title`, textContent: title }), frame);
    this.#showOrder();
  }

  /** `items`: each with a `key`, and with `words` to be found by beside those that are shown. */
  show(items) {
    this.#items = items;
    this.#draw();
  }

  filter() {
    this.#draw();
  }

  #sortBy(index) {
    const { column, isDescending } = this.#order ?? {};
    this.#order = { column: index, isDescending: column === index && !isDescending };
    this.#showOrder();
    this.#draw();
  }

  #showOrder() {
    const { column, isDescending } = this.#order ?? {};
    for (const [index, header] of this.#headers.entries())
      header.ariaSort = index === column ? (isDescending ? "descending" : "ascending") : "none";
  }

  #draw() {
    const wanted = document.getElementById("filter").value.trim().toLowerCase();
    let shown = this.#items.map((item) => ({ item, cells: this.#columns.map(({ cell }) => cell(item)) }));
    shown = shown.filter(({ item, cells }) =>
      [...cells.map(textOf), ...(item.words ?? [])].join(" ").toLowerCase().includes(wanted),
    );
    if (this.#order) {
      const { column, isDescending } = this.#order;
      const sortValueOf = ({ cells }) => cells[column].sort ?? textOf(cells[column]);
      shown.sort((one, other) => compare(sortValueOf(one), sortValueOf(other)) * (isDescending ? -1 : 1));
    }
    const [total, count] = [this.#items.length, shown.length];
    const caption =
      this.#describe(total) +
      (wanted === "" ? "" : `; ${count} of them ${count === 1 ? "matches" : "match"} the filter`);
    if (this.#caption.textContent !== caption) this.#caption.textContent = caption;
    const rows = shown.map(({ item, cells }) => this.#rowOf(item.key, cells));
    if (rows.length === 0) rows.push(this.#emptyRow(total > 0));
    this.#place(rows);
  }

  #rowOf(key, cells) {
    let row = this.#rows.get(key);
    if (!row) {
      row = element(
        "tr",
        {},
        ...cells.map((_, index) => element(...(index === 0 ? ["th", { scope: "row" }] : ["td"]))),
      );
      for (const part of [row, ...row.cells]) part.role = roleOf(part);
      for (const [index, { title }] of this.#columns.entries()) row.cells[index].dataset.title = title;
      this.#rows.set(key, row);
    }
    for (const [index, cell] of cells.entries()) {
      const place = row.cells[index];
      const content = JSON.stringify(cell);
      if (place.content === content) continue;
      place.content = content;
      place.replaceChildren(...contentOf(cell));
    }
    return row;
  }

  #emptyRow(isFiltered) {
    const text = isFiltered ? "Nothing matches the filter." : this.#none;
    const cell = element("td", {
      className: "none",
      role: "cell",
      colSpan: this.#columns.length,
      textContent: text,
    });
    return element("tr", { role: "row" }, cell);
  }

  #place(rows) {
    for (const [index, row] of rows.entries())
      if (this.#body.rows[index] !== row) this.#body.insertBefore(row, this.#body.rows[index] ?? null);
    while (this.#body.rows.length > rows.length) this.#body.lastChild.remove();
    const kept = new Set(rows);
    for (const [key, row] of this.#rows) if (!kept.has(row)) this.#rows.delete(key);
  }
}

const masters = new Table("masters", {
  title: "Masters",
  none: "No master is known yet.",
  describe: (count) => `${counted(count, "master", "masters")}, at the last look`,
  columns: [
    { title: "Master", width: "40%", cell: ({ name }) => ({ text: escaped(name) }) },
    {
      title: "State",
      width: "25%",
      cell: ({ reachable, slow, error }) =>
        reachable
          ? slow
            ? { text: "slow", level: "warn", sort: 1 }
            : { text: "reachable", level: "good", sort: 2 }
          : { text: `unreachable (${error})`, level: "bad", sort: 0 },
    },
    {
      title: "Round trip",
      width: "17%",
      cell: ({ roundTrip }) =>
        roundTrip === undefined
          ? { text: "none", sort: Number.MAX_VALUE }
          : { text: `${roundTrip.toFixed(1)} ms`, sort: roundTrip },
    },
    {
      title: "Votes",
      width: "18%",
      cell: ({ votes }) => ({ text: String(votes), sort: votes }),
    },
  ],
});

const locks = new Table("locks", {
  title: "Locks",
  none: "No owner has recorded a lock.",
  describe: (count) =>
    `${counted(count, "lock", "locks")} that an owner has recorded, 10 to 20 seconds after it took them, and those that wait, in their order`,
  order: { column: 0, isDescending: false },
  columns: [
    { title: "Resource", width: "18%", cell: ({ resource }) => ({ text: escaped(resource) }) },
    {
      title: "Owner",
      width: "23%",
      cell: (lock) => ({ text: lock.holder, ...(levels[lock.state] && { level: levels[lock.state] }) }),
    },
    {
      title: "Held for",
      width: "12%",
      cell: ({ heldFor }) =>
        heldFor === undefined ? { text: "unknown", sort: -1 } : { text: duration(heldFor), sort: heldFor },
    },
    {
      title: "Expires in",
      width: "12%",
      cell: ({ remaining }) =>
        remaining === null
          ? { text: "no expiry", level: "warn", sort: Number.MAX_VALUE }
          : { text: duration(remaining), sort: remaining },
    },
    {
      title: "Masters",
      width: "19%",
      cell: ({ state, masters: count, of, others }) => ({
        text: `${count} of ${of}`,
        ...(state === "no-quorum" && { level: "bad" }),
        notes: others.map(({ master, says }) => `${escaped(master)}: ${escaped(says)}`),
        sort: count,
      }),
    },
    {
      title: "Waiters",
      width: "16%",
      cell: ({ waiters, waiting }) => ({
        text: waiting === 0 ? "none" : "",
        list: waiters.map(titleOf),
        notes: waiting > waiters.length ? [`and ${waiting - waiters.length} more`] : [],
        sort: waiting,
      }),
    },
  ],
});

const owners = new Table("owners", {
  title: "Owners",
  none: "No owner has written a record.",
  describe: (count) =>
    `${counted(count, "client", "clients")} with a record; one that has ended is listed while its locks keep others out, 30 seconds at least`,
  order: { column: 0, isDescending: false },
  columns: [
    { title: "Owner", width: "28%", cell: ({ name }) => ({ text: escaped(name) }) },
    { title: "Host", width: "24%", cell: ({ host }) => ({ text: escaped(host) }) },
    { title: "Process", width: "12%", cell: ({ pid }) => ({ text: String(pid), sort: pid }) },
    { title: "Version", width: "12%", cell: ({ version }) => ({ text: escaped(version) }) },
    { title: "Locks", width: "10%", cell: ({ locks: count }) => ({ text: String(count), sort: count }) },
    { title: "Tag", width: "14%", cell: ({ tag }) => ({ text: escaped(tag) }) },
  ],
});

const kinds = {
  held: ["held", "good"],
  free: ["free", undefined],
  waiting: ["waiters changed", undefined],
  revoked: ["revoked", "warn"],
  "owner-gone": ["owner gone, still locked", "warn"],
  unknown: ["unknown", "warn"],
  "no-quorum": ["no quorum", "bad"],
  unreachable: ["master unreachable", "bad"],
  reachable: ["master reachable", "good"],
};

function clock(time) {
  return new Date(time).toLocaleTimeString(undefined, { hourCycle: "h23" });
}

function waitersOf({ waiters, waiting }) {
  return waiting === 0 ? [] : [`${waiting} waiting: ${waiters.map(titleOf).join(", ")}`];
}

let since = "";
const changes = new Table("changes", {
  title: "Changes",
  none: "Nothing has changed.",
  describe: (count) =>
    `${counted(count, "change", "changes")}, the latest first${since && `; watched since ${clock(since)}`}`,
  columns: [
    { title: "Time", width: "14%", cell: ({ time, id }) => ({ text: clock(time), sort: id }) },
    {
      title: "Change",
      width: "20%",
      cell: ({ change }) => ({
        text: kinds[change][0],
        ...(kinds[change][1] && { level: kinds[change][1] }),
      }),
    },
    {
      title: "Name",
      width: "28%",
      cell: ({ resource, master }) => ({ text: escaped(resource ?? master ?? "") }),
    },
    {
      title: "Owner",
      width: "38%",
      cell: ({ lock, change }) =>
        lock && change !== "free" ? { text: lock.holder, notes: waitersOf(lock) } : {},
    },
  ],
});
const tables = [masters, locks, owners, changes];

const spoken = document.getElementById("spoken");
const status = document.getElementById("status");
function say(text, level) {
  if (status.textContent !== text) status.textContent = text;
  if (status.dataset.level !== level) status.dataset.level = level;
}

/** Tells screen readers what has changed, at most once in five seconds: what comes sooner is told together. */
const announcer = {
  /** The last change that was told; those before the page was opened are not. */
  last: undefined,
  timer: undefined,
  latest: [],
  hear(all) {
    this.latest = all;
    this.last ??= all[0]?.id ?? 0;
    if (this.timer === undefined && this.news().length > 0) this.tell();
  },
  news() {
    return this.latest.filter(({ id }) => id > this.last);
  },
  tell() {
    const news = this.news();
    this.timer = undefined;
    if (news.length === 0) return;
    this.last = news[0].id;
    const lines = news
      .slice(0, 3)
      .map(({ change, resource, master }) => `${escaped(resource ?? master ?? "")}: ${kinds[change][0]}`);
    const more = news.length > lines.length ? `; ${news.length - lines.length} more changes` : "";
    spoken.textContent = lines.join("; ") + more;
    this.timer = setTimeout(() => this.tell(), announcementPause);
  },
};

function show(state) {
  const now = Date.parse(state.time);
  since = state.since;
  const reachable = state.masters.filter((master) => master.reachable).length;
  const answers = `${reachable} of ${counted(state.masters.length, "master", "masters")} answered`;
  if (!state.hasQuorum) say(`${answers}: no quorum. Locks may be missing here. (${clock(now)})`, "bad");
  else say(`Live: ${answers}. (${clock(now)})`, reachable < state.masters.length ? "warn" : "good");
  const votersOf = ({ others }) =>
    state.masters.map(({ name }) => name).filter((name) => !others.some(({ master }) => master === name));
  const voters = state.locks.map(votersOf);
  masters.show(
    state.masters.map((master, index) => ({
      ...master,
      key: index,
      votes: voters.filter((names) => names.includes(master.name)).length,
    })),
  );
  locks.show(
    state.locks.map((lock, index) => ({
      ...lock,
      // A resource that is read has a lock for each owner.
      key: `${lock.resource} ${lock.owner?.tag ?? ""}`,
      heldFor: lock.since === undefined ? undefined : now - lock.since,
      words: voters[index],
    })),
  );
  owners.show(state.owners.map((owner) => ({ ...owner, key: owner.tag })));
  changes.show(state.changes.map((change) => ({ ...change, key: change.id })));
  announcer.hear(state.changes);
  // Hidden so far: nothing moves when the first rows come.
  document.querySelector("main").hidden = false;
}

const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  for (const table of tables) table.filter();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== filter && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    filter.focus();
  }
  if (event.key === "Escape" && document.activeElement === filter && filter.value !== "") {
    event.preventDefault();
    filter.value = "";
    for (const table of tables) table.filter();
  }
});

const lost = "No connection to quorlock serve: what is shown is old. Trying again …";

function connect() {
  const events = new EventSource("/api/events");
  events.addEventListener("state", ({ data }) => show(JSON.parse(data)));
  events.addEventListener("error", () => {
    if (status.textContent !== lost) spoken.textContent = lost;
    say(lost, "bad");
    // After an answer that is no stream the browser gives up.
    if (events.readyState === EventSource.CLOSED) setTimeout(() => void connectOrLogIn(), 5000);
  });
}

/** A program that was started again wants a new login. */
async function connectOrLogIn() {
  const answer = await fetch("/api/state").catch(() => undefined);
  if (answer?.status === 401) location.reload();
  else connect();
}
connect();
