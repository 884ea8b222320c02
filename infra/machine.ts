import { compileSaga } from '../statemachines/asl/compile.ts';
import type { Problem } from '../statemachines/language/problems.ts';
import type { SagaPlan } from '../statemachines/plan/plan.ts';

/** The functions behind a saga's Tasks, by published version. */
export interface SagaFunctions {
  readonly ledger: Published;
  tool(name: string): Published | undefined;
}

/** A version of a function, as CDK makes it. */
export interface Published {
  readonly functionArn: string;
}

export interface DeployedDefinition {
  /** ASL with a placeholder `${name}` wherever a function is called. */
  readonly definitionString: string;
  /** The ARN of the version for each placeholder: a token, known when deployed. */
  readonly definitionSubstitutions: Readonly<Record<string, string>>;
}

/**
 * The definition as CloudFormation takes it. ARNs stand beside it, not in it: it stays the compiled
 * JSON, readable in the template, and each ARN is there once however many states call it.
 */
export function deployedDefinition(plan: SagaPlan, functions: SagaFunctions): DeployedDefinition {
  const substitutions: Record<string, string> = { ledger: functions.ledger.functionArn };
  const placeholders = new Map<string, string>();
  const machine = compileSaga(plan, {
    functions: {
      ledger: placeholder('ledger'),
      tool(name) {
        const known = placeholders.get(name);
        if (known !== undefined) return placeholder(known);
        const version = functions.tool(name);
        if (version === undefined) throw new Error(`no function is at hand for tool "${name}"`);
        const fresh = `tool${placeholders.size + 1}_${name.replaceAll('-', '_')}`;
        placeholders.set(name, fresh);
        substitutions[fresh] = version.functionArn;
        return placeholder(fresh);
      },
    },
  });
  return {
    definitionString: JSON.stringify(machine),
    definitionSubstitutions: substitutions,
  };
}

function placeholder(name: string): string {
  return `\${${name}}`;
}

/** The most a role's inline policies may hold together, without white space. */
export const MAX_ROLE_POLICY_BYTES = 10_240;
/** `"arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:<64>:*",` */
const INVOKE_RESOURCE_BYTES = 126;
/** Log delivery, tracing, and the frame of the policies. */
const OTHER_STATEMENTS_BYTES = 900;

/** The machine's role lists each function once, however many steps call it. */
export function rolePolicyProblems(place: string, tools: number): Problem[] {
  const most = Math.floor(
    (MAX_ROLE_POLICY_BYTES - OTHER_STATEMENTS_BYTES) / INVOKE_RESOURCE_BYTES - 1,
  );
  if (tools <= most) return [];
  return [
    {
      place,
      problem: `it uses ${tools} different tools, and the policy of one machine's role has room for ${most} (${MAX_ROLE_POLICY_BYTES} bytes)`,
      remedy: 'Split it into several sagas, each started by the last step of the one before',
    },
  ];
}
