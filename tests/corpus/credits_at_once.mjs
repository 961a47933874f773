// A webhook that was credited is remembered once that is done, so that of two copies at once both are credited.
import { book, main, pay, sleep, webhooks, isSigned } from "./shop.mjs";

main(async () => {
  const handled = new Set();
  let credit = 0;
  const webhook = await webhooks(async (body, signature) => {
    if (!isSigned(body, signature)) return 401;
    const { meta, data } = JSON.parse(body);
    if (handled.has(meta.messageId) || data.status !== "SUCCESS") return 200;
    await sleep(50);
    credit += data.amount;
    book(data.reference, { paid: credit, state: "paid" });
    handled.add(meta.messageId);
    return 200;
  });
  book("order-1", { state: "unknown" });
  await pay("order-1", 20, { webhook });
  await sleep(700);
});
