"""Hook of schemathesis: shortens the waits that requests ask for, up to a minute each, to a moment."""

import re

import schemathesis

WAIT_SECONDS = 0.2


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.operation.definition.raw.get("operationId") == "pollJobs" and isinstance(case.body, dict):
        asked = case.body.get("wait_seconds", WAIT_SECONDS)
        # Values that have to be refused stay as they are.
        if type(asked) in (int, float) and 0 <= asked <= 60:
            case.body["wait_seconds"] = min(asked, WAIT_SECONDS)
    prefer = case.headers.get("Prefer")
    if isinstance(prefer, str):
        case.headers["Prefer"] = re.sub(r"^(\s*wait\s*=\s*)[1-9]\d?$", r"\g<1>1", prefer)
