"""A worker whose answers take seconds. `POST /drain` answers 200 when no request has been under way for a second."""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER_SECONDS = 3.0


class Worker(ThreadingHTTPServer):
    daemon_threads = True  # SIGTERM ends requests under way
    request_queue_size = 128

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.busy = 0
        self.idle_since = time.monotonic()


class Handler(BaseHTTPRequestHandler):
    server: Worker

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.busy += 1
        time.sleep(ANSWER_SECONDS)
        self.answer(200)
        with self.server.lock:
            self.server.busy -= 1
            self.server.idle_since = time.monotonic()

    def do_POST(self) -> None:
        with self.server.lock:
            drained = not self.server.busy and time.monotonic() - self.server.idle_since >= 1
        self.answer(200 if drained else 503)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


Worker(int(sys.argv[1])).serve_forever()
