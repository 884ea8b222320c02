{
  "Comment": "Saga line, version 1, plan 82b8b5828aa2ab083f336e73fab5ea2613b63cef685a37c055e17e563105fcd8",
  "StartAt": "begin",
  "States": {
    "begin": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"begin","saga":"line","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","execution.$":"$$.Execution.Name"}},
      "ResultSelector": {"softDeadlineAt.$":"$.Payload.softDeadlineAt"},
      "ResultPath": "$.drive",
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "look"
    },
    "look": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-look-up","Payload":{"saga":"line","step":"look","action":"forward","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","softDeadlineAt.$":"$.drive.softDeadlineAt"}},
      "ResultPath": null,
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "hold"
    },
    "hold": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-hold-stock","Payload":{"saga":"line","step":"hold","action":"forward","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","softDeadlineAt.$":"$.drive.softDeadlineAt"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "charge"
    },
    "charge": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-charge-card","Payload":{"saga":"line","step":"charge","action":"forward","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","softDeadlineAt.$":"$.drive.softDeadlineAt"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "send"
    },
    "send": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-send-mail","Payload":{"saga":"line","step":"send","action":"forward","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","softDeadlineAt.$":"$.drive.softDeadlineAt"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "complete"
    },
    "complete": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"complete","saga":"line","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","execution.$":"$$.Execution.Name"}},
      "ResultSelector": {"state.$":"$.Payload.state"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "End": true
    },
    "assess": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"assess","saga":"line","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","execution.$":"$$.Execution.Name"}},
      "ResultSelector": {"route.$":"$.Payload.route","softDeadlineAt.$":"$.Payload.softDeadlineAt","answer":{"state.$":"$.Payload.state"}},
      "ResultPath": "$.drive",
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.drive.answer","Next":"Parked"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.drive.answer","Next":"Parked"}],
      "Next": "route"
    },
    "route": {
      "Type": "Choice",
      "Choices": [{"Variable":"$.drive.route","StringEquals":"recover","Next":"recover.send"},{"Variable":"$.drive.route","StringEquals":"compensated","Next":"Compensated"},{"Variable":"$.drive.route","StringEquals":"incident","Next":"Incident"},{"Variable":"$.drive.route","StringEquals":"completed","Next":"Completed"}],
      "Default": "Parked"
    },
    "recover.send": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-send-mail","Payload":{"saga":"line","step":"send","action":"recover","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","softDeadlineAt.$":"$.drive.softDeadlineAt"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"recover.charge"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"recover.charge"}],
      "Next": "recover.charge"
    },
    "recover.charge": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-charge-card","Payload":{"saga":"line","step":"charge","action":"recover","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","softDeadlineAt.$":"$.drive.softDeadlineAt"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"recover.hold"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"recover.hold"}],
      "Next": "recover.hold"
    },
    "recover.hold": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-hold-stock","Payload":{"saga":"line","step":"hold","action":"recover","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","softDeadlineAt.$":"$.drive.softDeadlineAt"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"settle"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"settle"}],
      "Next": "settle"
    },
    "settle": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"settle","saga":"line","tenant.$":"$.tenant","sagaId.$":"$.sagaId","epoch.$":"$.epoch","execution.$":"$$.Execution.Name"}},
      "ResultSelector": {"outcome.$":"$.Payload.outcome","answer":{"state.$":"$.Payload.state"}},
      "ResultPath": "$.drive",
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"Parked"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"Parked"}],
      "Next": "outcome"
    },
    "outcome": {
      "Type": "Choice",
      "Choices": [{"Variable":"$.drive.outcome","StringEquals":"compensated","Next":"Compensated"},{"Variable":"$.drive.outcome","StringEquals":"incident","Next":"Incident"}],
      "Default": "Parked"
    },
    "Parked": {
      "Type": "Succeed",
      "OutputPath": "$.drive.answer"
    },
    "Completed": {
      "Type": "Succeed",
      "OutputPath": "$.drive.answer"
    },
    "Compensated": {
      "Type": "Fail",
      "Error": "Compensated",
      "Cause": "The saga failed and was compensated. Its standing report says what was undone, and how."
    },
    "Incident": {
      "Type": "Fail",
      "Error": "Incident",
      "Cause": "The saga failed and an effect of it stands. Its standing report says which; a named person closes the incident."
    }
  }
}
