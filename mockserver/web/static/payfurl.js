// The client script of the sandbox: the calls of the published browser script, against the server it is loaded from.
// It turns what a payer types into a token, or a simulated approval into a charge; the shop's own server never sees a
// card number. Changing the address of the script is all that a shop has to change.
(function () {
  "use strict";

  const own = document.currentScript && document.currentScript.src;
  const BASE = own ? new URL(own).origin : window.location.origin;
  const ENVIRONMENTS = ["local", "development", "sandbox", "production"];
  // Name, label, autocomplete, inputmode, and what is wanted of a field; "" for one that may stay empty.
  const CARD_FIELDS = [
    ["cardNumber", "Card number", "cc-number", "numeric", "12 to 19 digits, the last of them a right check digit"],
    ["expiryDate", "Expiry (MM/YY)", "cc-exp", "text", "month and year as MM/YY, a month that has not passed"],
    ["ccv", "Security code", "cc-csc", "numeric", "the 3 or 4 digits on the card"],
    ["cardholder", "Name on the card", "cc-name", "text", ""],
  ];
  const PAYTO_FIELDS = [
    ["payerName", "Your name", "name", "text", "the name of who pays"],
    ["payId", "PayID (email or phone)", "email", "text", ""],
  ];
  const SECRET = ["cardNumber", "ccv"];
  const PAYTO_LIMIT = 9999;

  const STYLE = `
    .payfurl-form { display: grid; gap: 12px; font: inherit; }
    .payfurl-form label { display: block; font-weight: 500; }
    .payfurl-form input { display: block; box-sizing: border-box; width: 100%; margin-top: 4px; padding: 10px; font: inherit; color: inherit;
      background: transparent; border: 1px solid #8a8f98; border-radius: 8px; }
    .payfurl-form input[aria-invalid="true"] { border: 2px solid #c22f28; border-color: light-dark(#b3261e, #ff9c94); padding: 9px; }
    .payfurl-error { color: #c22f28; color: light-dark(#b3261e, #ff9c94); font-size: 14px; margin: 4px 0 0; }
    .payfurl-compact { grid-template-columns: 1fr 1fr; }
    .payfurl-compact > :first-child, .payfurl-compact > :last-child { grid-column: 1 / -1; }
    .payfurl-button { font: inherit; font-weight: 600; padding: 11px 16px; border: 1px solid #8a8f98; border-radius: 8px; background: transparent; color: inherit;
      cursor: pointer; width: 100%; min-height: 44px; }
    .payfurl-dialog { border: 0; border-radius: 14px; padding: 24px; max-width: 340px; color: #1d2126; background: #fff; font: 16px/1.5 system-ui, sans-serif; }
    .payfurl-dialog::backdrop { background: rgb(0 0 0 / 50%); }
    .payfurl-dialog h2 { margin: 0 0 8px; font-size: 20px; }
    .payfurl-dialog .payfurl-button { margin-top: 10px; }`;

  function styled() {
    if (styled.done || !("adoptedStyleSheets" in document)) return;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    styled.done = true;
  }

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }

  class Refused extends Error {
    constructor(body, status) {
      super((body && body.message) || `The service answered ${status}`);
      this.details = (body && body.details) || {};
      this.code = body && body.code;
    }
  }

  class Payfurl {
    constructor(environment, publicKey, debug) {
      this.environment = String(environment || "sandbox").toLowerCase();
      this.publicKey = publicKey;
      this.debug = Boolean(debug);
      this.customer = {};
      this.billing = {};
      this.order = {};
      this.amount = null;
      this.forms = [];
      this.current = null;
      this.busy = false;
      this.success = () => {};
      this.failure = () => {};
      this.validate = () => true;
      this.log("init", this.environment, BASE);
      if (!ENVIRONMENTS.includes(this.environment)) this.later(`Unknown environment '${environment}', wanted one of ${ENVIRONMENTS.join(", ")}`);
      if (!publicKey) this.later("init wants a public key");
    }

    // What is given before or after the forms.
    setCustomerInfo(firstName, lastName, email, phoneNumber) {
      this.customer = { firstName, lastName, email, phone: phoneNumber };
      return this;
    }

    setBillingAddress(firstName, lastName, email, phoneNumber, streetAddress, streetAddress2, city, state, region, postalCode, country) {
      this.billing = { line1: streetAddress, line2: streetAddress2, city, state: state || region, postalCode, country };
      if (!this.customer.firstName) this.setCustomerInfo(firstName, lastName, email, phoneNumber);
      return this;
    }

    setOrderInfo(taxAmount, shippingAmount, discountAmount, orderItems) {
      this.order = { taxAmount, shippingAmount, discountAmount, orderItems };
      return this;
    }

    setAmount(amount) {
      this.amount = amount;
      return this;
    }

    onSuccess(callback) { this.success = callback; return this; }

    onFailure(callback) { this.failure = callback; return this; }

    onValidate(callback) { this.validate = callback; return this; }

    preloadClickToPay() { return this; }

    // Forms and buttons.
    addCardLeastCost(id, amount, currency, options) {
      const form = this.form(id, CARD_FIELDS, "card", options && options.style === "compact");
      return this.withForm(id, form, amount, (values) => this.send("/token/card/least_cost", {
        amount: this.amount, currency, paymentInformation: values,
      }));
    }

    addPayTo(id, amount) {
      const form = this.form(id, PAYTO_FIELDS, "payto", false);
      return this.withForm(id, form, amount, async (values) => {
        const { payToProviders } = await this.send("/info/providers", null);
        if (!payToProviders.length) throw new Refused({ message: "No provider takes PayTo" });
        return this.send("/token/payto", {
          payerName: values.payerName,
          payerPayIdDetails: { payId: values.payId, payIdType: values.payId.includes("@") ? "EMAIL" : "PHONE" },
          description: "Payment agreement",
          maximumAmount: Math.min(PAYTO_LIMIT, Math.max(1, Math.ceil(Number(this.amount) || PAYTO_LIMIT))),
          providerId: payToProviders[0],
        });
      });
    }

    addPaypal(id, amount, currency) { return this.button(id, "PayPal", amount, currency); }

    addGooglePay(id, amount, currency) { return this.button(id, "Google Pay", amount, currency); }

    addApplePay(id, amount, currency) { return this.button(id, "Apple Pay", amount, currency); }

    addCheckout(id, amount, currency, providerType, providerId) {
      return this.button(id, providerType || "Checkout", amount, currency, providerId);
    }

    execute() {
      const shown = this.forms.filter((form) => form.element.offsetParent !== null);
      const form = shown.includes(this.current) ? this.current : shown[shown.length - 1] || this.forms[this.forms.length - 1];
      if (!form) this.later("There is no card or PayTo form to submit");
      else this.submit(form);
      return this;
    }

    // Below: how it is done.
    log(...words) {
      if (this.debug) console.log("payfurl:", ...words);
    }

    later(message) {
      window.setTimeout(() => this.fail(message), 0);
    }

    fail(message) {
      this.log("failure", message);
      this.failure(message);
    }

    place(id) {
      styled();
      const found = document.getElementById(String(id).replace(/^#/, ""));
      if (!found) this.later(`There is no element with the id '${id}'`);
      return found;
    }

    form(id, fields, kind, compact) {
      const made = element("div", { class: `payfurl-form${compact ? " payfurl-compact" : ""}`, role: "group", "aria-label": kind === "card" ? "Card" : "PayTo" });
      for (const [name, label, complete, mode, wanted] of fields) {
        const input = element("input", {
          name, id: `${id}-${name}`, autocomplete: complete, inputmode: mode, spellcheck: "false", "data-testid": `payfurl-${name}`,
          "aria-required": wanted ? "true" : null, "data-wanted": wanted, oninput: () => this.unmark(input),
        });
        made.append(element("div", {}, element("label", { for: `${id}-${name}` }, label), input));
      }
      return made;
    }

    withForm(id, made, amount, send) {
      if (this.amount === null) this.amount = amount;
      const place = this.place(id);
      if (!place) return this;
      const form = { element: made, send };
      made.addEventListener("focusin", () => { this.current = form; });
      made.addEventListener("keydown", (event) => {
        if (event.key === "Enter") { event.preventDefault(); this.submit(form); }
      });
      place.replaceChildren(made);
      this.forms.push(form);
      return this;
    }

    async submit(form) {
      if (this.busy || this.validate() === false) return;
      this.busy = true;
      const inputs = [...form.element.querySelectorAll("input")];
      inputs.forEach((input) => this.unmark(input));
      const values = Object.fromEntries(inputs.map((input) => [input.name, input.value.trim()]));
      try {
        const token = await form.send(values);
        this.log("token", token.tokenId);
        this.success({ token: token.tokenId, transactionId: "" });
      } catch (problem) {
        this.fail(this.mark(inputs, problem));
      } finally {
        this.busy = false;
      }
    }

    // Tell each fault beside its field, bring the payer to the first of them, and return what to say of all.
    mark(inputs, problem) {
      const faults = Object.entries(problem.details || {}).map(([path, text]) => [path.split(".").pop().toLowerCase(), text]);
      if (problem.code === 5 && !faults.length) faults.push(["cardnumber", ""]);
      const told = new Map(faults);
      const marked = inputs.filter((input) => told.has(input.name.toLowerCase()));
      const texts = marked.map((input) => this.words(input, told.get(input.name.toLowerCase())));
      marked.forEach((input, place) => {
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-describedby", `${input.id}-error`);
        input.after(element("p", { class: "payfurl-error", id: `${input.id}-error`, "data-testid": `${input.dataset.testid}-error` }, texts[place]));
      });
      if (marked.length) marked[0].focus();
      if (marked.length === 1) return texts[0];
      if (marked.length) return `Please look at these fields: ${marked.map((input) => this.label(input)).join(", ")}`;
      const others = Object.entries(problem.details || {}).map(([path, text]) => `${path}: ${text}`);
      return [problem.message, ...others].join("; ");
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

    // Which field, what is wrong with it, what is allowed. Number and security code are counted, never repeated.
    words(input, text) {
      const value = input.value.trim();
      const wanted = input.dataset.wanted ? `wanted ${input.dataset.wanted}` : text;
      if (!value) return `${this.label(input)} is missing: ${wanted}.`;
      const count = `${value.length} ${/^\d+$/.test(value) ? "digit" : "character"}${value.length === 1 ? "" : "s"}`;
      const got = SECRET.includes(input.name) ? `got ${count}` : `got '${value.slice(0, 40)}'`;
      const said = text && text.startsWith("got ") ? text : `${got}, ${text || wanted}`;
      return `${this.label(input)} is not right: ${said}.`;
    }

    button(id, name, amount, currency, providerId) {
      if (this.amount === null) this.amount = amount;
      const place = this.place(id);
      if (!place) return this;
      const word = name.toLowerCase().replace(/[^a-z0-9]/g, "");
      place.replaceChildren(element("button", {
        type: "button", class: "payfurl-button", "data-testid": `payfurl-${word}`, onclick: () => this.checkout(name, currency, providerId),
      }, name));
      return this;
    }

    async checkout(name, currency, providerId) {
      if (this.busy || this.validate() === false) return;
      this.busy = true;
      try {
        const answer = await this.ask(name, `${currency || ""} ${this.amount}`.trim());
        if (answer === "cancel") throw new Error(`${name} was cancelled`);
        const charge = await this.send("/charge/token/apple", {
          amount: this.amount, currency, providerId, ...this.customer, ...(this.billing.line1 ? { address: this.billing } : {}),
          token: { paymentMethod: { displayName: name } }, ...(answer === "decline" ? { metadata: { mock: "do_not_honour" } } : {}),
        });
        if (charge.status === "FAILED") throw new Error(`${name} declined the payment`);
        this.log("charge", charge.chargeId);
        this.success({ token: "", transactionId: charge.chargeId });
      } catch (problem) {
        this.fail(problem.message);
      } finally {
        this.busy = false;
      }
    }

    // The window of the other side, simulated: the answer is "approve", "decline" or "cancel".
    ask(name, amount) {
      return new Promise((resolve) => {
        const close = (answer) => { dialog.close(); dialog.remove(); resolve(answer); };
        const choice = (answer, label) => element("button", {
          type: "button", class: "payfurl-button", "data-testid": `payfurl-${answer}`, onclick: () => close(answer),
        }, label);
        const dialog = element("dialog", { class: "payfurl-dialog", "aria-label": `Simulated ${name}`, "data-testid": "payfurl-dialog", oncancel: () => close("cancel") },
          element("h2", {}, `Simulated ${name}`),
          element("p", {}, `Pay ${amount}? In the sandbox you decide how it ends.`),
          choice("approve", "Approve"), choice("decline", "Decline"), choice("cancel", "Cancel"));
        document.body.append(dialog);
        dialog.showModal();
      });
    }

    async send(path, body) {
      const answer = await fetch(BASE + path, {
        method: body === null ? "GET" : "POST",
        headers: { "x-publickey": this.publicKey, ...(body === null ? {} : { "content-type": "application/json" }) },
        body: body === null ? undefined : JSON.stringify(body),
      }).catch(() => { throw new Refused({ message: "The service cannot be reached" }); });
      const value = await answer.json().catch(() => null);
      if (!answer.ok || !value) throw new Refused(value, answer.status);
      return value;
    }
  }

  const payfurl = {
    init(environment, publicKey, debug) {
      const made = new Payfurl(environment, publicKey, debug);
      window._pf = made;
      return made;
    },
  };
  window.payfurl = payfurl;
  if (typeof define === "function" && define.amd) define([], () => payfurl);
}());
