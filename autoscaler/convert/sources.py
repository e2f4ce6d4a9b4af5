"""The sources of Prometheus that imported queries are sent to, and their names in `prometheus`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from autoscaler.convert.blocks import Source
from autoscaler.convert.imported import MAX_NAME, Imported
from autoscaler.fields.queries import DEFAULT_SOURCE


def with_sources(imported: Sequence[Imported]) -> Sequence[Imported]:
    """Return each with the names of its queries' sources, and with what its operator writes for them.

    The source of most queries is the default one. Two servers, tenants or credentials never have one name.
    """
    names = _names(metric.server for each in imported for metric in each.block.metrics if metric.server is not None)
    return [_named(each, names) for each in imported]


def _names(sources: Iterable[Source]) -> Mapping[Source, str]:
    ordered = [source for source, _ in Counter(sources).most_common()]
    return {
        source: DEFAULT_SOURCE if number == 1 else f"prometheus-{number}" for number, source in enumerate(ordered, 1)
    }


def _named(imported: Imported, names: Mapping[Source, str]) -> Imported:
    metrics, said = [], dict[str, None]()
    for metric in imported.block.metrics:
        if metric.server is None:
            metrics.append(metric)
            continue
        name = names[metric.server]
        used = None if name == DEFAULT_SOURCE else name
        metrics.append(replace(metric, query=replace(metric.query, source=used)))
        said[f"it reads {_shown(metric.server)}: name that source {name} in `prometheus`"] = None
    return replace(imported, block=replace(imported.block, metrics=metrics), todo=[*imported.todo, *said])


def _shown(source: Source) -> str:
    """Return the source without values, which may be secrets."""
    keys = [key[:MAX_NAME] for key, _ in source.options]
    return source.address + (f" with its {', '.join(keys)}" if keys else "")
