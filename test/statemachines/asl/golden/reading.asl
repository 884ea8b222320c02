{
  "Comment": "Saga reading, version 1, plan 60a386a0f0910577c3e7f0a8eda6d2bcdea9044fd80112fdef9c201d1b862740",
  "StartAt": "begin",
  "States": {
    "begin": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"begin","saga":"reading","drive.$":"$.drive"}},
      "ResultSelector": {"drive.$":"$.Payload"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "look"
    },
    "look": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-look-up","Payload":{"saga":"reading","step":"look","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "complete"
    },
    "complete": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"complete","saga":"reading","drive.$":"$.drive"}},
      "ResultSelector": {"state.$":"$.Payload.state"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "End": true
    },
    "assess": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"assess","saga":"reading","drive.$":"$.drive"}},
      "ResultSelector": {"route.$":"$.Payload.route","drive.$":"$.Payload.drive","answer":{"state.$":"$.Payload.state"}},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.answer","Next":"Parked"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.answer","Next":"Parked"}],
      "Next": "route"
    },
    "route": {
      "Type": "Choice",
      "Choices": [{"Variable":"$.route","StringEquals":"recover","Next":"settle"},{"Variable":"$.route","StringEquals":"compensated","Next":"Compensated"},{"Variable":"$.route","StringEquals":"incident","Next":"Incident"},{"Variable":"$.route","StringEquals":"completed","Next":"Completed"}],
      "Default": "Parked"
    },
    "settle": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"settle","saga":"reading","drive.$":"$.drive"}},
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
