import type { EffectClass } from '../language/effects.ts';
import type { SagaPlan, StepPlan } from './plan.ts';

/** How a class is named on the picture, and which colour its box gets. */
const LOOKS: Readonly<Record<EffectClass, { readonly words: string; readonly look: string }>> = {
  read_only: { words: 'reads', look: 'reads' },
  reversible: { words: 'reversible', look: 'undoable' },
  reversible_with_cost: { words: 'reversible, at a cost', look: 'undoable' },
  compensable: { words: 'compensable', look: 'undoable' },
  supersede: { words: 'superseded', look: 'undoable' },
  irreversible: { words: 'irreversible', look: 'pivot' },
  human_decision: { words: 'a person decides', look: 'person' },
};

/**
 * The saga as a Mermaid flowchart: forward steps from top to bottom, the counter-steps in the order
 * in which they run, and the ends. Deterministic, so that it can be kept in a README.
 */
export function sagaGraph(plan: SagaPlan): string {
  const ids = new Map(plan.steps.map((step, index) => [step.name, index + 1]));
  const forward = (name: string): string => `s${ids.get(name) ?? 0}`;
  const counter = (name: string): string => `r${ids.get(name) ?? 0}`;
  const written = plan.steps.filter((step) => step.effect !== 'read_only');
  const named = (names: readonly string[]): StepPlan[] =>
    names.flatMap((name) => plan.steps.find((step) => step.name === name) ?? []);

  const lines = ['flowchart TD', `  start([${text(`${plan.name} ${plan.version}`)}])`];
  for (const step of plan.steps) {
    const { words, look } = LOOKS[step.effect];
    const mark = step.effect === 'irreversible' && step.afterPivot === undefined ? 'pivot: ' : '';
    const closes = step.checkpoint === true ? '<br/>checkpoint' : '';
    const label = text(`<b>${step.name}</b><br/>${step.tool}<br/>${mark}${words}${closes}`);
    const box = look === 'pivot' ? `{{${label}}}` : `[${label}]`;
    lines.push(`  ${forward(step.name)}${box}:::${look}`);
  }
  for (const step of plan.steps) {
    if (step.after.length === 0) lines.push(`  start --> ${forward(step.name)}`);
    for (const before of step.after) lines.push(`  ${forward(before)} --> ${forward(step.name)}`);
  }
  lines.push('  completed([completed]):::good');
  const followed = new Set(plan.steps.flatMap((step) => step.after));
  for (const step of plan.steps) {
    if (!followed.has(step.name)) lines.push(`  ${forward(step.name)} --> completed`);
  }

  if (written.length > 0) lines.push(...recoveryLines(plan, named, forward, counter));
  lines.push(
    '  classDef reads fill:#f4f4f4,stroke:#999,color:#333',
    '  classDef undoable fill:#e8f1fd,stroke:#3b78c3,color:#123',
    '  classDef pivot fill:#fde8e8,stroke:#c33b3b,color:#311',
    '  classDef person fill:#fff4d6,stroke:#b98900,color:#321',
    '  classDef counter fill:#fff,stroke:#3b78c3,stroke-dasharray:4 3,color:#123',
    '  classDef good fill:#e6f6e6,stroke:#3a8f3a,color:#131',
  );
  return `${lines.join('\n')}\n`;
}

function recoveryLines(
  plan: SagaPlan,
  named: (names: readonly string[]) => StepPlan[],
  forward: (name: string) => string,
  counter: (name: string) => string,
): string[] {
  const lines = ['  subgraph recovery [on failure]', '    direction TB'];
  const steps = plan.recoveryWaves.flatMap(named);
  for (const step of steps) {
    const look = step.effect === 'human_decision' ? 'person' : 'counter';
    lines.push(`    ${counter(step.name)}[${text(counterWords(step))}]:::${look}`);
  }
  for (const step of steps) {
    for (const before of step.recoverAfter) {
      lines.push(`    ${counter(before)} --> ${counter(step.name)}`);
    }
  }
  lines.push('  end');
  for (const step of steps) lines.push(`  ${forward(step.name)} -.-> ${counter(step.name)}`);
  lines.push(
    '  recovery --> compensated([compensated]):::good',
    '  recovery -.-> review[/review by a person/]:::person',
  );
  if (steps.some((step) => step.effect === 'irreversible')) {
    lines.push('  recovery -.-> incident([incident]):::pivot');
  }
  return lines;
}

function counterWords(step: StepPlan): string {
  switch (step.recovery?.action) {
    case 'compensate':
      return `compensate ${step.name}`;
    case 'supersede':
      return step.recovery.call === undefined
        ? `mark ${step.name} superseded`
        : `supersede ${step.name}`;
    case 'contain':
      return step.recovery.call === undefined ? `report ${step.name}` : `contain ${step.name}`;
    case undefined:
      return `ask a person about ${step.name}`;
  }
}

/** Names are plain words; the quotes keep Mermaid from reading any of them as its own. */
function text(words: string): string {
  return `"${words}"`;
}
