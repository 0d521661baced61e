"""Requests to Cadenza's API, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Optional

_USER_AGENT = "cadenza-worker-python/0.1.0"


class ApiError(Exception):
    """The server has refused a request. `code` is stable; `detail` is a sentence for people."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail

    @property
    def is_final(self) -> bool:
        """Whether trying again gives the same answer."""
        return 400 <= self.status < 500 and self.status not in (408, 429)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token goes to the configured server only."""

    def redirect_request(self, *_args: Any, **_named: Any) -> None:
        return None


class Api:
    """`token`: of a worker, or an access token of somebody who may change the agents."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirect)

    def post(self, path: str, body: Any, *, timeout: float = 30) -> Any:
        """Raises ApiError for a refusal, OSError if the server cannot be reached."""
        data = json.dumps(body).encode()
        return _answer(self._send("POST", path, data, "application/json", timeout))

    def download(self, path: str, *, timeout: float = 300) -> bytes:
        return self._send("GET", path, None, None, timeout)

    def upload(self, path: str, content: bytes, media_type: str, *, timeout: float = 300) -> Any:
        return _answer(self._send("POST", path, content, media_type, timeout))

    def _send(
        self, method: str, path: str, data: Optional[bytes], media_type: Optional[str], timeout: float
    ) -> bytes:
        request = urllib.request.Request(self._url + path, data=data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("User-Agent", _USER_AGENT)
        if media_type is not None:
            request.add_header("Content-Type", media_type)
        try:
            with self._opener.open(request, timeout=timeout) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error.code, _beginning(error)) from None
        except http.client.HTTPException as error:
            # The connection has ended in the middle of an answer, or it is none of HTTP.
            raise ConnectionError(f"no whole answer: {error!r}") from error


def _answer(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise ConnectionError(f"the answer is not JSON: {body[:200]!r}") from error


def _beginning(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(64 * 1024)
    except (OSError, http.client.HTTPException):
        return b""


def _refusal(status: int, body: bytes) -> ApiError:
    try:
        problem = json.loads(body)
        return ApiError(status, str(problem.get("code", "")), str(problem.get("detail", "")))
    except (ValueError, AttributeError):
        return ApiError(status, "unknown", body[:200].decode("utf-8", "replace"))


def quoted(text: str) -> str:
    """A segment of a path."""
    return urllib.parse.quote(text, safe="")
