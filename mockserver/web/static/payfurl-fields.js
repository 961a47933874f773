// What a payer types, in a frame of the service's own: the page of the shop around it, whatever it runs, sees neither
// values nor keys. The frame makes the token itself and gives the client script no more than the token or a refusal.
(function () {
  "use strict";

  // Name, label, autocomplete, inputmode, and what a payer reads of a fault; "" for a field that may stay empty.
  const FIELDS = {
    card: [
      ["cardNumber", "Card number", "cc-number", "numeric", "This is not a card number."],
      ["expiryDate", "Expiry (MM/YY)", "cc-exp", "text", "Please write the expiry date as MM/YY."],
      ["ccv", "Security code", "cc-csc", "numeric", "Please write the 3 or 4 digits on the card."],
      ["cardholder", "Name on the card", "cc-name", "text", ""],
    ],
    payto: [
      ["payerName", "Your name", "name", "text", "Please write your name."],
      ["payId", "PayID (email or phone)", "email", "text", ""],
    ],
  };
  const SECRET = ["cardNumber", "ccv"];
  const DATED = /^(\d{1,2})\D?(\d{2}|20\d{2})$/;
  const AMEX = /^3[47]/;
  // What a payer may know of a refusal; the console has the rest.
  const SAID = {
    14: "This card has expired. Try another card.",
    15: "There is not enough money on this account. Try another card.",
  };
  const NOT_TAKEN = "The payment could not be made. Nothing was taken; ask the shop, or try another way to pay.";
  const UNAVAILABLE = "The payment could not be made just now. Nothing was taken. Try again in a moment.";
  const PAYTO_LIMIT = 9999;
  const INVALID_CARD_NUMBER = 5;

  class Refused extends Error {
    constructor(body, status) {
      super((body && body.message) || `The service answered ${status}`);
      this.details = (body && body.details) || {};
      this.code = body && body.code;
      this.mayRetry = !body || !("code" in body) || body.isRetryable;
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
      input.addEventListener("change", () => { input.value = this.typed(input); });
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
      for (const input of this.inputs) input.value = this.typed(input);
      const values = Object.fromEntries(this.inputs.map((input) => [input.id, input.value]));
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
      // A card number in the wrong field stays unsaid.
      const said = [problem.message, ...details.map(([path, text]) => `${path}: ${text}`)].join("; ");
      console.warn("payfurl:", said.replace(/\d{5,}/g, "…"));
      if (marked.length === 1) return `${this.label(marked[0])}: ${texts[0]}`;
      if (marked.length) return `Please look at these fields: ${marked.map((input) => this.label(input)).join(", ")}`;
      return SAID[problem.code] || (problem.mayRetry ? UNAVAILABLE : NOT_TAKEN);
    }

    // What was meant by what was typed: full-width digits, blanks of every kind, dashes, a date without its slash.
    typed(input) {
      const text = input.value.normalize("NFKC").trim();
      const bare = text.replace(/[\s\p{Cf}\p{Cc}]/gu, "");
      if (SECRET.includes(input.id)) return bare.replace(/\p{Pd}/gu, "");
      const [, month, year] = (input.id === "expiryDate" && DATED.exec(bare)) || [];
      return month ? `${month.padStart(2, "0")}/${year.slice(-2)}` : text;
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

    words(input, text) {
      if (!input.value) return "Please fill this in.";
      if (input.id === "expiryDate" && /today is/.test(text)) return "This card has expired.";
      const isAmex = AMEX.test(this.inputs[0].value);
      if (input.id === "ccv" && isAmex) return "Please write the 4 digits on the front of the card.";
      return input.dataset.wanted || (input.id === "payId" ? "Please write an email address or a phone number." : "Please check this.");
    }
  }

  // The client script hands over one end of a channel; what goes through it, no other script of the page can hear.
  window.addEventListener("message", (event) => {
    const { payfurl } = event.data || {};
    if (payfurl && event.source === window.parent && event.ports.length === 1) new Fields(payfurl, event.ports[0]);
  });
}());
