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
  return {
    kind: 'account',
    url: url.replace(/\/$/, ''),
    token,
    ports: { partners: Number(env.PARTNERS_PORT ?? 4600), mail: Number(env.SMTP_PORT ?? 4625) },
  };
}

export const target = targetFrom(process.env);
