import type { SagaType } from '../../statemachines/language/effects.ts';

/** Where the suite runs, by the variable `COUNTERSTEP_E2E`. */
export type Target =
  /** The local plane in a process of its own. The default. */
  | { readonly kind: 'local' }
  /** MiniStack, started for the run. */
  | { readonly kind: 'emulator' }
  /** A stand-in for AWS that runs already; the stack is deployed to it. */
  | { readonly kind: 'endpoint'; readonly endpoint: string }
  /** An AWS account to which the stack was deployed before. */
  | {
      readonly kind: 'account';
      readonly url: string;
      readonly token: string;
      /** Of another tenant. Without it nobody tries what two tenants see of each other. */
      readonly otherToken?: string;
      /** What the stack there was deployed with. */
      readonly sagaType: SagaType;
      readonly ports: { readonly partners: number; readonly mail: number };
    };

/** @throws Error that says which values there are */
export function targetFrom(env: NodeJS.ProcessEnv): Target {
  const given = env.COUNTERSTEP_E2E ?? 'local';
  if (given === 'local' || given === 'emulator') return { kind: given };
  if (/^https?:/.test(given) && URL.canParse(given)) {
    return { kind: 'endpoint', endpoint: given.replace(/\/$/, '') };
  }
  if (given !== 'aws') {
    throw new Error(
      `COUNTERSTEP_E2E is "${given}": set it to local, emulator, aws, or the endpoint of a stand-in for AWS (http://…)`,
    );
  }
  const { COUNTERSTEP_URL: url, COUNTERSTEP_TOKEN: token } = env;
  if (!url || !token) {
    throw new Error(
      'an account needs COUNTERSTEP_URL (the output PeopleUrl of the stack) and COUNTERSTEP_TOKEN (with every role)',
    );
  }
  const otherToken = env.COUNTERSTEP_OTHER_TOKEN;
  return {
    kind: 'account',
    url: url.replace(/\/$/, ''),
    token,
    ...(otherToken ? { otherToken } : {}),
    sagaType: env.SAGA_TYPE === 'EXPRESS' ? 'EXPRESS' : 'STANDARD',
    ports: { partners: Number(env.PARTNERS_PORT ?? 4600), mail: Number(env.SES_PORT ?? 4625) },
  };
}

export const target = targetFrom(process.env);

/** Whether this suite deploys the plane itself, to a stand-in for AWS. */
export const deploys = target.kind === 'emulator' || target.kind === 'endpoint';

/** Whether there are people of two tenants. */
export const twoTenants = target.kind !== 'account' || target.otherToken !== undefined;

/** Whether sagas of that type are served here. In an account the stack has the one it was deployed with. */
export function serves(sagaType: SagaType): boolean {
  return target.kind !== 'account' || target.sagaType === sagaType;
}
