// Each webhook of a payment gives the customer a dollar back, also one that comes a second time.
import { ask, book, isSigned, main, pay, sleep, webhooks } from "./shop.mjs";

main(async () => {
  let refunded = 0;
  const webhook = await webhooks(async (body, signature) => {
    if (!isSigned(body, signature)) return 401;
    const { data } = JSON.parse(body);
    if (data.status !== "SUCCESS") return 200;
    const { ok } = await ask("DELETE", `/refund/${data.chargeId}?amount=1&comment=cashback`);
    refunded += ok;
    book(data.reference, { paid: 20, refunded });
    return 200;
  });
  book("order-1", { state: "unknown" });
  await pay("order-1", 20, { webhook });
  await sleep(1000);
});
