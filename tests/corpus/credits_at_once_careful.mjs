// As credits_at_once.mjs, but a webhook is remembered before it is credited: of two copies one finds it.
import { book, main, pay, sleep, webhooks, isSigned } from "./shop.mjs";

main(async () => {
  const handled = new Set();
  let credit = 0;
  const webhook = await webhooks(async (body, signature) => {
    if (!isSigned(body, signature)) return 401;
    const { meta, data } = JSON.parse(body);
    if (handled.has(meta.messageId) || data.status !== "SUCCESS") return 200;
    handled.add(meta.messageId);
    await sleep(50);
    credit += data.amount;
    book(data.reference, { paid: credit, state: "paid" });
    return 200;
  });
  book("order-1", { state: "unknown" });
  await pay("order-1", 20, { webhook });
  await sleep(700);
});
