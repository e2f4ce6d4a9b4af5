"""`autoscaler shadow`: compares a target with its dry run."""

from autoscaler.cli.options import ConfigFile, HttpConfigFile, Name, OutputForm, ServerUrl, Since, Until, span
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import DocumentSource, Where
from autoscaler.cli.tables.shadow import shadow_rows


def shadow(
    name: Name,
    *,
    since: Since = "24h",
    until: Until = "0",
    output: OutputForm = Form.TEXT,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Compare a target with the shadow of its dry run: the size that the decisions would have led to.

    Shows instance-hours, time above target, time at the maximum, changes of size and of direction, for at most
    state.detail (2d).
    """
    begin, end = span(since, until)
    with exit_on_error(), DocumentSource(Where(server, http_config_file, config_file)) as source:
        found = source.shadow(name, begin, end)
        if output is not Form.TEXT:
            show_document(found, output)
            return
        show(list(shadow_rows(found, screen())))
