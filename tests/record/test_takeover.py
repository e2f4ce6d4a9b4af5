import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from autoscaler.errors import StateError
from autoscaler.model import Autoscaler
from autoscaler.record import Archive, Retention, State
from autoscaler.record.binary import Binary
from tests.record import version1
from tests.record.version1 import plain

_SCALERS = Binary[Autoscaler](Autoscaler)
