// As refunds_per_webhook.mjs, but a message that was handled is not handled again.
import { ask, book, isSigned, main, pay, sleep, webhooks } from "./shop.mjs";

main(async () => {
  const handled = new Set();
  let refunded = 0;
  const webhook = await webhooks(async (body, signature) => {
    if (!isSigned(body, signature)) return 401;
    const { meta, data } = JSON.parse(body);
    if (data.status !== "SUCCESS" || handled.has(meta.messageId)) return 200;
    handled.add(meta.messageId);
    const { ok } = await ask("DELETE", `/refund/${data.chargeId}?amount=1&comment=cashback`);
    refunded += ok;
    book(data.reference, { paid: 20, refunded });
    return 200;
  });
  book("order-1", { state: "unknown" });
  await pay("order-1", 20, { webhook });
  await sleep(1000);
});
