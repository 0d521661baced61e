"""A worker: one thread polls for each agent, and one works on each job."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Callable, Dict, Optional, Sequence, Set, Union

from .api import Api, ApiError, quoted

_LOG = logging.getLogger("cadenza_worker")

_MAX_POLLED = 10
_WAIT_SECONDS = 20
_FIRST_PAUSE = 0.5
_LAST_PAUSE = 30.0
_SHORTEST_BEAT = 1.0
_LONGEST_BEAT = 10.0
_MAX_DETAIL = 2_000


class JobError(Exception):
    """Fails a job with an error of its own; with `retry=False` it is not handed out again."""

    def __init__(
        self,
        detail: str,
        *,
        type: Optional[str] = None,
        title: Optional[str] = None,
        status: Optional[int] = None,
        retry: bool = True,
    ) -> None:
        super().__init__(detail)
        given = {"type": type, "title": title, "status": status}
        self.failure: Dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self.failure["retry"] = retry


class JobCancelled(Exception):
    """Nobody waits for the job any more, or it is another worker's. Raised by `Job.check`."""


class Job:
    """A job that this worker holds. `input` is JSON; `idempotency_key` is the same in each attempt."""

    def __init__(self, api: Api, record: Dict[str, Any]) -> None:
        self._api = api
        self._path = f"/jobs/{quoted(record['id'])}"
        self.id: str = record["id"]
        self.agent_id: str = record["agent_id"]
        self.version: str = record["version"]
        self.input: Any = record["input"]
        self.settings: Dict[str, Any] = record.get("settings", {})
        self.idempotency_key: str = record["idempotency_key"]
        self.attempt: int = record["attempt"]
        # W3C Trace Context, for what the job calls; None if the run is in no trace.
        self.traceparent: Optional[str] = record.get("traceparent")
        self.tracestate: Optional[str] = record.get("tracestate")
        self.cancelled = threading.Event()
        self._ended = threading.Event()
        self._said: Optional[Union[str, float]] = None
        self._used: Dict[str, Any] = {}
        # Not by "lease_expires_at": the clock of this machine may be wrong.
        lease = float(record["lease_seconds"])
        self._every = max(_SHORTEST_BEAT, min(_LONGEST_BEAT, lease / 3))

    def progress(self, said: Union[str, float]) -> None:
        """Tells those who follow the run, with the next heartbeat: a text, or percent."""
        self._said = said

    def used(
        self,
        *,
        input_tokens: Optional[int] = None,
        output_tokens: Optional[int] = None,
        cost_usd: Optional[float] = None,
        model: Optional[str] = None,
    ) -> None:
        """States what the job uses, for budgets and usage, even if it fails. The last statement counts."""
        said = {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "cost_usd": cost_usd,
            "model": model,
        }
        self._used = {name: value for name, value in said.items() if value is not None}

    def check(self) -> None:
        """Raises JobCancelled if the job is to be given up. Call it in long loops."""
        if self.cancelled.is_set():
            raise JobCancelled(self.id)

    def download(self, file_id: str) -> bytes:
        """A file that the input refers to."""
        return self._api.download(f"{self._path}/files/{quoted(file_id)}")

    def upload(
        self, name: str, content: bytes, media_type: str = "application/octet-stream"
    ) -> Dict[str, Any]:
        """Adds a file to the run. Refer to it in the output as `{"file_id": …["id"]}`."""
        return self._api.upload(f"{self._path}/files?name={quoted(name)}", content, media_type)

    def _keep(self) -> None:
        """Sends heartbeats until the job has ended."""
        while not self._ended.wait(self._every):
            said, self._said = self._said, None
            body: Dict[str, Any] = {"attempt": self.attempt}
            if said is not None:
                body["progress"] = said
            try:
                if self._api.post(f"{self._path}/heartbeat", body)["cancelled"]:
                    self.cancelled.set()
            except ApiError as error:
                _LOG.warning("heartbeat of job %s: %s", self.id, error)
                if error.is_final:
                    self.cancelled.set()
            except OSError as error:
                _LOG.warning("heartbeat of job %s: %s", self.id, error)
            if self.cancelled.is_set():
                return

    def _end(self, how: str, body: Dict[str, Any]) -> None:
        """Tries until the server has taken it, or says that it is too late."""
        pause = _FIRST_PAUSE
        more: Dict[str, Any] = {"attempt": self.attempt}
        if self._used:
            more["usage"] = self._used
        while not self.cancelled.is_set():
            try:
                self._api.post(f"{self._path}/{how}", {**body, **more}, timeout=60)
                return
            except ApiError as error:
                _LOG.warning("job %s: %s", self.id, error)
                # An output that does not fit the schema, or is no JSON, fits no better the next time.
                if how == "complete" and error.status in (400, 413, 422):
                    how, body = "fail", {"type": "validation", "detail": error.detail, "retry": False}
                    continue
                if how == "fail" and error.status == 422 and more.pop("usage", None):
                    continue
                if error.is_final:
                    return
            except OSError as error:
                _LOG.warning("job %s: %s", self.id, error)
            self.cancelled.wait(pause)
            pause = min(_LAST_PAUSE, pause * 2)


Handler = Callable[[Job], Any]


class Worker:
    """Pulls jobs of agents. `handler` returns the output of a job; it runs in a thread.

    An exception hands the job out again, unless it is a JobError that says otherwise. `concurrency` is the
    number of jobs of each agent at once.
    """

    def __init__(
        self,
        api: Api,
        agents: Sequence[str],
        handler: Handler,
        *,
        concurrency: int = 1,
        queue: Optional[str] = None,
        name: Optional[str] = None,
    ) -> None:
        self._api = api
        self._agents = list(agents)
        self._handler = handler
        self._concurrency = concurrency
        self._ask: Dict[str, Any] = {"wait_seconds": _WAIT_SECONDS}
        if queue is not None:
            self._ask["queue"] = queue
        if name is not None:
            self._ask["worker"] = name
        self._stopped = threading.Event()
        self._failure: Optional[BaseException] = None

    def stop(self) -> None:
        """Takes no more jobs. `run` returns when those under way have ended; safe in a signal handler."""
        self._stopped.set()

    def run(self) -> None:
        """Works until `stop`. Raises ApiError if the server refuses the worker, as with a revoked token."""
        threads = [threading.Thread(target=self._serve, args=(agent,), daemon=True) for agent in self._agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            # A join without a timeout would keep signals from being handled on some platforms.
            while thread.is_alive():
                thread.join(0.2)
        if self._failure is not None:
            raise self._failure

    def _serve(self, agent: str) -> None:
        try:
            with ThreadPoolExecutor(self._concurrency) as pool:
                self._pull(agent, pool)
        except BaseException as error:  # the thread of `run` raises it
            self._failure = error
            self._stopped.set()

    def _pull(self, agent: str, pool: ThreadPoolExecutor) -> None:
        under_way: Set["Future[None]"] = set()
        pause = _FIRST_PAUSE
        path = f"/agents/{quoted(agent)}/jobs/poll"
        while not self._stopped.is_set():
            under_way = {future for future in under_way if not future.done()}
            free = self._concurrency - len(under_way)
            if free <= 0:
                wait(under_way, timeout=0.5, return_when="FIRST_COMPLETED")
                continue
            try:
                body = {**self._ask, "max": min(_MAX_POLLED, free)}
                jobs = self._api.post(path, body, timeout=_WAIT_SECONDS + 30)
                pause = _FIRST_PAUSE
                under_way.update(pool.submit(self._work, Job(self._api, record)) for record in jobs)
            except ApiError as error:
                if error.is_final:
                    raise
                _LOG.warning("poll of agent %s: %s", agent, error)
                pause = self._rest(pause)
            except OSError as error:
                _LOG.warning("poll of agent %s: %s", agent, error)
                pause = self._rest(pause)

    def _rest(self, pause: float) -> float:
        self._stopped.wait(pause)
        return min(_LAST_PAUSE, pause * 2)

    def _work(self, job: Job) -> None:
        keeper = threading.Thread(target=job._keep, daemon=True)
        keeper.start()
        try:
            job._end("complete", {"output": self._handler(job)})
        except JobCancelled:
            _LOG.info("job %s was given up", job.id)
        except JobError as error:
            job._end("fail", {"detail": str(error)[:_MAX_DETAIL], **error.failure})
        except Exception as error:
            _LOG.exception("job %s", job.id)
            job._end("fail", {"detail": f"{type(error).__name__}: {error}"[:_MAX_DETAIL]})
        finally:
            job._ended.set()
