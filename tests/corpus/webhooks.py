"""Where webhooks of the shops in Python arrive."""

import base64
import hashlib
import hmac
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic, sleep

answered = []
"""When each webhook was answered."""


@contextmanager
def webhooks(take, port=0):
    """Where webhooks arrive, on a free port unless one is given: each is given to ``take(body,
    signature)``, which returns the status to answer with."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(take(body, self.headers["x-payfurl-signature"]))
            self.end_headers()
            answered.append(monotonic())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield {"url": f"http://127.0.0.1:{server.server_port}/webhooks"}
        server.shutdown()


def wait_until_quiet(count=1, longest=5):
    """Wait until so many webhooks have come, and then until no more come; so many seconds at
    most."""
    end = monotonic() + longest
    while monotonic() < end:
        if len(answered) >= count and monotonic() - answered[-1] > 0.5:
            return
        sleep(0.02)


def is_signed(body, signature):
    """Whether the service has signed a webhook."""
    digest = hmac.new(b"mockserver-webhook-key", body, hashlib.sha256).digest()
    return hmac.compare_digest(base64.b64encode(digest).decode(), signature or "")
