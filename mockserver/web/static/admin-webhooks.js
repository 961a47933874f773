// Webhooks with every attempt, and the inbox that receives them.
import { api } from "./admin-api.js";
import { h, clear, say, List, split, block, table, time, clockTime } from "./admin-dom.js";

export function webhooks(panel, count) {
  panel.append(h("p", { class: "soft hint" }, "Loading."));
  return {};
}

export function inbox(panel, count) {
  panel.append(h("p", { class: "soft hint" }, "Loading."));
  return {};
}
