"""Talks to an agent with the official Python client of whichever version is installed: 1.x or 0.3.

    A2A_AGENT, A2A_TOKEN as in tck_plugin.py; prints one JSON line {"version", "task", "state", "text", "streamed"}.
"""

import asyncio
import json
import os
import uuid
from importlib.metadata import version

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory

AGENT, TOKEN = os.environ["A2A_AGENT"].rstrip("/"), os.environ["A2A_TOKEN"]
MESSAGE_ID = f"tck-complete-task-{uuid.uuid4()}"


async def legacy(client):
    from a2a.types import Message, Part, Role, TextPart

    message = Message(message_id=MESSAGE_ID, role=Role.user, parts=[Part(root=TextPart(text="Ada"))])
    seen, task = [], None
    async for event in client.send_message(message):
        task, update = event
        seen.append(type(update).__name__ if update else "Task")
    return task.id, task.status.state.value, task.artifacts[0].parts[0].root.text, seen


async def current(client):
    from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest, TaskState

    message = Message(message_id=MESSAGE_ID, role=Role.ROLE_USER, parts=[Part(text="Ada")])
    seen, task_id = [], None
    async for event in client.send_message(SendMessageRequest(message=message)):
        event = event[0] if isinstance(event, tuple) else event
        kind = event.WhichOneof("payload")
        seen.append(kind)
        if kind == "task":
            task_id = event.task.id
    task = await client.get_task(GetTaskRequest(id=task_id))
    return task.id, TaskState.Name(task.status.state), task.artifacts[0].parts[0].text, seen


async def main():
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        card = await A2ACardResolver(http, AGENT).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        installed = version("a2a-sdk")
        task, state, text, streamed = await (legacy if installed.startswith("0.") else current)(client)
        print(json.dumps({"version": installed, "task": task, "state": state, "text": text, "streamed": streamed}))


asyncio.run(main())
