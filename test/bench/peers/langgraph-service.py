"""The work as graphs of LangGraph, over HTTP: langgraph-service.py <port> <agent's URL> <PostgreSQL's URL>."""
import sys
import uuid
from contextlib import asynccontextmanager
from typing import TypedDict

import aiohttp
import uvicorn
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

PORT, AGENT, DATABASE = int(sys.argv[1]), sys.argv[2], sys.argv[3]
graphs = {}
http = None
saver = None


class State(TypedDict):
    answer: dict


def call(step):
    async def node(state):
        async with http.post(AGENT, json={"step": step}) as response:
            return {"answer": await response.json()}

    return node


async def wait(state):
    interrupt("Go?")
    return {}


def chain(nodes):
    builder = StateGraph(State)
    before = START
    for index, node in enumerate(nodes):
        name = f"node{index}"
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, END)
    return builder.compile(checkpointer=saver)


async def invoke(graph, thread, value):
    config = {"configurable": {"thread_id": thread}, "recursion_limit": 1000}
    await graph.ainvoke(value, config, durability="sync")
    return JSONResponse({"thread": thread})


async def run(request):
    return await invoke(graphs[request.path_params["steps"]], str(uuid.uuid4()), {"answer": {}})


async def ask(request):
    return await invoke(graphs["ask"], str(uuid.uuid4()), {"answer": {}})


async def decide(request):
    return await invoke(graphs["ask"], request.path_params["thread"], Command(resume="approve"))


async def list_runs(request):
    """One checkpoint of each run: that of its input."""
    limit = int(request.query_params["limit"])
    found = saver.alist(None, filter={"step": -1}, limit=limit)
    return JSONResponse([
        {"thread": each.config["configurable"]["thread_id"], "at": each.checkpoint["ts"]}
        async for each in found
    ])


@asynccontextmanager
async def lifespan(app):
    global http, saver
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with (
        aiohttp.ClientSession() as http,
        AsyncConnectionPool(DATABASE, min_size=2, max_size=16, kwargs=options, open=False) as pool,
    ):
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        for steps in (1, 10, 100):
            graphs[str(steps)] = chain([call(step) for step in range(steps)])
        graphs["ask"] = chain([wait, call(0)])
        yield


app = Starlette(
    lifespan=lifespan,
    routes=[
        Route("/run/{steps}", run, methods=["POST"]),
        Route("/ask", ask, methods=["POST"]),
        Route("/decide/{thread}", decide, methods=["POST"]),
        Route("/runs", list_runs),
    ],
)
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="error")
