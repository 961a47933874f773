// A webhook that is being worked on has a lock: a copy that comes meanwhile is answered 409, and comes again later.
import { book, isSigned, main, pay, sleep, webhooks } from "../shop.mjs";

main(async () => {
  const underWay = new Set();
  const handled = new Set();
  let credit = 0;
  const webhook = await webhooks(async (body, signature) => {
    if (!isSigned(body, signature)) return 401;
    const { meta, data } = JSON.parse(body);
    if (underWay.has(meta.messageId)) return 409;
    if (handled.has(meta.messageId) || data.status !== "SUCCESS") return 200;
    underWay.add(meta.messageId);
    await sleep(50);
    credit += data.amount;
    book(data.reference, { paid: credit, state: "paid" });
    handled.add(meta.messageId);
    underWay.delete(meta.messageId);
    return 200;
  });
  book("order-1", { state: "unknown" });
  await pay("order-1", 20, { webhook });
  await sleep(700);
});
