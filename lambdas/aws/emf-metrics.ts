import {
  type CountName,
  GAUGES,
  type GaugeName,
  METRIC_NAMESPACE,
  type OpenState,
  PLANE_DIMENSION,
  STATE_DIMENSION,
} from '../../statemachines/metrics.ts';
import type { Clock } from '../ports/clock.ts';
import type { Metrics } from '../ports/metrics.ts';

/** Numbers of one invocation, reported when it ends. */
export interface LambdaMetrics extends Metrics {
  /** Writes what was noted since the last time, if anything was. */
  flush(): void;
}

export interface EmfMetricsOptions {
  /** Value of the dimension `Plane`. */
  readonly plane: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Takes one line. Default: the standard output, from where Lambda passes it on as it is. */
  readonly write?: (line: string) => void;
}

type Unit = 'Count' | 'Seconds';
type Noted = Map<string, { readonly unit: Unit; readonly value: number }>;

/**
 * Metrics as lines of the log, in CloudWatch's embedded metric format: no call, no grant, nothing to
 * wait for. One line for what has no state, and one for each state.
 */
export function emfMetrics(options: EmfMetricsOptions): LambdaMetrics {
  const { plane, clock, write = toStandardOutput } = options;
  let groups = new Map<OpenState | undefined, Noted>();

  const note = (name: CountName | GaugeName, unit: Unit, value: number, state?: OpenState) => {
    const group: Noted = groups.get(state) ?? new Map();
    group.set(name, { unit, value });
    groups.set(state, group);
  };

  return {
    count(name, by = 1) {
      note(name, 'Count', (groups.get(undefined)?.get(name)?.value ?? 0) + by);
    },

    gauge(name, value, state) {
      note(name, GAUGES[name], value, state);
    },

    flush() {
      const noted = groups;
      groups = new Map();
      for (const [state, group] of noted) {
        const dimensions = {
          [PLANE_DIMENSION]: plane,
          ...(state === undefined ? {} : { [STATE_DIMENSION]: state }),
        };
        write(`${JSON.stringify(document(dimensions, group, clock.now()))}\n`);
      }
    },
  };
}

function document(dimensions: Readonly<Record<string, string>>, group: Noted, now: number): object {
  const metrics = [...group];
  return {
    _aws: {
      Timestamp: Math.round(now),
      CloudWatchMetrics: [
        {
          Namespace: METRIC_NAMESPACE,
          Dimensions: [Object.keys(dimensions)],
          Metrics: metrics.map(([Name, { unit }]) => ({ Name, Unit: unit })),
        },
      ],
    },
    ...dimensions,
    ...Object.fromEntries(metrics.map(([name, { value }]) => [name, value])),
  };
}

/** Not `console`, before whose lines Lambda puts words of its own. */
function toStandardOutput(line: string): void {
  process.stdout.write(line);
}
