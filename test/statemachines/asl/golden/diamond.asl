{
  "Comment": "Saga diamond, version 1, plan 53630382355352bc9305ea222640aac992e6350f9757059edcb22f0b313e750c",
  "StartAt": "begin",
  "States": {
    "begin": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"begin","saga":"diamond","drive.$":"$.drive"}},
      "ResultSelector": {"drive.$":"$.Payload"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "open"
    },
    "open": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-hold-stock","Payload":{"saga":"diamond","step":"open","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "wave.2"
    },
    "wave.2": {
      "Type": "Parallel",
      "Branches": [{
        "StartAt": "left",
        "States": {
          "left": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName":"tool-charge-card","Payload":{"saga":"diamond","step":"left","action":"forward","drive.$":"$.drive"}},
            "ResultPath": null,
            "TimeoutSeconds": 45,
            "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
            "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"caught.left"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"caught.left"}],
            "End": true
          },
          "caught.left": {
            "Type": "Pass",
            "End": true
          }
        }
      }, {
        "StartAt": "right",
        "States": {
          "right": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName":"tool-hold-stock","Payload":{"saga":"diamond","step":"right","action":"forward","drive.$":"$.drive"}},
            "ResultPath": null,
            "TimeoutSeconds": 45,
            "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
            "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"caught.right"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"caught.right"}],
            "End": true
          },
          "caught.right": {
            "Type": "Pass",
            "End": true
          }
        }
      }],
      "ResultPath": null,
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "close"
    },
    "close": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-charge-card","Payload":{"saga":"diamond","step":"close","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "complete"
    },
    "complete": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"complete","saga":"diamond","drive.$":"$.drive"}},
      "ResultSelector": {"state.$":"$.Payload.state"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "End": true
    },
    "assess": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"assess","saga":"diamond","drive.$":"$.drive"}},
      "ResultSelector": {"route.$":"$.Payload.route","drive.$":"$.Payload.drive","answer":{"state.$":"$.Payload.state"}},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.answer","Next":"Parked"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.answer","Next":"Parked"}],
      "Next": "route"
    },
    "route": {
      "Type": "Choice",
      "Choices": [{"Variable":"$.route","StringEquals":"recover","Next":"recover.close"},{"Variable":"$.route","StringEquals":"compensated","Next":"Compensated"},{"Variable":"$.route","StringEquals":"incident","Next":"Incident"},{"Variable":"$.route","StringEquals":"completed","Next":"Completed"}],
      "Default": "Parked"
    },
    "recover.close": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-charge-card","Payload":{"saga":"diamond","step":"close","action":"recover","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"recovery-wave.2"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"recovery-wave.2"}],
      "Next": "recovery-wave.2"
    },
    "recovery-wave.2": {
      "Type": "Parallel",
      "Branches": [{
        "StartAt": "recover.right",
        "States": {
          "recover.right": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName":"tool-hold-stock","Payload":{"saga":"diamond","step":"right","action":"recover","drive.$":"$.drive"}},
            "ResultPath": null,
            "TimeoutSeconds": 45,
            "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
            "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"left.right"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"left.right"}],
            "End": true
          },
          "left.right": {
            "Type": "Pass",
            "End": true
          }
        }
      }, {
        "StartAt": "recover.left",
        "States": {
          "recover.left": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName":"tool-charge-card","Payload":{"saga":"diamond","step":"left","action":"recover","drive.$":"$.drive"}},
            "ResultPath": null,
            "TimeoutSeconds": 45,
            "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
            "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"left.left"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"left.left"}],
            "End": true
          },
          "left.left": {
            "Type": "Pass",
            "End": true
          }
        }
      }],
      "ResultPath": null,
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"recover.open"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"recover.open"}],
      "Next": "recover.open"
    },
    "recover.open": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-hold-stock","Payload":{"saga":"diamond","step":"open","action":"recover","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 45,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"settle"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"settle"}],
      "Next": "settle"
    },
    "settle": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"settle","saga":"diamond","drive.$":"$.drive"}},
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
