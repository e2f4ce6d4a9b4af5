"""A clock of PostgreSQL that a test can set while its clients run.

For sessions a function of this name takes precedence over PostgreSQL's own.
"""

from typing import Final

import psycopg

_INSTALL: Final = """
CREATE SCHEMA stepped;
CREATE TABLE stepped.clock (ahead interval);
INSERT INTO stepped.clock VALUES ('0');
CREATE FUNCTION stepped.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM stepped.clock';
ALTER DATABASE postgres SET search_path = public, stepped, pg_catalog;
"""


def install(url: str) -> None:
    """Install it for later sessions of the database `postgres`. It shows the machine's time until it is set."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_INSTALL)


def set_clock(url: str, seconds: float) -> None:
    """Set how far it is ahead of the machine's clock from now on."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE stepped.clock SET ahead = make_interval(secs => %s)", (seconds,))
