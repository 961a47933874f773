// A shop that runs on: POST /orders/<order>?amount=20.00 takes a payment and says "paid" or "declined".
// With CARELESS set it sends a lost payment again without a look.
import { createServer } from "node:http";

const { MOCKSERVER_URL, MOCKSERVER_SECRET_KEY, CARELESS, PORT = "0" } = process.env;
const card = { cardNumber: "4111111111111111", expiryDate: "12/40", ccv: "123" };
const providerId = "a26c371f-94f6-40da-add2-28ec8e9da8ed";

async function ask(method, path, body) {
  const answer = await fetch(MOCKSERVER_URL + path, {
    method,
    headers: { "x-secretkey": MOCKSERVER_SECRET_KEY, "content-type": "application/json" },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(5000),
  });
  return answer.json();
}

async function buy(reference, amount) {
  for (let number = 0; number < 3; number++) {
    try {
      const charge = await ask("POST", "/charge/card", { providerId, reference, amount, paymentInformation: card });
      return charge.status === "SUCCESS" ? "paid" : "declined";
    } catch {
      if (CARELESS) continue;
      const found = await ask("GET", `/charge?Reference=${encodeURIComponent(reference)}`);
      if (found.charges.some((charge) => charge.status === "SUCCESS")) return "paid";
    }
  }
  return "declined";
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://shop");
  response.end((await buy(pathname.split("/").pop(), searchParams.get("amount"))) + "\n");
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
