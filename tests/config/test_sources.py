"""How a source is authenticated to, as the file writes it."""

from pathlib import Path

from autoscaler.config.authentication import HeaderFile, OAuth2, SigV4, Tls
from autoscaler.config.settings import PrometheusSource
from tests.config.conftest import Load


def test_tokens_signatures_and_headers_from_files_are_loaded(load_text: Load, tmp_path: Path) -> None:
    """The files are named in warnings when they are missing."""
    settings = load_text(
        "autoscalers: []\nprometheus:\n"
        "  a: {url: 'http://h', sigv4: {region: eu-west-1, profile: p, roleArn: 'arn:aws:iam::123456789012:role/r', "
        "externalId: e7}, headers: {X-Key: {valueFile: key}, X-Scope-OrgID: t}}\n"
        "  b: {url: 'http://h', oauth2: {clientId: c, clientSecretFile: s, tokenUrl: 'https://i/token', "
        "scopes: [read], endpointParams: {audience: m}, tls: {caFile: ca}}}\n"
    )
    assert settings.prometheus == {
        "a": PrometheusSource(
            "http://h",
            sigv4=SigV4("eu-west-1", "aps", "p", "arn:aws:iam::123456789012:role/r", "e7"),
            headers={"X-Key": HeaderFile(tmp_path / "key"), "X-Scope-OrgID": "t"},
        ),
        "b": PrometheusSource(
            "http://h",
            oauth2=OAuth2("c", tmp_path / "s", "https://i/token", ("read",), {"audience": "m"}, Tls(tmp_path / "ca")),
        ),
    }
    assert [each.path for each in settings.warnings] == [
        "prometheus.a.headers.X-Key.valueFile",
        "prometheus.b.oauth2.clientSecretFile",
        "prometheus.b.oauth2.tls.caFile",
    ]
