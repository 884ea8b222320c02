import type { ReviewView } from '../../lambdas/service/wire.ts';

/** Each decision that the review takes, as the options that are typed for it. */
export function decisionOptions(review: ReviewView): string[] {
  const { decisions, answerable, plan, maxCost } = review;
  return decisions.flatMap((decision) => {
    switch (decision) {
      case 'approve':
        return plan === undefined || maxCost === undefined
          ? []
          : [
              `--approve --plan-hash ${plan.hash} --max-cost ${maxCost.costMinor} --currency ${maxCost.currency}`,
            ];
      case 'answer':
        return answerable.flatMap(({ step, action }) => {
          const named = `--step ${step}${action === 'forward' ? '' : ` --action ${action}`}`;
          const result = action === 'forward' ? ' --result <file>' : '';
          return [
            `--answer committed ${named}${result} --evidence <text>`,
            `--answer absent ${named} --evidence <text>`,
          ];
        });
      case 'resolve':
        return ['--resolve <step> --evidence <text>'];
      case 'close':
        return ['--close --evidence <text>'];
      default:
        return [`--${decision}`];
    }
  });
}
