/** One exact replacement in one file. */
export interface Edit {
  /** From the root of the tree. */
  readonly file: string;
  /** MUST stand in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** One deliberate breakage of the engine. */
export interface Mutant {
  /** Unique; `--only` takes it. */
  readonly name: string;
  /** Which rule it breaks, in words. */
  readonly why: string;
  /** Number of the invariant it breaks, as findings begin with it. */
  readonly invariant: number;
  /** Mostly one. More where a rule is kept at several places, so that breaking one changes nothing. */
  readonly edits: readonly Edit[];
}

/**
 * The file's text with its edits.
 * @throws Error naming the edit that does not fit any more
 */
export function edited(file: string, text: string, edits: readonly Edit[]): string {
  return edits
    .filter((edit) => edit.file === file)
    .reduce((before, { find, replace }) => {
      const found = before.split(find).length - 1;
      if (found !== 1) {
        throw new Error(
          `${file} holds ${found} times what is to be replaced, and must once:\n${find}`,
        );
      }
      return before.replace(find, () => replace);
    }, text);
}

/** What found a mutant. */
export interface Found {
  /** The probe, the case of a matrix, or the seed. */
  readonly by: string;
  readonly finding: string;
}
