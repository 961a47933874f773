"""Where webhooks of a shop arrive: a small HTTP server on the loopback address, on a free port
unless one is given."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Receiver:
    """Gives each webhook to ``take(body, signature)`` and answers with the status that it
    returns."""

    def __init__(self, port=0):
        self.take = lambda body, signature: 200

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler):
                body = handler.rfile.read(int(handler.headers["content-length"]))
                handler.send_response(self.take(body, handler.headers["x-payfurl-signature"]))
                handler.end_headers()

            def log_message(handler, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/webhooks"
        # How long the end waits at most, in seconds.
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
