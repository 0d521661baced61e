"""The work as flows of Prefect, over HTTP: prefect-service.py <port> <agent's URL>."""
import asyncio
import sys
from contextlib import asynccontextmanager

import httpx
import uvicorn
from prefect import flow, pause_flow_run, task
from prefect.runtime import flow_run
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

PORT, AGENT = int(sys.argv[1]), sys.argv[2]
http = None
asking = set()


@task(persist_result=True)
async def call(step: int):
    return (await http.post(AGENT, json={"step": step})).json()


@flow(persist_result=True)
async def sequence(steps: int):
    for step in range(steps):
        await call(step)


@flow(persist_result=True)
async def question(started: asyncio.Queue):
    started.put_nowait(flow_run.id)
    # Seconds are the unit of this interval, and ten of them its default.
    await pause_flow_run(timeout=3600, poll_interval=1)
    await call(0)


async def run(request):
    await sequence(int(request.path_params["steps"]))
    return JSONResponse({})


async def ask(request):
    started = asyncio.Queue()
    running = asyncio.create_task(question(started))
    asking.add(running)
    running.add_done_callback(asking.discard)
    return JSONResponse({"id": str(await started.get())})


@asynccontextmanager
async def lifespan(app):
    global http
    async with httpx.AsyncClient() as http:
        yield


app = Starlette(
    lifespan=lifespan,
    routes=[Route("/run/{steps}", run, methods=["POST"]), Route("/ask", ask, methods=["POST"])],
)
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="error")
