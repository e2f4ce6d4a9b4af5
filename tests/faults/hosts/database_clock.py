"""The clock of a PostgreSQL as a test sets it, while its clients run.

Sessions find a function of this name before PostgreSQL's own where a statement does not say which one it means.
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
    """For sessions of the database `postgres` that begin from now on. It is not set yet."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_INSTALL)


def set_clock(url: str, seconds: float) -> None:
    """Have it so far ahead of the machine's own from now on."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE stepped.clock SET ahead = make_interval(secs => %s)", (seconds,))
