{
  "Comment": "Saga order, version 1, plan bd944612378caae481baea80494456687773031a8faa75987472c267db244eef",
  "StartAt": "begin",
  "States": {
    "begin": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"begin","saga":"order","drive.$":"$.drive"}},
      "ResultSelector": {"drive.$":"$.Payload"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "customer"
    },
    "customer": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-read-customer","Payload":{"saga":"order","step":"customer","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 32,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "inventory"
    },
    "inventory": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-reserve-inventory","Payload":{"saga":"order","step":"inventory","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 42,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "payment"
    },
    "payment": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-charge-payment","Payload":{"saga":"order","step":"payment","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 42,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "courier"
    },
    "courier": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-book-courier","Payload":{"saga":"order","step":"courier","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 42,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "confirm"
    },
    "confirm": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-confirm-booking","Payload":{"saga":"order","step":"confirm","action":"forward","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 32,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "Next": "complete"
    },
    "complete": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"complete","saga":"order","drive.$":"$.drive"}},
      "ResultSelector": {"state.$":"$.Payload.state"},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"assess"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"assess"}],
      "End": true
    },
    "assess": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"assess","saga":"order","drive.$":"$.drive"}},
      "ResultSelector": {"route.$":"$.Payload.route","drive.$":"$.Payload.drive","answer":{"state.$":"$.Payload.state"}},
      "TimeoutSeconds": 35,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.answer","Next":"Parked"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.answer","Next":"Parked"}],
      "Next": "route"
    },
    "route": {
      "Type": "Choice",
      "Choices": [{"Variable":"$.route","StringEquals":"recover","Next":"recover.courier"},{"Variable":"$.route","StringEquals":"compensated","Next":"Compensated"},{"Variable":"$.route","StringEquals":"incident","Next":"Incident"},{"Variable":"$.route","StringEquals":"completed","Next":"Completed"}],
      "Default": "Parked"
    },
    "recover.courier": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"tool-book-courier","Payload":{"saga":"order","step":"courier","action":"recover","drive.$":"$.drive"}},
      "ResultPath": null,
      "TimeoutSeconds": 42,
      "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"recovery-wave.2"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"recovery-wave.2"}],
      "Next": "recovery-wave.2"
    },
    "recovery-wave.2": {
      "Type": "Parallel",
      "Branches": [{
        "StartAt": "recover.payment",
        "States": {
          "recover.payment": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName":"tool-charge-payment","Payload":{"saga":"order","step":"payment","action":"recover","drive.$":"$.drive"}},
            "ResultPath": null,
            "TimeoutSeconds": 42,
            "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
            "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"left.payment"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"left.payment"}],
            "End": true
          },
          "left.payment": {
            "Type": "Pass",
            "End": true
          }
        }
      }, {
        "StartAt": "recover.inventory",
        "States": {
          "recover.inventory": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName":"tool-reserve-inventory","Payload":{"saga":"order","step":"inventory","action":"recover","drive.$":"$.drive"}},
            "ResultPath": null,
            "TimeoutSeconds": 42,
            "Retry": [{"ErrorEquals":["Counterstep.Terminal","Counterstep.InFlight","Counterstep.Stale","Counterstep.Waiting","Counterstep.SoftDeadline","Counterstep.Held","Counterstep.NotReady"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":3,"BackoffRate":2,"MaxDelaySeconds":10,"JitterStrategy":"FULL"}],
            "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"left.inventory"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"left.inventory"}],
            "End": true
          },
          "left.inventory": {
            "Type": "Pass",
            "End": true
          }
        }
      }],
      "ResultPath": null,
      "Catch": [{"ErrorEquals":["States.DataLimitExceeded"],"ResultPath":"$.error","Next":"settle"},{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"settle"}],
      "Next": "settle"
    },
    "settle": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {"FunctionName":"ledger","Payload":{"op":"settle","saga":"order","drive.$":"$.drive"}},
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
