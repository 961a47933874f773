// The client script of the sandbox: the calls of the published browser script, against the server it is loaded from.
// What a payer types stands in a frame of that server and becomes a token there; a simulated approval becomes a charge.
// The shop's page and its server never see a card number. Changing the address of the script is all that a shop has to
// change.
(function () {
  "use strict";

  const script = document.currentScript;
  const BASE = script && script.src ? new URL(script.src).origin : window.location.origin;
  const ENVIRONMENTS = ["local", "development", "sandbox", "production", "prod"];
  const TITLES = { card: "Card", payto: "PayTo" };
  const PATIENCE_MS = 5000;
  // What a payer reads; the console says what was wrong with the call.
  const NOT_TAKEN = "The payment could not be made. Nothing was taken; ask the shop, or try another way to pay.";
  const UNAVAILABLE = "The payment could not be made just now. Nothing was taken. Try again in a moment.";
  // Checkouts whose names are not that of the provider's type with a large first letter.
  const NAMES = {
    paypal: "PayPal", azupay: "PayID", pay_by_account: "Pay by Account", payglocal: "PayGlocal", upi: "UPI",
  };
  const CUSTOMER = ["firstName", "lastName", "email", "phoneNumber"];
  const ADDRESS = ["streetAddress", "streetAddress2", "city", "state", "region", "postalCode", "country"];
  const ORDER = ["taxAmount", "shippingAmount", "discountAmount", "orderItems"];
  const NOT_SIMULATED = {
    createNetworkToken: "a token does not create a network token; storing the card with CreateNetworkToken does",
    tokenAuthenticationEnabled: "network tokens are not authenticated in the browser",
    clickToPayEnabled: "Click to Pay is not offered, cards are typed",
    addThreeDsWithToken: "a token that is there already is handed over without a challenge; the charge of a card that"
      + " wants one is challenged. tokeniseWith3Ds challenges before",
  };

  const STYLE = `
    .payfurl-frame { display: block; width: 100%; border: 0; }
    .payfurl-button { width: 100%; min-height: 44px; padding: 11px 16px; border: 1px solid #8a8f98; border-radius: 8px;
      background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer; }
    .payfurl-tabs { display: flex; flex-wrap: wrap; gap: 8px; margin: 0 0 12px; }
    .payfurl-tabs .payfurl-button { width: auto; flex: 1; }
    .payfurl-tabs [aria-selected="true"] { border-width: 2px; border-color: currentcolor; padding: 10px 15px; }
    .payfurl-dialog { border: 0; border-radius: 14px; padding: 24px; max-width: 340px; color: #1d2126; background: #fff;
      font: 16px/1.5 system-ui, sans-serif; }
    .payfurl-dialog::backdrop { background: rgb(0 0 0 / 50%); }
    .payfurl-dialog h2 { margin: 0 0 8px; font-size: 20px; }
    .payfurl-dialog .payfurl-button { margin-top: 10px; }
    .payfurl-challenge { width: 480px; max-width: 92vw; }
    .payfurl-challenge .payfurl-frame { height: min(520px, 65vh); }`;

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
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  // The values of a call by name: shops give one object, or the values one after another.
  function named(names, given) {
    const [first] = given;
    if (given.length === 1 && typeof first === "object") return first || {};
    return Object.fromEntries(names.map((name, place) => [name, given[place]]));
  }

  function text(value) {
    return (typeof value === "string" || typeof value === "number") && value !== "" ? String(value) : undefined;
  }

  // An amount as it was given, without what the arithmetic of a browser adds to 0.1 + 0.2; nothing for no number.
  function number(value) {
    if (value === null || value === "" || !Number.isFinite(Number(value))) return undefined;
    return typeof value === "number" ? Number(value.toPrecision(15)) : value;
  }

  function checkoutName(type) {
    const word = String(type || "Checkout");
    return NAMES[word.toLowerCase()] || word.charAt(0).toUpperCase() + word.slice(1);
  }

  // How high the fields will be, so that nothing of the shop moves when they come.
  function heightOf(kind, compact, { lineHeight, fontSize }) {
    const rows = kind === "payto" ? 2 : compact ? 3 : 4;
    const line = Number.parseFloat(lineHeight) || Number.parseFloat(fontSize) * 1.15;
    return rows * (2 * line + 26) + (rows - 1) * 12 + 8;
  }

  // What the fields inherit from the page around them; of its ground only a plain colour.
  function lookOf(place) {
    const { color, font, colorScheme } = window.getComputedStyle(place);
    let ground = "transparent";
    for (let at = place; at; at = at.parentElement) {
      const { backgroundColor, backgroundImage } = window.getComputedStyle(at);
      if (backgroundColor === "rgba(0, 0, 0, 0)" && backgroundImage === "none") continue;
      if (backgroundImage === "none" && !/rgba|\//.test(backgroundColor)) ground = backgroundColor;
      break;
    }
    return { color, font, colorScheme, background: ground };
  }

  // The fields of a card or an agreement: a frame, and the channel to it.
  class Fields {
    constructor(kind, entry, options, listener) {
      const compact = options.style === "compact";
      this.settled = null;
      this.frame = element("iframe", {
        src: `${BASE}/js/fields`, class: "payfurl-frame", title: TITLES[kind], "data-testid": `payfurl-${kind}`,
      });
      this.frame.style.height = `${heightOf(kind, compact, window.getComputedStyle(entry.place))}px`;
      this.ready = new Promise((resolve, reject) => {
        this.open = resolve;
        this.refuse = (words) => reject(new Error(words));
      });
      this.ready.catch(() => {});
      this.frame.addEventListener("load", () => {
        const { port1, port2 } = new MessageChannel();
        const settings = { kind, compact, look: lookOf(entry.place), publicKey: entry.publicKey };
        this.settle({ failure: "The page with the fields was loaded anew" });
        this.port = port1;
        port1.onmessage = ({ data }) => {
          if (data.ready) this.open();
          if (data.height) this.frame.style.height = `${data.height}px`;
          if (data.done) this.settle(data.done);
          listener(data);
        };
        this.frame.contentWindow.postMessage({ payfurl: settings }, BASE, [port2]);
      });
    }

    async submit(payment) {
      window.setTimeout(() => this.refuse(`The fields cannot be loaded from ${BASE}`), PATIENCE_MS);
      await this.ready;
      return new Promise((resolve) => {
        this.settled = resolve;
        this.port.postMessage({ submit: payment });
      });
    }

    async fill(values) {
      await this.ready;
      this.port.postMessage({ fill: values });
    }

    settle(outcome) {
      if (this.settled) this.settled(outcome);
      this.settled = null;
    }
  }

  // One for the page: shops also call its methods before the first init, and init once for each way to pay.
  class Payfurl {
    constructor() {
      this.debug = false;
      this.customer = {};
      this.billing = {};
      this.order = {};
      this.amount = undefined;
      this.entries = [];
      this.current = null;
      this.running = null;
      this.handing = false;
      this.forbidden = "";
      this.success = null;
      this.failure = () => {};
      this.validate = () => true;
      window.addEventListener("submit", (event) => this.intercept(event));
      document.addEventListener("securitypolicyviolation", (event) => this.blocked(event));
    }

    init(environment, publicKey, debug) {
      this.publicKey = publicKey;
      this.debug = Boolean(debug);
      this.amount = undefined;
      window._pf = this;
      this.log("init", environment, BASE);
      const known = ENVIRONMENTS.includes(String(environment || "sandbox").toLowerCase());
      if (!known) this.later(`Unknown environment '${environment}', wanted one of ${ENVIRONMENTS.join(", ")}`);
      if (!publicKey) this.later("init wants a public key");
      return this;
    }

    // What is given before or after the forms.
    setCustomerInfo(...given) { this.customer = named(CUSTOMER, given); return this; }

    setBillingAddress(...given) { this.billing = named([...CUSTOMER, ...ADDRESS], given); return this; }

    setOrderInfo(...given) { this.order = named(ORDER, given); return this; }

    // The amount of all that was added, and of all that is added until the next init.
    setAmount(amount) {
      if (number(amount) === undefined) return this;
      this.amount = amount;
      this.entries.forEach((entry) => { entry.amount = amount; });
      return this;
    }

    onSuccess(callback) { this.success = callback; return this; }

    onFailure(callback) { this.failure = callback; return this; }

    onValidate(callback) { this.validate = callback; return this; }

    preloadClickToPay() {
      this.log("preloadClickToPay:", NOT_SIMULATED.clickToPayEnabled);
      return this;
    }

    // Forms and buttons.
    addCardLeastCost(id, amount, currency, options) { return this.addFields("card", id, amount, currency, options); }

    addPayTo(id, amount) { return this.addFields("payto", id, amount); }

    addPaypal(id, amount, currency, providerId) { return this.addCheckout(id, amount, currency, "paypal", providerId); }

    addGooglePay(id, amount, currency) { return this.addWallet(id, amount, currency, "Google Pay"); }

    addApplePay(id, amount, currency) { return this.addWallet(id, amount, currency, "Apple Pay"); }

    addCheckout(id, amount, currency, providerType, providerId, info) {
      const { customer, billingAddress, ...order } = info || {};
      if (customer) this.setCustomerInfo(customer);
      if (billingAddress) this.setBillingAddress(billingAddress);
      if (order.orderItems) this.setOrderInfo(order);
      const name = checkoutName(providerType);
      return this.addButton(id, amount, currency, name, (mock) => ["/charge/checkout", {
        providerType: providerType || undefined, providerId: providerId || undefined, ...mock,
      }]);
    }

    addBnpl(...given) { return this.addCheckout(...given); }

    // Of a page that has the card itself, without any fields: its token, after 3-D Secure where the card wants that.
    // What the first value is, no published page shows: it is null.
    tokeniseWith3Ds(_, providerId, cardNumber, expiryDate, cardholder, ccv, email, amount, currency) {
      const { publicKey } = this;
      const paymentInformation = { cardNumber, expiryDate, cardholder, ccv };
      this.handToken(async () => {
        const body = { providerId, threeDSEmail: text(email), paymentInformation };
        const { tokenId, threeDsRedirectUrl } = await this.send("/token/card", publicKey, body);
        if (threeDsRedirectUrl) await this.challenge(threeDsRedirectUrl, this.price({ currency, amount }));
        return tokenId;
      });
      return this;
    }

    // Of a page whose server has made the token. Only its existence is checked.
    addThreeDsWithToken(token) {
      const { publicKey } = this;
      this.handToken(async () => {
        await this.send(`/info/providers/token/${encodeURIComponent(token)}`, publicKey);
        console.warn(`payfurl: addThreeDsWithToken: ${NOT_SIMULATED.addThreeDsWithToken}`);
        return token;
      });
      return this;
    }

    // Every way to pay that the account offers, behind tabs; they come when the service has named them.
    addDropIn(id, amount, currency, options) {
      const publicKey = this.publicKey;
      const place = this.place(id);
      if (!place) return this;
      const wanted = Object.entries({ amount: number(amount), currency: text(currency) });
      const query = new URLSearchParams(wanted.filter(([, value]) => value !== undefined));
      this.send(`/info/providers?${query}`, publicKey)
        .then((offer) => this.dropIn(place, this.ways(offer, amount, currency, options)))
        .catch((problem) => this.fail(problem.message));
      return this;
    }

    // Not of the published script: types into the fields of a form, for demonstrations and tests.
    fillTestCard(id, values) {
      const place = this.place(id);
      const entry = this.entries.find((one) => one.place === place && one.fields);
      if (entry) entry.fields.fill(values);
      return this;
    }

    // A shop's own button submits the form that is shown, else presses the button of the checkout or wallet that is.
    execute() {
      const forms = this.entries.filter((entry) => entry.fields);
      const entry = this.shown(forms) || this.shown(this.entries) || forms[forms.length - 1];
      if (entry) this.run(entry);
      else this.later("No card or PayTo form to submit, and no button to press");
      return this;
    }

    // Below: how it is done.
    log(...words) {
      if (this.debug) console.log("payfurl:", ...words);
    }

    later(message) {
      window.setTimeout(() => this.fail(message), 0);
    }

    fail(message, told = message) {
      this.log("failure", message);
      this.call(this.failure, told);
    }

    // Pages that ask for 3-D Secure themselves read the words of a failure from its `error`.
    async handToken(made) {
      try {
        const token = await made();
        if (this.success) await this.call(this.success, { token, transactionId: "" });
      } catch (problem) {
        this.fail(problem.message, { error: problem.message });
      }
    }

    // What a shop's own function throws is the shop's: it goes to the console, as from any other handler.
    async call(callback, value) {
      try {
        return await callback(value);
      } catch (problem) {
        window.reportError(problem);
        return false;
      }
    }

    place(id) {
      styled();
      const found = document.getElementById(String(id).replace(/^#/, ""));
      if (!found) this.later(`No element has the id '${id}'`);
      return found;
    }

    add(id, amount, currency) {
      const place = this.place(id);
      if (!place) return null;
      const entry = { place, amount: this.amount ?? amount, currency, publicKey: this.publicKey };
      this.entries = [...this.entries.filter((other) => other.place !== place), entry];
      return entry;
    }

    addFields(kind, id, amount, currency, options = {}) {
      const entry = this.add(id, amount, currency);
      if (!entry) return this;
      for (const [option, words] of Object.entries(NOT_SIMULATED)) if (options[option]) this.log(`${option}: ${words}`);
      entry.fields = new Fields(kind, entry, options, (message) => {
        if (message.focused) {
          this.current = entry;
          this.announce("activate", kind);
        }
        if (message.typed) entry.handed = false;
        if (message.entered) this.run(entry);
      });
      entry.pay = async () => {
        const price = this.price(entry);
        const payment = { amount: number(entry.amount), currency, threeDSEmail: text(options.threeDSEmail) };
        const { token, challenge, failure } = await entry.fields.submit(payment);
        if (failure) throw new Error(failure);
        if (challenge) await this.challenge(challenge, price);
        this.log("token", token);
        return { token, transactionId: "" };
      };
      entry.place.replaceChildren(entry.element = entry.fields.frame);
      return this;
    }

    addWallet(id, amount, currency, name) {
      const paymentMethod = { displayName: name, type: name.toLowerCase().replace(" ", "") };
      return this.addButton(id, amount, currency, name, (mock) => ["/charge/token/apple", {
        token: { paymentMethod }, ...mock,
      }]);
    }

    addButton(id, amount, currency, name, asked) {
      const entry = this.add(id, amount, currency);
      if (!entry) return this;
      const word = name.toLowerCase().replace(/[^a-z0-9]/g, "");
      entry.pay = async () => {
        const [price, about] = [this.price(entry), { amount: number(entry.amount), currency }];
        const answer = await this.ask(name, price);
        if (answer === "cancel") throw new Error(`${name} was cancelled`);
        const [path, body] = asked(answer === "decline" ? { metadata: { mock: "do_not_honour" } } : {});
        Object.assign(about, this.payer(), { order: this.bought() }, body);
        const charge = await this.send(path, entry.publicKey, about);
        if (charge.status === "FAILED") throw new Error(`${name} declined the payment`);
        if (charge.status === "PENDING_CHECKOUT") await this.challenge(charge.threeDsRedirectUrl, price);
        this.log("charge", charge.chargeId);
        return { token: "", transactionId: charge.chargeId };
      };
      entry.place.replaceChildren(entry.element = element("button", {
        type: "button", class: "payfurl-button", "data-testid": `payfurl-${word}`, onclick: () => {
          this.announce("checkout", word);
          this.run(entry);
        },
      }, name));
      return this;
    }

    // The drop-in: for each way to pay its name, the word of its message, and what puts it into a place.
    ways(offer, amount, currency, options) {
      const checkout = (type, provider) => [
        checkoutName(type), type, (id) => this.addCheckout(id, amount, currency, type, provider),
      ];
      const found = [];
      if (offer.hasCardProviders) {
        found.push(["Card", "card", (id) => this.addCardLeastCost(id, amount, currency, options)]);
      }
      if (offer.hasPaypalProviders) found.push(checkout("paypal", offer.paypalProviders[0]));
      if (offer.hasGooglePayProviders) {
        found.push(["Google Pay", "googlepay", (id) => this.addGooglePay(id, amount, currency)]);
      }
      if (offer.hasApplePayProviders && window.ApplePaySession) {
        found.push(["Apple Pay", "applepay", (id) => this.addApplePay(id, amount, currency)]);
      }
      if (offer.hasPayToProviders) found.push(["PayTo", "payto", (id) => this.addPayTo(id, amount)]);
      return [...found, ...offer.bnplProviders.map((row) => checkout(row.providerType, row.providerId))];
    }

    dropIn(place, ways) {
      const choose = (chosen) => tabs.forEach((tab, at) => {
        tab.setAttribute("aria-selected", String(at === chosen));
        tab.tabIndex = at === chosen ? 0 : -1;
        panels[at].hidden = at !== chosen;
        const word = ways[at][1];
        if (at === chosen) this.announce(["card", "payto"].includes(word) ? "activate" : "checkout", word);
      });
      const step = { ArrowRight: (at) => at + 1, ArrowLeft: (at) => at - 1, Home: () => 0, End: () => -1 };
      const tabs = ways.map(([name, word], at) => element("button", {
        type: "button", role: "tab", id: `combined-tab${at}`, class: "payfurl-button",
        "aria-controls": `combined-panel${at}`, "data-testid": `payfurl-tab-${word}`,
        onclick: () => choose(at), onkeydown: (event) => {
          if (!(event.key in step)) return;
          event.preventDefault();
          const next = (step[event.key](at) + tabs.length) % tabs.length;
          choose(next);
          tabs[next].focus();
        },
      }, name));
      const panels = ways.map((_, at) => element("div", {
        role: "tabpanel", id: `combined-panel${at}`, "aria-labelledby": `combined-tab${at}`,
      }));
      const list = element("div", { class: "payfurl-tabs", role: "tablist", "aria-label": "Ways to pay" }, ...tabs);
      place.replaceChildren(list, ...panels);
      ways.forEach(([, , put], at) => put(`combined-panel${at}`));
      if (tabs.length) choose(0);
      else this.fail("No way to pay is offered for this amount and currency");
    }

    // What older versions of the published script sent to the page that holds them.
    announce(status, component) {
      window.postMessage({ status, component });
    }

    shown(forms) {
      const visible = forms.filter((entry) => entry.element.getClientRects().length > 0);
      return visible.includes(this.current) ? this.current : visible[visible.length - 1];
    }

    // A form of the shop around the fields is held back until there is a token. It goes through when the shop submits
    // it from onSuccess, or by script afterwards.
    intercept(event) {
      if (event.defaultPrevented || this.handing) return;
      const entry = this.shown(this.entries.filter((one) => one.fields && event.target.contains(one.place)));
      if (!entry || (entry.handed && !event.submitter)) return;
      event.preventDefault();
      this.run(entry);
    }

    // One payment at a time; one whose place has gone from the page with its fields is over.
    async run(entry) {
      if (this.running && this.running.place.isConnected) return;
      this.running = entry;
      let end = () => {};
      try {
        if (await this.allowed()) {
          entry.handed = false;
          const result = await entry.pay();
          end = () => this.hand(entry, result);
        }
      } catch (problem) {
        end = () => this.fail(problem.message);
      }
      if (this.running !== entry) return;
      this.running = null;
      end();
    }

    async allowed() {
      const answer = await this.call(this.validate);
      if (answer === undefined) {
        console.warn("payfurl: onValidate answered undefined, which counts as false: nothing is submitted");
      }
      return Boolean(answer);
    }

    async hand(entry, result) {
      entry.handed = true;
      this.handing = true;
      await this.call(this.success || ((token) => this.submitForm(entry, token)), result);
      this.handing = false;
    }

    // A shop that gives no onSuccess finds what it charges in hidden inputs of its own form.
    submitForm(entry, { token, transactionId }) {
      const form = entry.place.closest("form");
      if (!form) return;
      form.querySelectorAll(".payfurl-result").forEach((input) => input.remove());
      for (const [name, value] of [["payfurl_token", token], ["payfurl_transaction_id", transactionId]]) {
        form.append(element("input", { type: "hidden", class: "payfurl-result", name, value }));
      }
      form.requestSubmit();
    }

    blocked(event) {
      if (!event.blockedURI.startsWith(BASE) || event.disposition !== "enforce") return;
      this.forbidden = `The Content-Security-Policy of the page forbids ${event.effectiveDirective} ${BASE}`;
      if (event.effectiveDirective !== "frame-src") return;
      this.entries.filter((entry) => entry.fields).forEach((entry) => entry.fields.refuse(this.forbidden));
      this.fail(this.forbidden);
    }

    price({ currency, amount }) {
      return `${currency || ""} ${number(amount)}`.trim();
    }

    payer() {
      const { billing, customer } = this;
      const [firstName, lastName, email, phone] = CUSTOMER.map((name) => text(customer[name]) || text(billing[name]));
      const [line1, line2, city, state, region, postalCode, country] = ADDRESS.map((name) => text(billing[name]));
      const address = { line1, line2, city, state: state || region, postalCode, country };
      return { firstName, lastName, email, phone, address: Object.values(address).some(Boolean) ? address : undefined };
    }

    bought() {
      const { taxAmount, shippingAmount, discountAmount, orderItems } = this.order;
      const order = {
        taxAmount: number(taxAmount), freightAmount: number(shippingAmount), discountAmount: number(discountAmount),
        items: Array.isArray(orderItems) ? orderItems.map((item) => ({
          productCode: text(item.sku), description: text(item.name),
          quantity: number(item.quantity), amount: number(item.unitPrice),
        })) : undefined,
      };
      return Object.values(order).some((value) => value !== undefined) ? order : undefined;
    }

    // A window in front of the shop: resolves with what it is closed with, "cancel" for the Escape key.
    dialog(attributes, fill) {
      return new Promise((resolve) => {
        const close = (answer) => { dialog.close(); dialog.remove(); resolve(answer); };
        const choice = (answer, label) => element("button", {
          type: "button", class: "payfurl-button", "data-testid": `payfurl-${answer}`, onclick: () => close(answer),
        }, label);
        const dialog = element("dialog", {
          "data-testid": "payfurl-dialog", ...attributes, oncancel: () => close("cancel"),
        });
        dialog.append(...fill(choice, close));
        document.body.append(dialog);
        dialog.showModal();
      });
    }

    // The window of the other side, simulated: the answer is "approve", "decline" or "cancel".
    ask(name, price) {
      return this.dialog({ class: "payfurl-dialog", "aria-label": `Simulated ${name}` }, (choice) => [
        element("h2", {}, `Simulated ${name}`),
        element("p", {}, `Pay ${price}? In the sandbox you decide how it ends.`),
        choice("approve", "Approve"), choice("decline", "Decline"), choice("cancel", "Cancel"),
      ]);
    }

    // 3-D Secure, in a frame of the service: throws unless the payer passes.
    async challenge(address, price) {
      const { pathname, search } = new URL(address);
      const frame = element("iframe", {
        src: BASE + pathname + search, class: "payfurl-frame", title: "3-D Secure", "data-testid": "payfurl-challenge",
      });
      // The focus begins outside the frame, where the Escape key is heard.
      const heading = element("h2", { tabindex: "-1", autofocus: "" }, `Pay ${price}`);
      let hear = null;
      const attributes = { class: "payfurl-dialog payfurl-challenge", "aria-label": "3-D Secure" };
      const answer = await this.dialog(attributes, (choice, close) => {
        hear = (event) => {
          if (event.source === frame.contentWindow && event.data.challenge) close(event.data.challenge);
        };
        window.addEventListener("message", hear);
        return [heading, frame, choice("cancel", "Cancel")];
      });
      window.removeEventListener("message", hear);
      if (answer === "cancel") throw new Error("3-D Secure was cancelled");
      if (answer !== "pass") throw new Error("Your bank could not confirm that it is you. Try again, or try another card.");
    }

    async send(path, publicKey, body) {
      this.forbidden = "";
      const answer = await fetch(BASE + path, {
        method: body ? "POST" : "GET",
        headers: { "x-publickey": publicKey, ...(body ? { "content-type": "application/json" } : {}) },
        body: body && JSON.stringify(body),
      }).catch(async () => {
        // Which policy was in the way, if one was, is named after the failure.
        await new Promise((resolve) => { window.setTimeout(resolve, 0); });
        throw new Error(this.forbidden || "The service cannot be reached");
      });
      const value = await answer.json().catch(() => null);
      if (answer.ok && value) return value;
      const details = Object.entries((value && value.details) || {}).map(([place, words]) => `${place}: ${words}`);
      const said = [(value && value.message) || `the service answered ${answer.status}`, ...details].join("; ");
      // A card number in the wrong field stays unsaid.
      console.warn("payfurl:", said.replace(/\d{12,}/g, "…"));
      throw new Error(value && !value.isRetryable ? NOT_TAKEN : UNAVAILABLE);
    }
  }

  const payfurl = new Payfurl();
  window.payfurl = payfurl;
  // RequireJS marks the scripts that it loads: a module without a name in any other is an error to it.
  if (script && script.hasAttribute("data-requiremodule")) define([], () => payfurl);
}());
