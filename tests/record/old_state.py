"""Where a state of schema version 1 is put, and what today's daemon recalls of it."""

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from sqlalchemy import MetaData, create_engine

from autoscaler.model import Autoscaler, History, TargetRef
from autoscaler.record import State
from tests.record import version1

CONTENTS = version1.contents()
END = datetime.fromisoformat(CONTENTS["end"])


def scaler(name: str) -> Autoscaler:
    """One with this name and its target: what a memory belongs to."""
    target = {key: value for key, value in CONTENTS["scalers"][name]["target"].items() if key != "is"}
    return Autoscaler(name, TargetRef(**target), 1, 10, ())


OLD_CONNECTIONS = sorted({scaler(name).target.adapter for name in CONTENTS["scalers"]})


def recalled(state: State, names: Iterable[str] = CONTENTS["scalers"]) -> Mapping[str, History]:
    """What these autoscalers remember, each by a ledger of its connection."""
    scalers = [scaler(name) for name in names]
    ledgers = {connection: state.ledger(connection) for connection in {each.target.adapter for each in scalers}}
    return {each.name: ledgers[each.target.adapter].recall([each])[each.name] for each in scalers}


def plant(folder: Path) -> Path:
    """Write the old state into a folder as `state.db`."""
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "state.db"
    file.write_bytes(version1.state())
    return file


def alter(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def plant_tables(url: str, folder: Path) -> None:
    """The same state on PostgreSQL: every table and row of the file."""
    source = create_engine(f"sqlite:///{plant(folder)}")
    target = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    tables = MetaData()
    tables.reflect(source)
    for table in tables.tables.values():
        for column in table.columns:
            column.type = column.type.as_generic()
    tables.create_all(target)
    with source.connect() as reading, target.begin() as writing:
        for table in tables.tables.values():
            if rows := [row._asdict() for row in reading.execute(table.select())]:
                writing.execute(table.insert(), rows)
    source.dispose()
    target.dispose()


def dump(file: Path) -> list[str]:
    connection = sqlite3.connect(file)
    lines = list(connection.iterdump())
    connection.close()
    return lines


def dump_of(content: bytes, folder: Path) -> list[str]:
    file = folder / "given.db"
    file.write_bytes(content)
    return dump(file)
