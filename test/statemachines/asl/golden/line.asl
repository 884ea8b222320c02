{
  "Comment": "Saga line, version 1, plan 82b8b5828aa2ab083f336e73fab5ea2613b63cef685a37c055e17e563105fcd8",
  "StartAt": "begin",
  "States": {
    "begin": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"begin","saga":"line","drive.$":"$.drive"}},
      "ResultSelector": {"drive.$":"$.Payload"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "look"
    },
    "look": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-look-up","Payload":{"saga":"line","step":"look","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "hold"
    },
    "hold": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-hold-stock","Payload":{"saga":"line","step":"hold","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "charge"
    },
    "charge": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-charge-card","Payload":{"saga":"line","step":"charge","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "send"
    },
    "send": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-send-mail","Payload":{"saga":"line","step":"send","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "complete"
    },
    "complete": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"complete","saga":"line","drive.$":"$.drive"}},
      "ResultSelector": {"state.$":"$.Payload.state"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "End": true
    },
    "assess": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"assess","saga":"line","drive.$":"$.drive"}},
      "ResultSelector": {"route.$":"$.Payload.route","drive.$":"$.Payload.drive","answer":{"state.$":"$.Payload.state"}},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.answer","Next":"Parked"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.answer","Next":"Parked"}],
      "Next": "route"
    },
    "route": {
      "Type": "Choice",
      "Choices": [{"Variable":"$.route","StringEquals":"recover","Next":"recover.send"},{"Variable":"$.route","StringEquals":"compensated","Next":"Compensated"},{"Variable":"$.route","StringEquals":"incident","Next":"Incident"},{"Variable":"$.route","StringEquals":"completed","Next":"Completed"}],
      "Default": "Parked"
    },
    "recover.send": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-send-mail","Payload":{"saga":"line","step":"send","action":"recover","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"recover.charge"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"recover.charge"}],
      "Next": "recover.charge"
    },
    "recover.charge": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-charge-card","Payload":{"saga":"line","step":"charge","action":"recover","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"recover.hold"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"recover.hold"}],
      "Next": "recover.hold"
    },
    "recover.hold": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-hold-stock","Payload":{"saga":"line","step":"hold","action":"recover","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"settle"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"settle"}],
      "Next": "settle"
    },
    "settle": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"settle","saga":"line","drive.$":"$.drive"}},
      "ResultSelector": {"outcome.$":"$.Payload.outcome","answer":{"state.$":"$.Payload.state"}},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"Parked"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"Parked"}],
      "Next": "outcome"
    },
    "outcome": {
      "Type": "Choice",
      "Choices": [{"Variable":"$.outcome","StringEquals":"compensated","Next":"Compensated"},{"Variable":"$.outcome","StringEquals":"incident","Next":"Incident"}],
      "Default": "Parked"
    },
    "Parked": {
      "Type": "Succeed",
      "OutputPath": "$.answer"
    },
    "Completed": {
      "Type": "Succeed",
      "OutputPath": "$.answer"
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
