import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { VerificationView } from '../../lambdas/service/wire.ts';
import {
  ExportError,
  type ExportHeader,
  readExport,
  verifyExport,
} from '../../statemachines/ledger/ndjson.ts';
import { CliError } from './cli-error.ts';
import { contextOf, idPath, outputOf } from './command-context.ts';
import { EXIT } from './exit-codes.ts';
import { type Output, pairs } from './output.ts';
import { readBytes } from './values.ts';

type Verification = Omit<VerificationView, 'checkedAt'>;

export function addVerify(program: Command): void {
  program
    .command('verify')
    .description(
      "verify a saga's ledger: where it lives, or as an exported file with nothing else at hand",
    )
    .argument(
      '<id|file>',
      'id of the saga, a file made by "ledger --ndjson", or - for standard input',
    )
    .action(async (target: string, _options: unknown, command: Command) => {
      if (target === '-' || existsSync(target)) {
        tell(outputOf(command), verifyFile(target));
        return;
      }
      if (/[./\\]/.test(target)) {
        throw new CliError(
          `there is no file ${target}`,
          'name an exported ledger, or the id of a saga',
        );
      }
      const { client, output } = contextOf(command);
      tell(
        output,
        await client.json<VerificationView>(idPath('/v1/sagas', target, '/verification')),
      );
    });
}

/** Needs the file alone: the chain begins with the saga's own name, and ends where its header says. */
function verifyFile(path: string): Verification {
  const text = readBytes(path).toString('utf8');
  const header = headerOf(text);
  const sagaId = header?.sagaId ?? 'unknown';
  const verdict = verifyExport(text);
  switch (verdict.kind) {
    case 'valid': {
      const { seq, hash, events, checkedAgainst } = verdict;
      return {
        sagaId,
        verdict: 'valid',
        head: { seq, hash },
        events,
        checkedAgainst: [...checkedAgainst],
      };
    }
    case 'absent':
      return {
        sagaId,
        verdict: 'invalid',
        problem: 'missing',
        seq: 1,
        explanation: 'the file holds no record',
        checkedAgainst: [],
      };
    case 'invalid':
      return {
        sagaId,
        verdict: 'invalid',
        ...(verdict.verified === undefined ? {} : { head: { ...verdict.verified } }),
        problem: verdict.problem,
        seq: verdict.seq,
        explanation: verdict.explanation,
        checkedAgainst: header?.head === undefined ? [] : ['export header'],
      };
  }
}

function headerOf(text: string): ExportHeader | undefined {
  try {
    return readExport(text).header;
  } catch (error) {
    if (error instanceof ExportError) return undefined;
    throw error;
  }
}

function tell(output: Output, verification: Verification): void {
  if (verification.verdict === 'invalid') {
    process.exitCode = EXIT.error;
    output.note(`the ledger does not verify: ${verification.explanation ?? ''}`);
  }
  output.show(verification, (view) => verificationText(view, output));
}

function verificationText(view: Verification, output: Output): string {
  const against = view.checkedAgainst.join(', ');
  const rest = pairs([
    ['saga', view.sagaId],
    [
      'head',
      view.head === undefined ? 'none verified' : `record ${view.head.seq}, ${view.head.hash}`,
    ],
    ['held against', against === '' ? 'nothing: a cut end would not be seen' : against],
    ['problem', view.problem],
    ['what', view.explanation],
  ]);
  return `verdict       ${output.state(view.verdict)}\n${rest}`;
}
