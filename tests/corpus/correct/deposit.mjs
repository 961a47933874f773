// Half of the price is paid as a deposit, and the other half, which is as much, under the same reference. A half that
// is not answered is looked for: only when it is found the next one follows.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, book, main, pay, square } from "../shop.mjs";

const HALF = 20;

async function halvesPaid() {
  const { said } = await ask("GET", "/charge?Reference=trip-1");
  return said.charges.filter(({ status, amount }) => status === "SUCCESS" && amount === HALF).length;
}

async function payHalf(number) {
  try {
    const { said } = await pay("trip-1", HALF);
    return said.status === "SUCCESS" && said.amount === HALF;
  } catch {
    return (await halvesPaid()) === number;
  }
}

async function trade() {
  try {
    writeFileSync(join(process.env.MOCKSERVER_RUN_DIR, "begun"), "", { flag: "wx" });
  } catch {
    return;
  }
  book("trip-1", { state: "unknown" });
  if ((await payHalf(1)) && (await payHalf(2))) book("trip-1", { paid: 2 * HALF, state: "paid" });
}

main(
  () => trade().catch(() => undefined),
  async () => book("trip-1", await square("trip-1", HALF, HALF)),
);
