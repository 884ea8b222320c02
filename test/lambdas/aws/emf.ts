import { METRIC_NAMESPACE } from '../../../statemachines/metrics.ts';

/** One line as CloudWatch reads it. */
export interface EmfDocument {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string; readonly Unit?: string }[];
    }[];
  };
  readonly [member: string]: unknown;
}

const UNITS = ['Seconds', 'Milliseconds', 'Count', 'Bytes', 'Percent', 'None'];

/**
 * Holds a line against the specification of the embedded metric format (its MUSTs and limits) and
 * answers what CloudWatch would take from it. @throws Error where it would take nothing
 */
export function readEmf(line: string): EmfDocument {
  const fail = (why: string): never => {
    throw new Error(`${why}: ${line}`);
  };
  if (!line.endsWith('\n') || line.slice(0, -1).includes('\n')) fail('it is not one line');
  const document = JSON.parse(line) as EmfDocument;
  const { Timestamp, CloudWatchMetrics } = document._aws;
  if (!Number.isSafeInteger(Timestamp)) fail('no time in whole milliseconds');
  if (CloudWatchMetrics.length === 0) fail('no directive');
  for (const { Namespace, Dimensions, Metrics } of CloudWatchMetrics) {
    if (Namespace !== METRIC_NAMESPACE) fail('another namespace');
    if (Dimensions.length === 0) fail('no dimension set');
    for (const set of Dimensions) {
      if (set.length > 30) fail('more than 30 dimensions');
      for (const name of set) {
        const value = document[name];
        if (typeof value !== 'string' || value === '' || value.length > 1024) {
          fail(`dimension ${name} has no text for a value`);
        }
      }
    }
    if (Metrics.length === 0 || Metrics.length > 100) fail('no metrics, or more than 100');
    for (const { Name, Unit } of Metrics) {
      if (Name === '' || Name.length > 1024) fail('a metric without a name');
      if (Unit !== undefined && !UNITS.includes(Unit)) fail(`no unit of CloudWatch: ${Unit}`);
      const value = document[Name];
      if (typeof value !== 'number' || !Number.isFinite(value)) fail(`${Name} is no number`);
    }
  }
  return document;
}

/** What CloudWatch takes from lines: `name`, or `name state`, and the value. */
export function valuesIn(lines: readonly string[]): Readonly<Record<string, number>> {
  const values: Record<string, number> = {};
  for (const document of lines.map(readEmf)) {
    for (const { Metrics } of document._aws.CloudWatchMetrics) {
      for (const { Name } of Metrics) {
        const key = document.State === undefined ? Name : `${Name} ${String(document.State)}`;
        values[key] = Number(document[Name]);
      }
    }
  }
  return values;
}
