import { ofType, type Resources, textOf } from './synth.ts';

/** One statement of a policy, its members as lists and its references as text. */
export interface Statement {
  readonly effect: 'Allow' | 'Deny';
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly leadingKeys?: readonly string[];
}

/** All that the role's policies say, inline and attached. */
export function statementsOf(resources: Resources, role: string): readonly Statement[] {
  const inline = (resources[role]?.Properties.Policies ?? []) as readonly Policy[];
  const attached = ofType(resources, 'AWS::IAM::Policy')
    .map(([, policy]) => policy.Properties as unknown as Policy)
    .filter((policy) => policy.Roles?.some((named) => named.Ref === role));
  return [...inline, ...attached].flatMap(({ PolicyDocument }) => read(PolicyDocument));
}

/** The one role whose id holds this text. */
export function roleOf(resources: Resources, part: string): string {
  const found = ofType(resources, 'AWS::IAM::Role').filter(([id]) => id.includes(part));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${found.length} roles have "${part}" in their id`);
  }
  return only[0];
}

/** Roles of the Lambda functions. */
export function functionRoles(resources: Resources): string[] {
  return ofType(resources, 'AWS::Lambda::Function').map(([, { Properties }]) =>
    textOf(Properties.Role).replace(/^\$\{(.*)\.Arn\}$/, '$1'),
  );
}

/** Whatever changes or removes an item that stands. */
export const REWRITES = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
  'dynamodb:PartiQLUpdate',
  'dynamodb:PartiQLDelete',
];

/** What IAM would say: a deny wins, an allow is needed. */
export function may(
  statements: readonly Statement[],
  action: string,
  resource: string,
  leadingKey?: string,
): 'allowed' | 'denied' | 'not granted' {
  const hit = statements.filter(
    (statement) =>
      statement.actions.some((pattern) => matches(pattern, action)) &&
      statement.resources.some((pattern) => matches(pattern, resource)) &&
      (statement.leadingKeys === undefined ||
        (leadingKey !== undefined &&
          statement.leadingKeys.some((pattern) => matches(pattern, leadingKey)))),
  );
  if (hit.some(({ effect }) => effect === 'Deny')) return 'denied';
  return hit.length > 0 ? 'allowed' : 'not granted';
}

/** Every action that is granted anywhere, for tests that want the whole list. */
export function grantedActions(statements: readonly Statement[]): string[] {
  const allows = statements.filter(({ effect }) => effect === 'Allow');
  return [...new Set(allows.flatMap(({ actions }) => actions))].sort();
}

interface Policy {
  readonly PolicyDocument: Document;
  readonly Roles?: readonly { readonly Ref: string }[];
}

export interface Document {
  readonly Statement: readonly {
    readonly Effect: 'Allow' | 'Deny';
    readonly Action: string | readonly string[];
    readonly Resource: unknown;
    readonly Condition?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  }[];
}

export function read(document: Document): Statement[] {
  return document.Statement.map(({ Effect, Action, Resource, Condition }) => {
    const leadingKeys = Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'];
    return {
      effect: Effect,
      actions: listOf(Action).map(String),
      resources: listOf(Resource).map(textOf),
      ...(leadingKeys === undefined ? {} : { leadingKeys }),
    };
  });
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function matches(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(text);
}
