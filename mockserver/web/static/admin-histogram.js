// Calls and failures over the journal: a bar, or a stroke over several, narrows the search to them.
import { api } from "./admin-api.js";
import { h, clear, calmly } from "./admin-dom.js";

const BARS = 40;
const PAUSE_MS = 3000;
const BOUNDS = /(^|\s)-?(since|until):\S+/g;

// `wanted()` is the search in force; the histogram shows all that it finds without bounds in time.
export function histogram(wanted, narrow) {
  let bars = [];
  let from = null;
  const element = h("div", {
    class: "bars", role: "group", "aria-label": "Calls and failures: choose a part, with Shift up to another", "data-testid": "histogram", hidden: true,
    onpointerdown: (event) => { if (!event.shiftKey) from = place(event); }, onpointerup: (event) => { if (place(event) !== from) choose(place(event)); },
    // A key that presses a bar begins there.
    onclick: (event) => { if (!event.detail && !event.shiftKey) from = place(event); choose(place(event)); },
    onkeydown: (event) => element.children[place(event) + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] || NaN)]?.focus(),
  });
  const look = calmly(async () => {
    const got = await api("GET", `/__admin/timeline?${new URLSearchParams({ limit: 0, bars: BARS, q: wanted().replace(BOUNDS, " ").trim() })}`).catch(() => null);
    if (got) draw(got.bars);
  }, PAUSE_MS);

  function place(event) { return [...element.children].indexOf(event.target.closest("button")); }

  function choose(to) {
    if (to < 0 || from === null || from < 0) return;
    const [first, last] = [bars[Math.min(from, to)], bars[Math.max(from, to)]];
    narrow(`${wanted().replace(BOUNDS, " ").trim()} since:${first.since} until:${last.until}`.trim());
  }

  function draw(all) {
    const most = Math.max(...all.map((bar) => bar.calls));
    const focused = [...element.children].indexOf(document.activeElement);
    bars = all;
    element.hidden = all.length < 2;
    clear(element).append(...all.map((bar, i) => {
      const words = `${bar.calls} called, ${bar.failed} failed, ${short(bar.since)} to ${short(bar.until)}`;
      const button = h("button", { type: "button", tabindex: i === Math.max(focused, 0) ? "0" : "-1", "aria-label": words, title: words }, h("i", {}), h("b", {}));
      button.firstChild.style.height = `${(100 * (bar.calls - bar.failed)) / most}%`;
      button.lastChild.style.height = `${(100 * bar.failed) / most}%`;
      return button;
    }));
    if (focused >= 0) element.children[Math.min(focused, all.length - 1)]?.focus();
  }

  return { element, look };
}

function short(place) { return place.length > 19 ? place.slice(0, 19).replace("T", " ") : `#${place}`; }
