// A state table as a drawing, as far as it matters here: the states that were, in the colour of the way that was taken, and
// those that may come next.
import { h } from "./admin-dom.js";

const WIDTH = 154;
const HEIGHT = 34;
const GAP_X = 40;
const GAP_Y = 24;

export function diagram({ subject, begins, moves }, state, history) {
  const near = new Set([state, ...Object.values(moves[state] || {}), ...history.flatMap((event) => [event.before, event.after])]);
  const among = (row) => Object.fromEntries(Object.entries(row).filter(([, after]) => near.has(after)));
  const law = { begins: among(begins), moves: Object.fromEntries(Object.entries(moves).filter(([name]) => near.has(name)).map(([name, row]) => [name, among(row)])) };
  const places = place(law, [...new Set([...history.flatMap((event) => [event.before, event.after]), state])].filter((name) => law.moves[name]));
  const taken = new Map();
  history.forEach((event, i) => {
    const way = `${event.before || ""}>${event.after || ""}`;
    taken.set(way, taken.has(way) ? `${taken.get(way)},${i + 1}` : String(i + 1));
  });
  const edges = [];
  for (const [event, after] of Object.entries(law.begins)) edges.push(["", event, after]);
  for (const [before, row] of Object.entries(law.moves)) for (const [event, after] of Object.entries(row)) edges.push([before, event, after]);
  const right = Math.max(...[...places.values()].map((spot) => spot.x)) + WIDTH + 12;
  const bottom = Math.max(...[...places.values()].map((spot) => spot.y)) + HEIGHT + 44;
  const words = `States of a ${subject}; it is ${state}`;
  const groups = new Map();
  for (const [before, event, after] of edges) {
    const way = `${before}>${after}`;
    groups.set(way, [...(groups.get(way) || []), event]);
  }
  const drawn = [...groups].filter(([way]) => taken.has(way) || way.startsWith(`${state}>`)).map(([way, events]) => edge(...way.split(">"), events, places, taken.get(way)));
  drawn.sort((a, b) => a.classList.contains("taken") - b.classList.contains("taken"));
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Diagram of states" }, h("svg:svg", { class: "diagram", viewBox: `0 0 ${right} ${bottom}`, width: right, height: bottom, role: "img", "aria-label": words, "data-testid": "diagram" },
    h("svg:defs", {}, arrow("arrow"), arrow("arrow-taken")),
    ...drawn, h("svg:circle", { class: "start", cx: 10, cy: places.get("").y + HEIGHT / 2, r: 6 }),
    ...[...places].filter(([name]) => name).map(([name, spot]) => node(name, spot, name === state, history.some((event) => event.after === name || event.before === name)))));
}

function arrow(id) {
  return h("svg:marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, h("svg:path", { d: "M0 0L8 4L0 8z" }));
}

// Where each state stands: those that were one behind the other, then those that may come below each other.
function place(law, past) {
  const places = new Map();
  const put = (name, column, row) => places.set(name, { x: 46 + column * (WIDTH + GAP_X), y: 14 + row * (HEIGHT + GAP_Y) + (column % 2) * 22, column });
  past.forEach((name, i) => put(name, i, 0));
  Object.keys(law.moves).filter((name) => !past.includes(name)).forEach((name, i) => put(name, past.length, i));
  places.set("", { x: -WIDTH + 16, y: 14, column: -1 });
  return places;
}

function node(name, spot, here, been) {
  const parts = [
    h("svg:rect", { x: spot.x, y: spot.y, width: WIDTH, height: HEIGHT, rx: 7 }),
    h("svg:text", { x: spot.x + WIDTH / 2, y: spot.y + HEIGHT / 2 + 4 }, name),
  ];
  return h("svg:g", { class: `state${here ? " here" : been ? " been" : ""}` }, ...parts);
}

function edge(before, after, events, places, taken) {
  const from = places.get(before);
  const to = places.get(after);
  if (!from || !to) return h("svg:g");
  const summary = events.map((event) => event.replaceAll("_", " ")).join(", ");
  let path;
  let middle;
  if (before === after) {
    const x = from.x + WIDTH / 2;
    path = `M${x - 16} ${from.y + HEIGHT} C ${x - 26} ${from.y + HEIGHT + 26}, ${x + 26} ${from.y + HEIGHT + 26}, ${x + 16} ${from.y + HEIGHT}`;
    middle = [x, from.y + HEIGHT + 20];
  } else {
    const x1 = from.x + WIDTH;
    const y1 = from.y + HEIGHT / 2;
    const x2 = to.x - 2;
    const y2 = to.y + HEIGHT / 2;
    const bend = Math.max(30, (x2 - x1) / 2);
    path = to.column > from.column
      ? `M${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`
      : `M${from.x + WIDTH / 2} ${from.y + HEIGHT} C ${from.x + WIDTH / 2} ${from.y + HEIGHT + 40}, ${to.x + WIDTH / 2} ${to.y + HEIGHT + 40}, ${to.x + WIDTH / 2} ${to.y + HEIGHT + 2}`;
    middle = to.column > from.column ? [x2 - 20, y2] : [(from.x + to.x + WIDTH) / 2, (from.y + to.y) / 2 + HEIGHT + 30];
  }
  return h("svg:g", { class: `move${taken ? " taken" : ""}` },
    h("svg:title", {}, `${before || "begins"} → ${after}: ${summary}`),
    h("svg:path", { d: path, "marker-end": `url(#arrow${taken ? "-taken" : ""})` }),
    ...(taken ? [
      h("svg:rect", { class: "step", x: middle[0] - 6 - 3 * taken.length, y: middle[1] - 9, width: 12 + 6 * taken.length, height: 18, rx: 9 }),
      h("svg:text", { class: "step", x: middle[0], y: middle[1] + 4 }, taken),
    ] : []));
}
