// Webhooks are stored and answered 200 at once; a worker verifies what was stored, and believes what was signed.
import { Lost, book, isSigned, main, pay, sleep, webhooks } from "../shop.mjs";

main(async () => {
  const stored = [];
  const webhook = await webhooks((body, signature) => {
    stored.push({ body, signature });
    return 200;
  });
  book("order-1", { state: "unknown" });
  try {
    await pay("order-1", 20, { webhook });
  } catch (problem) {
    if (!(problem instanceof Lost)) throw problem;
  }
  let paid = false;
  for (let turn = 0; turn < 20 && !paid; turn += 1) {
    await sleep(100);
    const believed = stored.filter(({ body, signature }) => isSigned(body, signature));
    paid = believed.some(({ body }) => JSON.parse(body).data.status === "SUCCESS");
  }
  if (paid) book("order-1", { paid: 20, state: "paid" });
  return paid ? 0 : 3;
});
