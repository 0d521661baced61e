"""Pytest plugin for both A2A conformance kits: they read no credentials, and look for the card at the host's root.

    A2A_TOKEN   bearer token that goes with every request to the host of the agent
    A2A_AGENT   base URL of the agent; the card is read from there
    A2A_CARD    version of the card to ask for (1.0 for the kit of 1.0); without it the card has the fields of both versions
    A2A_EXTENSIONS  extensions that the client names, except in the kit's tests of what happens when it does not

Use: pytest -p tck_plugin with this folder on PYTHONPATH. Nothing else of the kits is changed.
"""

import os
from urllib.parse import urlsplit

AGENT = os.environ["A2A_AGENT"].rstrip("/")
TOKEN = os.environ["A2A_TOKEN"]
CARD = os.environ.get("A2A_CARD")
EXTENSIONS = os.environ.get("A2A_EXTENSIONS")
_names_extensions = bool(EXTENSIONS)
# Off in the kit's test of a caller without credentials.
_authenticates = True
HOST = urlsplit(AGENT).netloc
# Looked for at the host's root, not below the agent's URL.
CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json", "/v1/card")


def pytest_runtest_setup(item):
    global _names_extensions, _authenticates
    _authenticates = "without_auth" not in item.nodeid
    _names_extensions = bool(EXTENSIONS) and "missing_required_extension" not in item.nodeid


def _target(url):
    """The card of the agent instead of the host's."""
    parts = urlsplit(str(url))
    if parts.netloc == HOST and parts.path in CARDS:
        return AGENT + parts.path
    return str(url)


def _patch_httpx():
    import httpx

    for cls in (httpx.Client, httpx.AsyncClient):
        build = cls.build_request

        def build_request(self, method, url, *args, _build=build, **kwargs):
            request = _build(self, method, url, *args, **kwargs)
            target = _target(request.url)
            if target != str(request.url):
                request.url = httpx.URL(target)
                if CARD:
                    request.headers.setdefault("A2A-Version", CARD)
            if request.url.netloc.decode() == HOST and _authenticates and not request.headers.get("authorization"):
                request.headers["authorization"] = f"Bearer {TOKEN}"
            if request.url.netloc.decode() == HOST and _names_extensions:
                request.headers.setdefault("A2A-Extensions", EXTENSIONS)
            return request

        cls.build_request = build_request


def _patch_requests():
    try:
        import requests
    except ImportError:
        return
    send = requests.Session.request

    def request(self, method, url, *args, **kwargs):
        url = _target(url)
        if urlsplit(url).netloc == HOST and _authenticates:
            headers = dict(kwargs.get("headers") or {})
            if not any(name.lower() == "authorization" for name in headers):
                headers["Authorization"] = f"Bearer {TOKEN}"
            kwargs["headers"] = headers
        return send(self, method, url, *args, **kwargs)

    requests.Session.request = request


def _patch_grpc():
    try:
        import grpc
    except ImportError:
        return
    insecure = grpc.insecure_channel

    class Bearer(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
        def _with(self, details):
            metadata = list(details.metadata or []) + ([("authorization", f"Bearer {TOKEN}")] if _authenticates else [])
            return details._replace(metadata=metadata) if hasattr(details, "_replace") else details

        def intercept_unary_unary(self, continuation, details, request):
            return continuation(self._with(details), request)

        def intercept_unary_stream(self, continuation, details, request):
            return continuation(self._with(details), request)

    def insecure_channel(target, *args, **kwargs):
        return grpc.intercept_channel(insecure(target, *args, **kwargs), Bearer())

    grpc.insecure_channel = insecure_channel


_patch_httpx()
_patch_requests()
_patch_grpc()
