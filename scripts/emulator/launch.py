"""MiniStack with what a plane needs and MiniStack lacks: one resource type, and one kind of stream record.

Its Step Functions knows published versions, but its CloudFormation cannot publish one, and an execution of
a version runs whatever the machine is today. On AWS a version keeps the definition it was published with
(https://docs.aws.amazon.com/step-functions/latest/dg/concepts-state-machine-version.html), and sagas are
pinned to it. So each version is kept here as a machine under the version's own ARN.

Its DynamoDB writes a stream record for a PutItem, but none for a PartiQL INSERT, by which every ledger grows.
On AWS a stream holds every modification, however it was made
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html). It knows no batching window either
(https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html) and would call a function for each
record; so streams are read only every other second. Everything else is MiniStack as it comes.
"""

import copy
import json
import time

from ministack.app import main
from ministack.services import dynamodb, lambda_svc, stepfunctions
from ministack.services.cloudformation import provisioners

TYPE = "AWS::StepFunctions::StateMachineVersion"


def create(logical_id, props, stack_name):
    status, _headers, body = stepfunctions._publish_state_machine_version({
        "stateMachineArn": props["StateMachineArn"],
        "revisionId": props.get("StateMachineRevisionId"),
        "description": props.get("Description", ""),
    })
    answer = json.loads(body)
    if status >= 400:
        raise ValueError(f"{TYPE} could not be published: {answer}")
    arn = answer["stateMachineVersionArn"]
    machine = copy.deepcopy(stepfunctions._state_machines[props["StateMachineArn"]])
    stepfunctions._state_machines[arn] = {**machine, "stateMachineArn": arn}
    return arn, {"Arn": arn}


def update(physical_id, old_props, new_props, stack_name):
    """Every property is create-only: a changed one makes another version."""
    if old_props == new_props:
        return physical_id, {"Arn": physical_id}
    return create(None, new_props, stack_name)


def delete(physical_id, props):
    stepfunctions._state_machines.pop(physical_id, None)
    stepfunctions._delete_state_machine_version({"stateMachineVersionArn": physical_id})


provisioners._RESOURCE_HANDLERS[TYPE] = {"create": create, "update": update, "delete": delete}

insert_silently = dynamodb._partiql_insert


def insert(table, parsed):
    answer = insert_silently(table, parsed)
    if answer[0] == 200:
        given = parsed["item"]
        item = given["M"] if set(given) == {"M"} else given
        dynamodb._emit_stream_event(parsed["table"], "INSERT", None, item)
    return answer


dynamodb._partiql_insert = insert

WINDOW_SECONDS = 2
poll_at_once = lambda_svc._poll_dynamodb_streams
next_poll = 0.0


def poll():
    """True where something was read, as what it replaces."""
    global next_poll
    if time.monotonic() < next_poll:
        return False
    next_poll = time.monotonic() + WINDOW_SECONDS
    return poll_at_once()


lambda_svc._poll_dynamodb_streams = poll

if __name__ == "__main__":
    main()
