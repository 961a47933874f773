// The demo shop's own script: what a shop writes around the client script.
(function () {
  "use strict";

  const CARDS = {
    Approved: "4111111111111111",
    "Insufficient funds": "4000000000009995",
    "Do not honour": "4000000000000002",
    "3-D Secure": "4000000000003220",
  };
  const byId = (id) => document.getElementById(id);
  const order = byId("order");
  const total = document.querySelector("[data-price]");
  const failure = byId("failure");
  const { currency } = total.dataset;
  const amount = () => (Number(total.dataset.price) * Number(byId("quantity").value)).toFixed(2);

  const pay = window.payfurl.init("sandbox", order.dataset.key, false)
    .addCardLeastCost("card-form", amount(), currency, { style: "compact" })
    .addPayTo("payto-form", amount())
    .addPaypal("paypal", amount(), currency)
    .addGooglePay("googlepay", amount(), currency)
    .addApplePay("applepay", amount(), currency)
    .addCheckout("zip", amount(), currency, "Zip", "", {}, {})
    .setCustomerInfo({ firstName: "Ann", lastName: "Example", email: "ann@example.com", phoneNumber: "+61400000000" })
    .onValidate(() => { failure.hidden = true; return true; })
    .onFailure((message) => { failure.textContent = message; failure.hidden = false; })
    .onSuccess(({ token, transactionId }) => {
      order.elements.token.value = token;
      order.elements.transactionId.value = transactionId;
      order.requestSubmit();
    });

  function choose(way) {
    for (const tab of document.querySelectorAll("[data-way]")) {
      const on = tab.dataset.way === way;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      byId(tab.dataset.way).hidden = !on;
    }
    byId("buy").hidden = way === "wallets";
  }

  function show() {
    total.textContent = `${currency} ${amount()}`;
    pay.setAmount(amount());
  }

  // One stop of the Tab key for all ways to pay; the arrow keys, Home and End go from one to the next.
  const ways = [...document.querySelectorAll("[data-way]")];
  const STEPS = { ArrowRight: (place) => place + 1, ArrowLeft: (place) => place - 1, Home: () => 0, End: () => -1 };
  for (const [place, tab] of ways.entries()) {
    tab.addEventListener("click", () => choose(tab.dataset.way));
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      const next = ways.at(STEPS[event.key](place) % ways.length);
      choose(next.dataset.way);
      next.focus();
    });
  }
  for (const chip of document.querySelectorAll("[data-card]")) {
    chip.addEventListener("click", () => {
      const card = { cardNumber: CARDS[chip.dataset.card], expiryDate: "12/40", ccv: "123", cardholder: "Ann Example" };
      pay.fillTestCard("card-form", card);
    });
  }
  byId("quantity").addEventListener("change", show);
  byId("buy").addEventListener("click", () => pay.execute());
  show();
  choose("card");
}());
