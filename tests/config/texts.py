"""Parts of a configuration file."""

from autoscaler import model
from tests.config.conftest import Load

HEAD = "adapters: {a: {type: groups}}\n"
SCALER = "{name: w, scaleTargetRef: {adapter: a, name: j/g}, maxReplicas: 3, metrics: [%s]%s}"
EXTERNAL = "{type: External, external: {metric: {name: q}, query: %s, target: {type: Value, value: 1}}}"


def scaler(load_text: Load, more: str = "", metric: str = EXTERNAL % "{expr: q}", head: str = HEAD) -> model.Autoscaler:
    """Return the autoscaler of a file with one."""
    (only,) = load_text(f"{head}autoscalers:\n  - {SCALER % (metric, more)}\n").autoscalers
    return only


def query(load_text: Load, text: str, queries: str = "{}") -> model.Query:
    """Return the query of a metric in a file with these shared queries."""
    return scaler(load_text, metric=EXTERNAL % text, head=f"{HEAD}queries: {queries}\n").metrics[0].query
