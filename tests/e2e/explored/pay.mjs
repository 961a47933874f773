// Pays for the order of its argument; a lost payment is looked up before it is sent again. Wanted: a URL and a key.
const [url, key, reference] = process.argv.slice(2);
const card = { cardNumber: "4111111111111111", expiryDate: "12/40", ccv: "123" };
const order = { providerId: "a26c371f-94f6-40da-add2-28ec8e9da8ed", reference, amount: 20, paymentInformation: card };

async function ask(method, path, body) {
  const headers = { "x-secretkey": key, "content-type": "application/json" };
  const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  return answer.json();
}

async function pay() {
  try {
    return await ask("POST", "/charge/card", order);
  } catch {
    const found = await ask("GET", `/charge?Reference=${reference}`);
    return found.charges[0] ?? (await ask("POST", "/charge/card", order));
  }
}

process.exit((await pay()).status === "SUCCESS" ? 0 : 1);
