import { ofType, type Resources, textOf } from './synth.ts';

/** What one role may do, as a person reads it: by resource, the actions in one line. */
export interface RoleRow {
  readonly assumedBy: readonly string[];
  readonly may: Readonly<Record<string, string>>;
  readonly never?: Readonly<Record<string, string>>;
  /** Policies that AWS writes: their actions are AWS's choice. */
  readonly managed?: readonly string[];
}

interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Principal?: Readonly<Record<string, unknown>> | string;
  readonly Condition?: unknown;
}

interface Policy {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
  readonly Roles?: readonly { readonly Ref: string }[];
}

/** Every role of the template with all that its policies say, inline and attached. */
export function roleTable(resources: Resources): Record<string, RoleRow> {
  const attached = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy']
    .flatMap((type) => ofType(resources, type))
    .map(([, { Properties }]) => Properties as unknown as Policy);
  const rows = ofType(resources, 'AWS::IAM::Role').map(
    ([id, { Properties }]): [string, RoleRow] => {
      const trust = Properties.AssumeRolePolicyDocument as Policy['PolicyDocument'];
      const inline = (Properties.Policies ?? []) as readonly Policy[];
      const statements = [...inline, ...attached.filter((policy) => isOf(policy, id))].flatMap(
        ({ PolicyDocument }) => PolicyDocument.Statement,
      );
      const never = byResource(statements, 'Deny');
      const managed = ((Properties.ManagedPolicyArns ?? []) as readonly unknown[]).map(plain);
      return [
        plain(`\${${id}}`),
        {
          assumedBy: trust.Statement.map(assumer).sort(),
          may: byResource(statements, 'Allow'),
          ...(Object.keys(never).length === 0 ? {} : { never }),
          ...(managed.length === 0 ? {} : { managed }),
        },
      ];
    },
  );
  return Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isOf(policy: Policy, role: string): boolean {
  return policy.Roles?.some(({ Ref }) => Ref === role) === true;
}

function byResource(statements: readonly Statement[], effect: Statement['Effect']) {
  const actions = new Map<string, Set<string>>();
  for (const statement of statements) {
    if (statement.Effect !== effect) continue;
    for (const resource of listOf(statement.Resource)) {
      const on = `${plain(resource)}${conditions(statement.Condition)}`;
      const known = actions.get(on) ?? new Set();
      actions.set(on, known);
      for (const action of listOf(statement.Action)) known.add(String(action));
    }
  }
  const rows = [...actions].map(([on, all]): [string, string] => [on, [...all].sort().join(' ')]);
  return Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function assumer({ Principal, Action, Condition }: Statement): string {
  const who =
    typeof Principal === 'object'
      ? Object.values(Principal).flatMap(listOf).map(plain).join(' ')
      : String(Principal);
  const how = listOf(Action).filter((action) => action !== 'sts:AssumeRole');
  return `${who}${how.length === 0 ? '' : ` by ${how.join(' ')}`}${conditions(Condition)}`;
}

/** ` where operator key value`, one after the other. */
function conditions(condition: unknown): string {
  return Object.entries((condition ?? {}) as Record<string, Record<string, unknown>>)
    .flatMap(([operator, keys]) =>
      Object.entries(keys).map(
        ([key, values]) => ` where ${operator} ${key} ${listOf(values).map(plain).join(' ')}`,
      ),
    )
    .join('');
}

/** References without the hash that CDK ends an id with, and without `.Arn`. */
function plain(value: unknown): string {
  return textOf(value).replaceAll(/\$\{([^}]+)\}/g, (_, name: string) =>
    name.startsWith('AWS::')
      ? `<${name.slice(5).toLowerCase()}>`
      : name.replace(/\.Arn$/, '').replace(/[0-9A-F]{8}(?=$|\.)/, ''),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}
