"""Pytest plugin for both A2A conformance kits: they read no credentials, and look for the card at the host's root.

    A2A_TOKEN   bearer token that goes with every request to the host of the agent
    A2A_AGENT   base URL of the agent; the card is read from there
    A2A_CARD    version of the card to ask for (1.0 for the kit of 1.0); without it the card has the fields of both versions
    A2A_EXTENSIONS  extensions that the client names, except in the kit's tests of what happens when it does not

Use: pytest -p tck_plugin with this folder on PYTHONPATH. Nothing else of the kits is changed, but for one fault of the kit of
1.0: it closes the answer to a refused REST stream and reads its body afterwards, which httpx refuses (ResponseNotRead),
whatever the answer is. Here such a body is read before.
"""

import os
from urllib.parse import urlsplit

AGENT = os.environ["A2A_AGENT"].rstrip("/")
TOKEN = os.environ["A2A_TOKEN"]
CARD = os.environ.get("A2A_CARD")
EXTENSIONS = os.environ.get("A2A_EXTENSIONS")
_names_extensions = bool(EXTENSIONS)
# Off in the kits' tests of a caller without credentials; cards are read with them all the same.
WITHOUT_CREDENTIALS = ("without_auth", "authentication_required", "extended_card_access_controls", "authentication_scheme_validation", "missing_authentication")
_authenticates = True
HOST = urlsplit(AGENT).netloc
# Looked for at the host's root, not below the agent's URL.
CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json", "/v1/card")


def pytest_runtest_setup(item):
    global _names_extensions, _authenticates
    _authenticates = not any(name in item.nodeid for name in WITHOUT_CREDENTIALS)
    _names_extensions = bool(EXTENSIONS) and "missing_required_extension" not in item.nodeid


def _target(url):
    """The card of the agent instead of the host's."""
    parts = urlsplit(str(url))
    if parts.netloc == HOST and parts.path in CARDS:
        return AGENT + parts.path
    return str(url)


def _sends_token(path):
    return _authenticates or "/.well-known/" in path


def _patch_httpx():
    import httpx

    send = httpx.Client.send

    def send_and_read_refusals(self, request, *args, **kwargs):
        response = send(self, request, *args, **kwargs)
        if response.status_code >= 400 and not response.is_closed:
            response.read()
        return response

    httpx.Client.send = send_and_read_refusals
    for cls in (httpx.Client, httpx.AsyncClient):
        build = cls.build_request

        def build_request(self, method, url, *args, _build=build, **kwargs):
            request = _build(self, method, url, *args, **kwargs)
            target = _target(request.url)
            if target != str(request.url):
                request.url = httpx.URL(target)
                if CARD:
                    request.headers.setdefault("A2A-Version", CARD)
            if request.url.netloc.decode() == HOST and _sends_token(request.url.path) and not request.headers.get("authorization"):
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
        if urlsplit(url).netloc == HOST and _sends_token(urlsplit(url).path):
            headers = dict(kwargs.get("headers") or {})
            if not any(name.lower() == "authorization" for name in headers):
                headers["Authorization"] = f"Bearer {TOKEN}"
            kwargs["headers"] = headers
        return send(self, method, url, *args, **kwargs)

    requests.Session.request = request


def _for_agent(request):
    """The agent's id as tenant, as its card says; the kit does not read it there."""
    if hasattr(request, "tenant") and not request.tenant:
        request.tenant = AGENT.rsplit("/", 1)[-1]
    return request


def _patch_grpc():
    try:
        import grpc
    except ImportError:
        return
    insecure = grpc.insecure_channel

    class Bearer(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
        def _with(self, details):
            metadata = list(details.metadata or [])
            if _authenticates:
                metadata.append(("authorization", f"Bearer {TOKEN}"))
            if _names_extensions and not any(name == "a2a-extensions" for name, _ in metadata):
                metadata.append(("a2a-extensions", EXTENSIONS))
            return details._replace(metadata=metadata)

        def intercept_unary_unary(self, continuation, details, request):
            return continuation(self._with(details), _for_agent(request))

        def intercept_unary_stream(self, continuation, details, request):
            return continuation(self._with(details), _for_agent(request))

    def insecure_channel(target, *args, **kwargs):
        return grpc.intercept_channel(insecure(target, *args, **kwargs), Bearer())

    grpc.insecure_channel = insecure_channel


_patch_httpx()
_patch_requests()
_patch_grpc()
