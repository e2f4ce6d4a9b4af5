"""Users of the page, and what they send."""

import base64

import bcrypt

from autoscaler.config.settings import WebSettings
from tests.servers.certificates import Authority

PAUSE = "/api/v1/autoscalers/web/pause"
ANN, PASSWORD = "ann", "correct horse"
OPERATOR = WebSettings(operators=(ANN,))
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
USERS = f"basic_auth_users:\n  {ANN}: {HASH}\n"
WITH_READER = f"{USERS}  scraper: {HASH}\n"


def tls(authority: Authority, *more: str) -> str:
    pair = authority.sign("server", "127.0.0.1", "localhost")
    return "\n".join(["tls_server_config:", f"  cert_file: {pair.cert}", f"  key_file: {pair.key}", *more, ""])


def basic(given: bytes) -> str:
    return "Basic " + base64.b64encode(given).decode()
