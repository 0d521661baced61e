"""A graph that does what its input says, without any model of language outside."""

import asyncio

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState, total=False):
    do: str
    answer: object
    steps: int


async def work(state: State):
    do = state.get("do", "talk")
    if do == "fail":
        raise ValueError("the tank is empty")
    if do == "wait":
        get_stream_writer()({"progress": "waiting"})
        await asyncio.sleep(600)
    if do == "slow":
        get_stream_writer()("half done")
        await asyncio.sleep(8)
    return {"steps": state.get("steps", 0) + 1}


def ask(state: State):
    do = state.get("do")
    if do == "text":
        return {"answer": interrupt("Which colour?")}
    if do == "form":
        properties = {"colour": {"type": "string"}}
        question = {"type": "object", "properties": properties, "required": ["colour"]}
        return {"answer": interrupt({"question": "Which colour?", "form": question})}
    if do == "review":
        request = {"name": "pay", "args": {"amount": 5}, "description": "Pays somebody"}
        allowed = {"action_name": "pay", "allowed_decisions": ["approve", "edit", "reject"]}
        return {"answer": interrupt({"action_requests": [request], "review_configs": [allowed]})}
    return {}


async def talk(state: State):
    model = GenericFakeChatModel(messages=iter([AIMessage("Hello from the graph")]))
    return {"messages": [await model.ainvoke(state["messages"] or "hello")]}


builder = StateGraph(State)
for node in (work, ask, talk):
    builder.add_node(node)
builder.add_edge(START, "work")
builder.add_edge("work", "ask")
builder.add_edge("ask", "talk")
builder.add_edge("talk", END)
graph = builder.compile()
