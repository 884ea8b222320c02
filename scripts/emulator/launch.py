"""MiniStack with the one resource type that a plane deploys and MiniStack lacks.

Its Step Functions knows published versions, but its CloudFormation cannot publish one, and an execution of
a version runs whatever the machine is today. On AWS a version keeps the definition it was published with
(https://docs.aws.amazon.com/step-functions/latest/dg/concepts-state-machine-version.html), and sagas are
pinned to it. So each version is kept here as a machine under the version's own ARN. Everything else is
MiniStack as it comes.
"""

import copy
import json

from ministack.app import main
from ministack.services import stepfunctions
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

if __name__ == "__main__":
    main()
