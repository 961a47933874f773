// A hold is renewed before the old one is voided, so that the money is never free: two holds of one order for a moment.
import { Lost, ask, book, main, pay } from "../shop.mjs";

const hold = async () => {
  try {
    const { ok, said } = await pay("order-1", 80, { capture: false });
    return ok && said.status === "Authorised" ? said.chargeId : undefined;
  } catch (problem) {
    if (!(problem instanceof Lost)) throw problem;
    return undefined;
  }
};

const open = async () => {
  const { said } = await ask("GET", "/charge?Reference=order-1");
  return said.charges.filter(({ status }) => status === "Authorised").map(({ chargeId }) => chargeId);
};

main(async () => {
  book("order-1", { state: "unknown" });
  try {
    const old = (await hold()) ?? (await open())[0];
    if (!old) return 3;
    book("order-1", { state: "held" });
    await hold();
    const holds = await open();
    const left = holds.find((id) => id !== old);
    // One hold stays in any case: the new one, when there is one.
    if (left && !(await ask("DELETE", `/charge/${old}/void`)).ok) return 3;
    return 0;
  } catch (problem) {
    if (!(problem instanceof Lost)) throw problem;
    book("order-1", { state: "unknown" });
    console.log("Please look after the holds of order-1.");
    return 3;
  }
});
