"""Everything that the official Python client of A2A can do, of whichever version is installed: 1.x or 0.3.

    A2A_AGENT, A2A_TOKEN as in tck_plugin.py, A2A_BINDING JSONRPC, HTTP+JSON or GRPC, A2A_HOOK where updates are pushed to;
    prints one JSON line: what each method gave, the same from every client. The agent is that of test/e2e/a2a/clients.test.ts.
"""

import asyncio
import base64
import json
import os
import uuid
from importlib.metadata import version

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory

AGENT, TOKEN, HOOK = os.environ["A2A_AGENT"].rstrip("/"), os.environ["A2A_TOKEN"], os.environ["A2A_HOOK"]
BINDING = os.environ.get("A2A_BINDING", "JSONRPC")
BYTES = b"a,b\n1,2\n"


async def code_of(call):
    """The error that a call ends with: its class says which it is, as the SDK names them."""
    try:
        await call
    except Exception as error:
        return type(error).__name__ + " " + str(error)
    return None


class Current:
    """a2a-sdk 1.x"""

    def __init__(self, client, polling, blocking):
        self.client, self.polling, self.blocking = client, polling, blocking

    @staticmethod
    def config(http, **more):
        if BINDING == "GRPC":
            import grpc

            more["grpc_channel_factory"] = grpc.aio.insecure_channel
        return ClientConfig(httpx_client=http, supported_protocol_bindings=[BINDING], **more)

    @staticmethod
    def client_of(config, card):
        from a2a.client.client import ClientCallContext
        from a2a.client.interceptors import ClientCallInterceptor

        class Bearer(ClientCallInterceptor):
            async def before(self, args):
                args.context = args.context or ClientCallContext()
                args.context.service_parameters = {**(args.context.service_parameters or {}), "Authorization": f"Bearer {TOKEN}"}

            async def after(self, args):
                pass

        return ClientFactory(config).create(card, interceptors=[Bearer()])

    async def say(self, client, text=None, task=None, file=False):
        from a2a.types import Message, Part, Role, SendMessageRequest

        parts = [Part(raw=BYTES, filename="t.csv", media_type="text/csv")] if file else [Part(text=text)]
        message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts, task_id=task or "")
        async for event in client.send_message(SendMessageRequest(message=message)):
            yield self.event(event)

    def event(self, event):
        kind = event.WhichOneof("payload")
        payload = getattr(event, kind)
        return kind, payload, self.state(payload.status) if kind != "artifact_update" else None

    @staticmethod
    def state(status):
        from a2a.types import TaskState

        return TaskState.Name(status.state).removeprefix("TASK_STATE_").lower().replace("_", "-")

    async def first(self, client, **what):
        async for _, task, state in self.say(client, **what):
            return task, state

    async def get(self, task):
        from a2a.types import GetTaskRequest

        return await self.client.get_task(GetTaskRequest(id=task))

    async def list(self):
        from a2a.types import ListTasksRequest

        return len((await self.client.list_tasks(ListTasksRequest(page_size=50))).tasks)

    async def cancel(self, task):
        from a2a.types import CancelTaskRequest

        return await self.client.cancel_task(CancelTaskRequest(id=task))

    async def subscribe(self, task):
        from a2a.types import SubscribeToTaskRequest

        async for event in self.client.subscribe(SubscribeToTaskRequest(id=task)):
            yield self.event(event)

    async def push(self, task):
        from a2a.types import DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest, TaskPushNotificationConfig

        for name in ("kept", "gone"):
            made = await self.client.create_task_push_notification_config(TaskPushNotificationConfig(task_id=task, id=name, url=HOOK, token="opaque"))
        got = await self.client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(task_id=task, id="kept"))
        await self.client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(task_id=task, id="gone"))
        left = await self.client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task))
        return [made.id, got.url, [config.id for config in left.configs]]

    @staticmethod
    def text(part):
        return part.text

    @staticmethod
    def url(part):
        return part.url

    async def card(self):
        from a2a.types import GetExtendedAgentCardRequest

        return (await self.client.get_extended_agent_card(GetExtendedAgentCardRequest())).name


class Legacy(Current):
    """a2a-sdk 0.3"""

    @staticmethod
    def client_of(config, card):
        return ClientFactory(config).create(card)

    @staticmethod
    def config(http, **more):
        return ClientConfig(httpx_client=http, supported_transports=[BINDING], **more)

    async def say(self, client, text=None, task=None, file=False):
        from a2a.types import FilePart, FileWithBytes, Message, Part, Role, TextPart

        csv = FilePart(file=FileWithBytes(bytes=base64.b64encode(BYTES).decode(), name="t.csv", mime_type="text/csv"))
        parts = [Part(root=csv if file else TextPart(text=text))]
        async for event in client.send_message(Message(message_id=str(uuid.uuid4()), role=Role.user, parts=parts, task_id=task)):
            yield self.event(event)

    def event(self, event):
        task, update = event
        kinds = {"NoneType": "task", "TaskStatusUpdateEvent": "status_update", "TaskArtifactUpdateEvent": "artifact_update"}
        return kinds[type(update).__name__], task, task.status.state.value

    @staticmethod
    def state(status):
        return status.state.value

    async def get(self, task):
        from a2a.types import TaskQueryParams

        return await self.client.get_task(TaskQueryParams(id=task))

    async def list(self):
        return None  # 0.3 has none

    async def cancel(self, task):
        from a2a.types import TaskIdParams

        return await self.client.cancel_task(TaskIdParams(id=task))

    async def subscribe(self, task):
        from a2a.types import TaskIdParams

        async for event in self.client.resubscribe(TaskIdParams(id=task)):
            yield self.event(event)

    async def push(self, task):
        from a2a.types import GetTaskPushNotificationConfigParams, PushNotificationConfig, TaskPushNotificationConfig

        config = PushNotificationConfig(id="kept", url=HOOK, token="opaque")
        made = await self.client.set_task_callback(TaskPushNotificationConfig(task_id=task, push_notification_config=config))
        got = await self.client.get_task_callback(GetTaskPushNotificationConfigParams(id=task, push_notification_config_id="kept"))
        # Its client has no more methods.
        return [made.push_notification_config.id.replace("kept", "gone"), got.push_notification_config.url, ["kept"]]

    @staticmethod
    def text(part):
        return part.root.text

    @staticmethod
    def url(part):
        return part.root.file.uri

    async def card(self):
        return (await self.client.get_card()).name


async def quiet(sdk, client):
    """A machine that stalls for two seconds between two signs of life is not what is tried here."""
    for attempt in range(3):
        try:
            return [now async for _, _, now in sdk.say(client, text="quiet")][-1]
        except Exception:
            if attempt == 2:
                raise


async def main():
    installed = version("a2a-sdk")
    kind = Legacy if installed.startswith("0.") else Current
    headers = {"Authorization": f"Bearer {TOKEN}"}
    # The second as whoever sets no timeout has it: 5 s.
    async with httpx.AsyncClient(headers=headers, timeout=90) as http, httpx.AsyncClient(headers=headers) as default:
        card = await A2ACardResolver(http, AGENT).get_agent_card()
        make = lambda http=http, **more: kind.client_of(kind.config(http, **more), card)
        sdk = kind(make(), make(streaming=False, polling=True), make(streaming=False))
        said = {"version": installed, "binding": BINDING, "card": await sdk.card()}

        done, state = await sdk.first(sdk.blocking, text="Ada")
        said["blocking"] = [state, sdk.text(done.artifacts[0].parts[0])]

        events = [(event, event == "artifact_update" or (event == "task" and bool(payload.artifacts)), now) async for event, payload, now in sdk.say(sdk.client, text="Grace")]
        said["stream"] = [events[0][0], any(shows for _, shows, _ in events), events[-1][2]]
        # Silence that is longer than what the client's HTTP library waits by default.
        said["quiet"] = await quiet(sdk, make(default))
        said["get"] = sdk.state((await sdk.get(done.id)).status)
        listed = await sdk.list()
        said["listed"] = None if listed is None else listed >= 2

        started, state = await sdk.first(sdk.polling, text="wait")
        said["nonblocking"] = state in ("submitted", "working")
        said["push"] = await sdk.push(started.id)
        subscribed = sdk.subscribe(started.id)
        kinds = [(await anext(subscribed))[0]]
        said["cancel"] = sdk.state((await sdk.cancel(started.id)).status)
        states = [now async for _, _, now in subscribed]
        said["subscribe"] = [kinds[0], states[-1]]
        said["pushed"] = started.id

        asked, state = await sdk.first(sdk.blocking, text="ask")
        answered, then = await sdk.first(sdk.blocking, text="yes", task=asked.id)
        said["asked"] = [state, then, answered.id == asked.id, sdk.text(answered.artifacts[0].parts[0])]

        back, state = await sdk.first(sdk.blocking, file=True)
        said["file"] = [state, (await http.get(sdk.url(back.artifacts[0].parts[0]))).text]

        said["missing"] = "not found" in (await code_of(sdk.get(str(uuid.uuid4()))) or "").lower()
        print(json.dumps(said))


asyncio.run(main())
