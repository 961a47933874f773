"""The ticker keeps no sandbox alive that was reset."""

import asyncio
import gc

from mockserver.engine.sandbox import Sandbox
from mockserver.web.runner import Ticker
from tests.driving import Api

RESETS = 300


def test_sandboxes_that_were_reset_are_forgotten() -> None:
    api = Api(clock="real")

    async def story() -> None:
        world = api.app.world
        runner = world.runner
        runner.ticker = ticker = Ticker(runner, world.sandboxes.is_live)
        world.sandboxes.on_leave = ticker.forget
        for _ in range(RESETS):
            await api.calling("POST", "/charge/card", shop_charge())
            await api.calling("POST", "/__admin/reset", {})

    def shop_charge() -> dict[str, object]:
        card = {"cardNumber": "4111111111111111", "expiryDate": "12/40"}
        return {
            "amount": 5,
            "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
            "paymentInformation": card,
            "capture": False,
        }

    # Sandboxes of other tests in this process are not counted.
    gc.freeze()
    asyncio.run(story())
    gc.collect()
    alive = sum(isinstance(found, Sandbox) for found in gc.get_objects())
    assert alive < RESETS / 2
