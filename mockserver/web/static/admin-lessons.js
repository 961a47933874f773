// What an empty view says: what it is for, and a line that fills it.
import { h } from "./admin-dom.js";
import { chosen, keyOf } from "./admin-api.js";

const PROVIDER = "a26c371f-94f6-40da-add2-28ec8e9da8ed";
const card = (number) => `{"cardNumber": "${number}", "expiryDate": "12/40", "ccv": "123", "cardholder": "Ann Example"}`;

// Another key would fill another sandbox.
function secret() {
  if (keyOf()) return `'x-secretkey: ${keyOf()}'`;
  return chosen() ? '"x-secretkey: $PAYFURL_SECRET_KEY"' : "'x-secretkey: sk_demo'";
}

function curl(path, body) {
  return `curl ${location.origin}${path} -H ${secret()}${body ? ` \\\n  -H 'content-type: application/json' \\\n  -d '${body}'` : ""}`;
}

function charge(more = "", number = "4111111111111111") {
  return curl("/charge/card", `{"amount": 20, "currency": "AUD", "providerId": "${PROVIDER}", "paymentInformation": ${card(number)}${more}}`);
}

const LESSONS = {
  requests: ["No request yet", "Each request to this sandbox appears here, with the rule that decided and what changed. This one is declined:", () => charge("", "4000000000009995")],
  objects: ["None of this kind yet", "Charges, customers, batches and everything else in the sandbox appear here with their story. This makes a charge:", () => charge()],
  webhooks: ["No webhook yet", "Every webhook is listed here with each try and its answer. This charge sends one to the built-in inbox:", () => charge(`, "webhook": {"url": "${location.origin}/__inbox/shop"}`)],
  inbox: ["Nothing has arrived yet", "Whatever is sent to /__inbox/NAME with this sandbox's key, and every webhook to it, is kept here with its signature checked:", () => curl("/__inbox/shop", '{"hello": "world"}')],
  books: ["No money yet", "What each order was charged, refunded and still holds appears here, as the sandbox knows it. This makes a charge:", () => charge(', "reference": "order-5"')],
  explorations: ["No report is open", "mockserver explore runs a test once for every failure at each of its calls, and says which of them move money wrongly. Run it, then open explored/cells.jsonl here, or drop it on this page; it stays in your browser:", () => "mockserver explore -- pytest -q test_checkout.py"],
};

export function lesson(view) {
  const [title, words, command] = LESSONS[view];
  return [h("section", { class: "hint", "data-testid": `${view}-lesson` }, h("h2", {}, title), h("p", {}, words),
    chosen() && !keyOf() && view !== "explorations" ? h("p", { class: "soft" }, "PAYFURL_SECRET_KEY is the secret key of this sandbox, which the page does not know.") : null, h("pre", { tabindex: "0", "aria-label": "Command" }, command()))];
}
