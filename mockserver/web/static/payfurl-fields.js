// What a payer types, in a frame of the service's own: the page of the shop around it, whatever it runs, sees neither
// values nor keys. The frame makes the token itself and gives the client script no more than the token or a refusal.
(function () {
  "use strict";

  // Name, label, autocomplete, inputmode, and what is wanted of a field; "" for one that may stay empty.
  const FIELDS = {
    card: [
      ["cardNumber", "Card number", "cc-number", "numeric", "12 to 19 digits, the last of them a right check digit"],
      ["expiryDate", "Expiry (MM/YY)", "cc-exp", "text", "month and year as MM/YY, a month that has not passed"],
      ["ccv", "Security code", "cc-csc", "numeric", "the 3 or 4 digits on the card"],
      ["cardholder", "Name on the card", "cc-name", "text", ""],
    ],
    payto: [
      ["payerName", "Your name", "name", "text", "the name of who pays"],
      ["payId", "PayID (email or phone)", "email", "text", ""],
    ],
  };
  const SECRET = ["cardNumber", "ccv"];
  const PAYTO_LIMIT = 9999;
  const INVALID_CARD_NUMBER = 5;
  // Digits of MM/YYYY: more than that in a field may be a card number.
  const LONGEST_DATE = 6;

  class Refused extends Error {
    constructor(body, status) {
      super((body && body.message) || `The service answered ${status}`);
      this.details = (body && body.details) || {};
      this.code = body && body.code;
    }
  }

  class Fields {
    constructor({ kind, compact, look, publicKey }, port) {
      this.publicKey = publicKey;
      this.port = port;
      this.kind = kind;
      Object.assign(document.documentElement.style, look);
      this.form = document.createElement("form");
      this.form.className = compact ? "compact" : "";
      this.form.setAttribute("aria-label", kind === "card" ? "Card" : "PayTo");
      this.inputs = FIELDS[kind].map((row) => this.field(...row));
      this.form.addEventListener("focusin", () => this.post({ focused: true }));
      this.form.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.post({ entered: true });
      });
      document.body.replaceChildren(this.form);
      new ResizeObserver(() => this.measure()).observe(this.form);
      port.onmessage = (event) => this.obey(event.data);
      this.post({ ready: true });
    }

    // A field has no name: were it ever inside a form of somebody else, nothing of it would be sent.
    field(name, label, complete, mode, wanted) {
      const input = document.createElement("input");
      [input.id, input.autocomplete, input.inputMode, input.spellcheck] = [name, complete, mode, false];
      [input.dataset.testid, input.dataset.wanted] = [`payfurl-${name}`, wanted];
      if (wanted) input.setAttribute("aria-required", "true");
      input.addEventListener("input", () => {
        this.unmark(input);
        this.post({ typed: true });
      });
      const [row, caption] = [document.createElement("div"), document.createElement("label")];
      caption.htmlFor = name;
      caption.textContent = label;
      row.append(caption, input);
      this.form.append(row);
      return input;
    }

    post(message) {
      this.port.postMessage(message);
    }

    measure() {
      this.post({ height: Math.ceil(this.form.getBoundingClientRect().height) });
    }

    obey({ fill, submit }) {
      if (fill) this.fill(fill);
      if (submit) this.submit(submit);
    }

    fill(values) {
      for (const input of this.inputs) {
        if (values[input.id] === undefined) continue;
        input.value = values[input.id];
        input.dispatchEvent(new Event("input"));
      }
    }

    async submit(payment) {
      this.inputs.forEach((input) => this.unmark(input));
      const values = Object.fromEntries(this.inputs.map((input) => [input.id, input.value.trim()]));
      try {
        const token = await (this.kind === "card" ? this.ofCard(values, payment) : this.ofAgreement(values, payment));
        this.inputs.filter((input) => SECRET.includes(input.id)).forEach((input) => { input.value = ""; });
        this.post({ done: { token: token.tokenId, challenge: token.threeDsRedirectUrl } });
      } catch (problem) {
        this.post({ done: { failure: this.mark(problem) } });
      }
    }

    ofCard(values, { amount, currency, threeDSEmail }) {
      return this.send("/token/card/least_cost", { amount, currency, threeDSEmail, paymentInformation: values });
    }

    async ofAgreement({ payerName, payId }, { amount }) {
      const { payToProviders } = await this.send("/info/providers", null);
      if (!payToProviders.length) throw new Refused({ message: "No provider takes PayTo" });
      return this.send("/token/payto", {
        payerName,
        payerPayIdDetails: { payId, payIdType: payId.includes("@") ? "EMAIL" : "PHONE" },
        description: "Payment agreement",
        maximumAmount: Math.min(PAYTO_LIMIT, Math.max(1, Math.ceil(Number(amount) || PAYTO_LIMIT))),
        providerId: payToProviders[0],
      });
    }

    async send(path, body) {
      const answer = await fetch(path, {
        method: body === null ? "GET" : "POST",
        headers: { "x-publickey": this.publicKey, ...(body === null ? {} : { "content-type": "application/json" }) },
        body: body === null ? undefined : JSON.stringify(body),
      }).catch(() => { throw new Refused({ message: "The service cannot be reached" }); });
      const value = await answer.json().catch(() => null);
      if (!answer.ok || !value) throw new Refused(value, answer.status);
      return value;
    }

    // Show each fault beside its field, bring the payer to the first of them, and return what to say of all.
    mark(problem) {
      const details = Object.entries(problem.details || {});
      const faults = details.map(([path, text]) => [path.split(".").pop().toLowerCase(), text]);
      if (problem.code === INVALID_CARD_NUMBER && !faults.length) faults.push(["cardnumber", ""]);
      const wrong = new Map(faults);
      const marked = this.inputs.filter((input) => wrong.has(input.id.toLowerCase()));
      const texts = marked.map((input) => this.words(input, wrong.get(input.id.toLowerCase())));
      marked.forEach((input, place) => {
        const error = document.createElement("p");
        [error.className, error.id, error.textContent] = ["error", `${input.id}-error`, texts[place]];
        error.dataset.testid = `${input.dataset.testid}-error`;
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-describedby", error.id);
        input.after(error);
      });
      if (marked.length) marked[0].focus();
      this.measure();
      if (marked.length === 1) return texts[0];
      if (marked.length) return `Please look at these fields: ${marked.map((input) => this.label(input)).join(", ")}`;
      return [problem.message, ...details.map(([path, text]) => `${path}: ${text}`)].join("; ");
    }

    unmark(input) {
      const before = document.getElementById(`${input.id}-error`);
      if (before) before.remove();
      input.removeAttribute("aria-invalid");
      input.removeAttribute("aria-describedby");
    }

    label(input) {
      return input.labels[0].textContent.replace(/ \(.*/, "");
    }

    // Which field, what is wrong with it, what is allowed. Number and security code are counted, never repeated, nor
    // is anything that could be a number typed into the wrong field.
    words(input, text) {
      const value = input.value.trim();
      const wanted = input.dataset.wanted ? `wanted ${input.dataset.wanted}` : text;
      if (!value) return `${this.label(input)} is missing: ${wanted}.`;
      const count = `${value.length} ${/^\d+$/.test(value) ? "digit" : "character"}${value.length === 1 ? "" : "s"}`;
      const misplaced = value.replace(/\D/g, "").length > LONGEST_DATE;
      const got = misplaced || SECRET.includes(input.id) ? `got ${count}` : `got '${value.slice(0, 40)}'`;
      const isGiven = text && text.startsWith("got ");
      const said = isGiven && !misplaced ? text : `${got}, ${isGiven ? wanted : text || wanted}`;
      return `${this.label(input)} is not right: ${said}.`;
    }
  }

  // The client script hands over one end of a channel; what goes through it, no other script of the page can hear.
  window.addEventListener("message", (event) => {
    const { payfurl } = event.data || {};
    if (payfurl && event.source === window.parent && event.ports.length === 1) new Fields(payfurl, event.ports[0]);
  });
}());
